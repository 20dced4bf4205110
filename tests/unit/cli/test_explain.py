"""``fedhub-agent explain``: the answer for a workload in a cluster as it stands, and what is said without one."""

import dataclasses
import json

import msgspec
import pytest

from tests import api_servers, builders
from tests.builders import (
    KUEUE,
    admission_check,
    admitted,
    cluster_queue,
    flavor,
    local_queue,
    namespace,
    pod_set,
    quota,
    workload,
)
from tests.unit.cli.stories import run
from tests.unit.cli.test_command_line import kubeconfig
from worker_agent.api import resource_type as kinds
from worker_agent.api import timestamps
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.cli import explanation_text
from worker_agent.cli.explain_command import UnknownWorkload, ask, named
from worker_agent.engine import story_explanation, story_objects
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.state import ClusterState
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock

NOW = timestamps.parse("2026-01-01T12:00:00Z")
TRYING_ALL = dataclasses.replace(DEFAULT, concurrent_admission=True)
EARLIER = "2026-01-01T09:00:00Z"


def explained(*objects, name="w", policy=DEFAULT):
    state = ClusterState(policy)
    story_objects.load(state, objects, NOW)
    state.flush_requeues(NOW)
    [document] = [o for o in objects if o["kind"] == "Workload" and o["metadata"]["name"] == name]
    view = msgspec.json.decode(msgspec.json.encode(document), type=Workload)
    return story_explanation.explain(state, view, NOW)


def remedies(told):
    return [remedy.text for remedy in told.remedies]


def two_queues(**first):
    """Queues ``q`` and ``other`` of 4 cpu in one cohort."""
    return [
        namespace(),
        flavor(),
        cluster_queue("q", cohort="c", **first),
        cluster_queue("other", cohort="c"),
        local_queue(),
        local_queue("lo", "other"),
    ]


def test_what_is_short_and_who_holds_it():
    told = explained(*two_queues(), workload(cpu=3), admitted("mine"), admitted("theirs", cluster_queue="other", cpu=6))
    [short] = told.flavors[0].resources
    assert (short.wanted, short.free, short.most, short.lacking) == ("3", "1", "8", "2")
    assert [(h.workload, h.cluster_queue, h.amount, h.borrowed) for h in short.held_by] == [
        ("ns/mine", "q", "1", False),
        ("ns/theirs", "other", "6", True),
    ]


def test_one_workload_finishing_would_do():
    told = explained(*builders.single_queue(), workload(cpu=2), admitted("big", cpu=3), admitted("small"))
    assert remedies(told) == [
        "ns/big in q finishing",
        "2 more cpu in flavor default (nominalQuota 6 instead of 4) of ClusterQueue q",
    ]


def test_only_several_finishing_together_would_do_and_none_too_many():
    others = [admitted("a", cpu=2), admitted("b"), admitted("c")]
    told = explained(*builders.single_queue(), workload(cpu=3), *others)
    assert told.remedies[0].workloads == ("ns/a", "ns/b")


def test_borrowing_limit_may_be_all_that_is_short():
    queues = two_queues(cpu=quota(4, borrowing=0))
    told = explained(*queues, workload(cpu=2), admitted("mine", cpu=3))
    assert "1 more cpu in flavor default (borrowingLimit 1 instead of 0) of ClusterQueue q" in remedies(told)


def test_impossible_request_is_told_as_such_with_the_quota_that_would_do():
    told = explained(*builders.single_queue(), workload(cpu=5))
    assert told.verdict == "Impossible"
    assert remedies(told) == ["1 more cpu in flavor default (nominalQuota 5 instead of 4) of ClusterQueue q"]


def test_several_resource_groups_short_at_once():
    objects = [namespace(), flavor("f"), flavor("g"), cluster_queue("q", {"f": {"cpu": 2}}, {"g": {"gpu": 1}})]
    told = explained(*objects, local_queue(), workload("w", pod_set(requests={"cpu": 3, "gpu": 2})))
    assert remedies(told) == [
        "1 more cpu in flavor f (nominalQuota 3 instead of 2) and 1 more gpu in flavor g (nominalQuota 2 instead of 1)"
        " of ClusterQueue q"
    ]


def test_flavor_whose_nodes_do_not_suit_says_so():
    tainted = flavor(nodeTaints=[{"key": "gpu", "value": "y", "effect": "NoSchedule"}])
    told = explained(namespace(), tainted, cluster_queue(), local_queue(), workload())
    assert told.flavors[0].problem.startswith("pod set main: untolerated taint")
    assert "More quota would not help" in "\n".join(explanation_text.lines(told))


def test_position_behind_others_and_the_way_past_them():
    objects = builders.single_queue(strict=True)
    told = explained(*objects, workload("huge", cpu=9, created=EARLIER), workload(cpu=1))
    assert (told.position, told.pending, told.ahead) == (2, 2, ("ns/huge",))
    assert [remedy.kind for remedy in told.remedies] == ["leave"]


def test_quota_for_those_ahead_is_counted_in():
    ahead = workload("first", cpu=1, created=EARLIER)
    told = explained(*builders.single_queue(), admitted("a", cpu=4), ahead, workload(cpu=2))
    assert "3 more cpu in flavor default (nominalQuota 7 instead of 4) of ClusterQueue q" in remedies(told)


