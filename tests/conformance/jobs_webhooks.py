"""jobs/: what the webhooks of job kinds fill in and refuse, as recorded from Kueue."""

from typing import Any

import msgspec

from tests.conformance.case import Document
from tests.conformance.comparison import differences, multiset
from tests.conformance.jobs_case import companion_in, kind_of, policy_of, ref_of
from worker_agent.api import names, selectors
from worker_agent.api.document import at
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key, LabelSelector
from worker_agent.validation import jobs
from worker_agent.validation.field_error import OMIT, FieldError


def default(case: Document) -> list[str]:
    """<kind>.TestDefault: what the create webhook fills in."""
    expected = case["expect"]
    if case["test"] == "pod.TestDefault":
        _show_empty_requests(case["object"])
    try:
        found = jobs.default_job(kind_of(case), case["object"], _surroundings(case))
    except jobs.JobRefused as refused:
        return [] if expected["errors"] else [f"unexpected error: {refused}"]
    if expected["errors"]:
        return [f"expected error: {expected['errors']}"]
    return differences(expected["object"], found)


def _show_empty_requests(pod: Document) -> None:
    """The recorded role hashes count requests that are there and empty, which the records do not show."""
    for container in pod["spec"].get("containers") or ():
        container["resources"] = {"requests": {}, **container.get("resources", {})}


def validate(case: Document) -> list[str]:
    """<kind>.TestValidateCreate, TestValidateUpdate: the broken rules, each with its words."""
    kind, around, new = kind_of(case), _surroundings(case), case["object"]
    wanted = case["expect"]["errors"]
    try:
        old = case.get("oldObject")
        found = jobs.validate_create(kind, new, around) if old is None else jobs.validate_update(kind, new, old, around)
    except jobs.JobRefused as refused:
        plain = [error["message"] for error in wanted if not error["fieldErrors"]]
        return [] if plain == [str(refused)] else [f"unexpected refusal: {refused}, expected {wanted}"]
    if any(not error["fieldErrors"] for error in wanted):
        return [f"expected refusal: {wanted}, got {[str(error) for error in found]}"]
    rules = [
        {"type": error["type"], "field": error["field"], "detail": error["detail"], "value": error["badValue"]}
        for errors in wanted
        for error in errors["fieldErrors"]
    ]
    broken = [
        {"type": error.type.value, "field": error.field, "detail": error.detail, "value": _value(error)}
        for error in found
    ]
    return multiset(map(_comparable, rules), map(_comparable, broken), "error")


def _value(error: FieldError) -> Any:
    return "" if error.value is OMIT else error.value


def _comparable(error: Document) -> Document:
    """Values that are whole objects are recorded without their content."""
    return {**error, "value": {}} if isinstance(error["value"], dict) else error


def _surroundings(case: Document) -> jobs.JobSurroundings:
    config, kind = case.get("config") or {}, kind_of(case)
    objects = [each for each in [config.get("clusterTrainingRuntime")] if each]
    objects += [*(config.get("objs") or ()), *(config.get("initObjects") or ()), *(config.get("initObjs") or ())]
    world = {ref_of(document): document for document in objects}
    namespace = world.get(("v1", "Namespace", Key("", case["object"]["metadata"].get("namespace", ""))))
    unknown = None if case["test"] == "pod.TestDefault" else {}
    return jobs.JobSurroundings(
        policy=_webhook_policy(case, kind, config),
        namespace_labels=unknown if namespace is None else namespace["metadata"].get("labels") or {},
        default_queue=bool(config.get("defaultLqExist") or config.get("withDefaultLocalQueue")),
        default_priority_class=("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", Key("", "default")) in world,
        companion=companion_in(world),
        lookup=lambda version, kind, namespace, name: world.get((version, kind, Key(namespace, name))),
        is_dispatched=lambda queue: _is_dispatched(config, queue),
    )


def _webhook_policy(case: Document, kind: JobKind, config: Document) -> JobPolicy:
    enabled = config.get("enableIntegrations") or config.get("integrations") or ()
    always = () if case["test"] == "pod.TestDefault" else ("batch/job",)
    return policy_of(
        case,
        namespaces=_query(config.get("managedJobsNamespaceSelector") or config.get("namespaceSelector")),
        pods=_query(config.get("podSelector")),
        manage_without_queue_name=bool(config.get("manageJobsWithoutQueueName") or config.get("manageAll")),
        frameworks=frozenset({kind.framework, *always, *enabled}),
    )


def _query(selector: Document | str | None) -> selectors.Query | None:
    if selector is None or isinstance(selector, str):
        return None if selector is None else selectors.parse_label_query(selector)
    return selectors.compile_selector(msgspec.convert(selector, LabelSelector))


def _is_dispatched(config: Document, queue: str) -> bool:
    """Whether the queue's ClusterQueue has a check of the MultiKueue controller."""
    if config.get("withMultiKueueAdmissionCheck"):
        return True
    check = config.get("admissionCheck") or {}
    if at(check, ("spec", "controllerName")) != names.MULTIKUEUE_CONTROLLER:
        return False
    targets = {q["metadata"]["name"]: q["spec"].get("clusterQueue") for q in config.get("queues") or ()}
    for cluster_queue in config.get("clusterQueues") or ():
        checks = at(cluster_queue, ("spec", "admissionChecksStrategy", "admissionChecks"), [])
        named = any(listed.get("name") == check["metadata"]["name"] for listed in checks)
        if named and cluster_queue["metadata"]["name"] == targets.get(queue):
            return True
    return False
