"""Which requests the allow-list lets through, without any server."""

import pytest

from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOBS, LEASES, PODS, WORKLOADS, ResourceType
from worker_agent.kube import verbs
from worker_agent.kube.transport import Request
from worker_agent.kube.verbs import Selection, Target
from worker_agent.tunnel import allow_list, api_request
from worker_agent.tunnel.allow_list import KNOWLEDGE, AllowList
from worker_agent.tunnel.api_request import Refused

LEASE = Key("kueue-system", "fedhub-hub-multikueue")
OURS = Selection("kueue.x-k8s.io/multikueue-origin=multikueue")
ALL = Selection()


def allowed(**changes: tuple[str, ...]) -> AllowList:
    rules = (*allow_list.default_rules([JOBS]), allow_list.leases([LEASE]))
    return AllowList("multikueue", rules, protected=("kueue-system",), **changes)


def check(request: Request, rules: AllowList | None = None) -> None:
    asked = api_request.parse(request)
    (rules or allowed()).rule_for(asked)


def refused(request: Request, rules: AllowList | None = None) -> str:
    with pytest.raises(Refused) as found:
        check(request, rules)
    return found.value.reason


def list_of(resource: ResourceType, selection: Selection = ALL, namespace: str = "") -> Request:
    return verbs.list_page(Target(resource, namespace), selection)


@pytest.mark.parametrize("resource", KNOWLEDGE, ids=lambda resource: resource.plural)
def test_knowledge_is_read_and_never_written(resource):
    check(list_of(resource))
    check(verbs.watch(Target(resource), Selection(), "1", 60))
    namespace = "ns" if resource.namespaced else ""
    assert refused(verbs.create(Target(resource, namespace), {}, "m")) == "verb"
    assert refused(verbs.patch(Target(resource, namespace, "x"), {}, verbs.PatchType.MERGE, "m")) == "verb"


@pytest.mark.parametrize("resource", [WORKLOADS, JOBS], ids=lambda resource: resource.plural)
def test_copies_and_jobs_are_written(resource):
    target = Target(resource, "ns", "x")
    check(verbs.create(Target(resource, "ns"), {}, "m"))
    check(verbs.update(target, {}, "m"))
    check(verbs.patch(target, {}, verbs.PatchType.MERGE, "m"))
    check(verbs.apply(target, {}, "m", True))
    check(verbs.delete(target, verbs.Preconditions("uid"), "Background", None))


def test_status_of_copies_is_written_and_that_of_jobs_is_not():
    check(verbs.patch(Target(WORKLOADS, "ns", "x", "status"), {}, verbs.PatchType.MERGE, "m"))
    assert refused(verbs.patch(Target(JOBS, "ns", "x", "status"), {}, verbs.PatchType.MERGE, "m")) == "resource"


def test_jobs_are_listed_by_our_origin_alone():
    check(list_of(JOBS, OURS))
    check(list_of(JOBS, Selection(f"{OURS.label_selector},a=b")))
    assert refused(list_of(JOBS)) == "origin"
    assert refused(list_of(JOBS, Selection(f"{OURS.label_selector}2"))) == "origin"
    assert refused(list_of(JOBS, Selection(f"a=b,{OURS.label_selector}"))) == "origin"


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kueue-system"])
def test_system_namespaces_are_closed_whatever_is_configured(namespace):
    assert refused(verbs.create(Target(JOBS, namespace), {}, "m"), allowed(namespaces=("*", namespace))) == "namespace"
    assert refused(list_of(WORKLOADS, namespace=namespace)) == "namespace"


def test_namespaces_open_by_pattern():
    rules = allowed(namespaces=("team-*",))
    check(verbs.create(Target(JOBS, "team-a"), {}, "m"), rules)
    assert refused(verbs.create(Target(JOBS, "other"), {}, "m"), rules) == "namespace"


@pytest.mark.parametrize("limit", ["", "0", "-1", "1001", "99999999999", "5e2", "٥"])
def test_lists_come_in_pages(limit):
    assert refused(Request("GET", "/apis/kueue.x-k8s.io/v1beta2/workloads", (("limit", limit),))) == "query"


def test_of_leases_only_the_hubs_own():
    own = Target(LEASES, LEASE.namespace, LEASE.name)
    check(verbs.get(own))
    check(verbs.update(own, {}, "m"))
    check(verbs.create(Target(LEASES, LEASE.namespace), {}, "m"))
    assert refused(verbs.get(Target(LEASES, LEASE.namespace, "other"))) == "name"
    assert refused(list_of(LEASES, namespace=LEASE.namespace)) == "verb"
    assert refused(verbs.delete(own, verbs.Preconditions(), "Background", None)) == "verb"


def test_unknown_resources_are_named():
    with pytest.raises(Refused, match=r"secrets is not on the allow-list"):
        check(Request("GET", "/api/v1/secrets"))
    with pytest.raises(Refused, match=r"pods/exec is not on the allow-list"):
        check(Request("POST", "/api/v1/namespaces/ns/pods/p/exec"))


def test_pods_that_are_jobs_too_are_listed_as_those_that_a_job_runs_in():
    rules = AllowList("multikueue", allow_list.default_rules([PODS]))
    of_a_job = verbs.list_page(Target(PODS, "ns"), Selection("batch.kubernetes.io/job-name=train"))
    assert rules.rule_for(api_request.parse(of_a_job)).ownership is allow_list.Ownership.OF_OURS
    assert rules.rule_for(api_request.parse(list_of(PODS, OURS))).ownership is allow_list.Ownership.OURS
    assert refused(list_of(PODS), rules) == "origin"