def test_nothing_is_promised_behind_a_crowd():
    crowd = [workload(f"c{i:02}", cpu=i + 5, created=EARLIER) for i in range(70)]
    told = explained(*builders.single_queue(), admitted("a", cpu=4), *crowd, workload(cpu=2))
    assert (told.position, told.remedies) == (71, ())
    assert "others come first" in "\n".join(explanation_text.lines(told))


def test_workload_that_fits():
    told = explained(*builders.single_queue(), workload())
    assert (told.verdict, told.summary) == ("Fits", "it fits and is admitted in one of the next cycles")


def test_workload_that_may_preempt_names_its_victims():
    queue = cluster_queue(preemption={"withinClusterQueue": "LowerPriority"})
    told = explained(namespace(), flavor(), queue, local_queue(), admitted("low", cpu=4), workload(cpu=2, priority=5))
    assert told.verdict == "FitsAfterPreemption"
    assert [victim.workload for victim in told.victims] == ["ns/low"]


def test_question_leaves_the_state_as_it_was():
    state = ClusterState(DEFAULT)
    documents = [*two_queues(cpu=quota(4, borrowing=1)), admitted("a", cpu=4), workload("x", created=EARLIER)]
    story_objects.load(state, [*documents, asked := workload(cpu=3)], NOW)
    view = msgspec.json.decode(msgspec.json.encode(asked), type=Workload)
    first = story_explanation.explain(state, view, NOW)
    assert story_explanation.explain(state, view, NOW) == first


class TestHeld:
    def summary(self, *objects):
        told = explained(*objects)
        assert told.state == "Held"
        return told.summary

    def test_no_local_queue(self):
        assert self.summary(namespace(), workload()) == "LocalQueue lq doesn't exist"

    def test_no_cluster_queue(self):
        assert self.summary(namespace(), local_queue(), workload()) == "ClusterQueue q doesn't exist"

    def test_stopped_local_queue(self):
        objects = [namespace(), flavor(), cluster_queue(), local_queue(stopPolicy="Hold"), workload()]
        assert "set spec.stopPolicy of LocalQueue ns/lq to None" in self.summary(*objects)

    def test_stopped_cluster_queue(self):
        assert "Stopped: Can't admit new workloads" in self.summary(
            *builders.single_queue(stopPolicy="Hold"), workload()
        )

    def test_missing_flavor(self):
        objects = [namespace(), cluster_queue(), local_queue(), workload()]
        assert "references missing ResourceFlavor(s): default" in self.summary(*objects)

    def test_cohorts_in_a_circle(self):
        circle = [builders.cohort("a", parent="b"), builders.cohort("b", parent="a")]
        objects = [namespace(), flavor(), *circle, cluster_queue("q", cohort="a"), local_queue(), workload()]
        assert "its cohorts form a cycle" in self.summary(*objects)

    def test_gate(self):
        gated = workload(metadata={"annotations": {"kueue.x-k8s.io/admission-gated-by": "example.com/x"}})
        assert "gated by example.com/x" in self.summary(*builders.single_queue(), gated)

    def test_backoff(self):
        late = workload(status={"requeueState": {"count": 1, "requeueAt": "2026-01-01T12:05:00Z"}})
        assert "backs off until 2026-01-01T12:05:00Z" in self.summary(*builders.single_queue(), late)

    def test_refusing_check(self):
        refused = workload(status={"admissionChecks": [{"name": "budget", "state": "Retry"}]})
        assert "admission check(s) budget refuse it" in self.summary(*builders.single_queue(), refused)

    def test_parent_of_variants(self):
        parent = workload(metadata={"labels": {"kueue.x-k8s.io/concurrent-admission-parent": "true"}})
        told = explained(*builders.single_queue(), parent, policy=TRYING_ALL)
        assert (told.state, "its variants queue in its place" in told.summary) == ("Held", True)

    def test_queue_that_tries_all_flavors(self):
        queue = cluster_queue(concurrentAdmissionPolicy={"migration": {"mode": "TryPreferredFlavors"}})
        told = explained(namespace(), flavor(), queue, local_queue(), workload(), policy=TRYING_ALL)
        assert (told.state, "a variant for each is about to be made" in told.summary) == ("Held", True)

    def test_namespace_that_the_queue_does_not_take(self):
        selective = cluster_queue(namespaceSelector={"matchLabels": {"team": "a"}})
        objects = [namespace(), flavor(), selective, local_queue(), workload()]
        assert self.summary(*objects) == "workload namespace doesn't match ClusterQueue selector"


class TestNotWaiting:
    def told(self, document):
        return explained(*builders.single_queue(), document)

    def test_admitted(self):
        told = self.told(admitted())
        assert told.summary == "is admitted in ClusterQueue q since 2026-01-01T10:00:00Z"

    def test_reserved(self):
        document = admitted(admitted=False)
        document["status"]["admissionChecks"] = [{"name": "budget", "state": "Pending"}]
        assert self.told(document).summary.endswith("waits for its admission checks: budget is Pending")

    def test_finished(self):
        done = admitted()
        done["status"]["conditions"].append(
            {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "Job finished"}
        )
        assert self.told(done).summary == "has finished: Succeeded: Job finished"

    def test_deactivated(self):
        assert "set spec.active to true" in self.told(workload(active=False)).summary

    def test_evicted(self):
        document = admitted()
        document["status"]["conditions"].append(
            {"type": "Evicted", "status": "True", "reason": "Preempted", "message": "for another"}
        )
        assert "until its pods have stopped: Preempted: for another" in self.told(document).summary


class TestLive:
    """Against an API server."""

    async def create(self, client, *documents):
        for document in documents:
            resource = next(r for r in vars(kinds).values() if getattr(r, "kind", "") == document["kind"])
            name, where = document["metadata"]["name"], document["metadata"].get("namespace", "")
            status = document.pop("status", None)
            if "spec" in document:
                document["spec"] = {field: value for field, value in document["spec"].items() if value != ""}
            for field in ("uid", "creationTimestamp", "generation"):
                document["metadata"].pop(field, None)
            await client.create(resource, document, where)
            if status:
                await client.apply(
                    resource, name, where, _status(document, status), field_manager="t", subresource="status"
                )

    async def asked(self, name, *documents):
        async with api_servers.in_memory(1) as [server]:
            client = Client(server.transport, SystemClock())
            await self.create(client, namespace(), *documents)
            return await ask(client, DEFAULT, Key.parse(name)), client

    async def test_answer_from_lists_alone(self):
        told, client = await self.asked(
            "ns/w", flavor(), cluster_queue(), local_queue(), admitted("big", cpu=4), workload(cpu=2)
        )
        assert told.remedies[0].text == "ns/big in q finishing"
        assert {verb for verb, _, _ in client.writes} == {"create", "apply"}

    async def test_job_stands_for_its_workload(self):
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
        told, _ = await self.asked("ns/train", workload("job-train-1", metadata={"ownerReferences": [owner]}))
        assert told.workload == "ns/job-train-1"

    async def test_checks_that_a_workload_waits_for(self):
        check = admission_check("room", controller="kueue.x-k8s.io/provisioning-request")
        del check["status"]
        check["spec"]["parameters"] = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "c"}
        config = {"apiVersion": KUEUE, "kind": "ProvisioningRequestConfig", "metadata": {"name": "c"}}
        waiting = admitted("w")
        waiting["status"]["conditions"] = waiting["status"]["conditions"][:1]
        entry = {"name": "room", "state": "Pending", "message": "", "lastTransitionTime": EARLIER}
        waiting["status"]["admissionChecks"] = [entry]
        told, _ = await self.asked("ns/w", check, config | {"spec": {"provisioningClassName": "grow"}}, waiting)
        lines = list(explanation_text.lines(told))
        assert lines[0].startswith(
            "ns/w holds quota in ClusterQueue q and waits for its admission checks: room is Pending"
        )
        assert lines[1].startswith(f"  check room: Pending since {EARLIER} (")
        assert lines[2] == "    no ProvisioningRequest of class grow was made yet"

    async def test_unknown_workload_names_similar_ones(self):
        with pytest.raises(UnknownWorkload, match=r"no workload and no job train in namespace ns; similar: train-1"):
            await self.asked("ns/train", workload("train-1"))

    def test_copy_of_a_hub_is_found_by_its_job_before_the_job_is_made(self):
        copy = workload("job-train-7-1f2e3", metadata={"labels": {"kueue.x-k8s.io/multikueue-origin": "multikueue"}})
        assert named([copy, workload("job-train-7-other-1f2e3")], Key("ns", "train-7")) is copy

    def test_workload_that_is_no_copy_is_not_guessed_from_its_name(self):
        with pytest.raises(UnknownWorkload):
            named([workload("job-train-7-1f2e3")], Key("ns", "train-7"))


def _status(document, status):
    kept = {"apiVersion": KUEUE, "kind": document["kind"], "metadata": {"name": document["metadata"]["name"]}}
    return {**kept, "status": status}


class TestWrongUse:
    def refused(self, *arguments):
        result = run("explain", *arguments)
        assert "Traceback" not in result.output
        return result.exit_code, result.output

    def test_name_without_namespace(self):
        assert self.refused("w") == (2, "error: 'w': must be NAMESPACE/NAME\n")

    def test_server_that_is_not_there(self, tmp_path):
        code, text = self.refused("ns/w", "--kubeconfig", kubeconfig(tmp_path))
        assert (code, "the API server cannot be reached" in text) == (1, True)

    def test_no_kubeconfig_at_all(self, tmp_path):
        code, text = self.refused("ns/w", "--kubeconfig", tmp_path / "none")
        assert (code, "none" in text) == (2, True)


def test_output_as_data_is_plain():
    told = explained(*builders.single_queue(), workload(cpu=5))
    document = json.loads(msgspec.json.encode(told))
    assert document["flavors"][0]["resources"][0]["lacking"] == "1"
    assert document["remedies"][0]["amounts"] == {"default": {"cpu": "1"}}
