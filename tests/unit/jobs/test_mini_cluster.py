"""MiniClusters of Flux: held by their size, read from the Job that their operator makes."""

from dataclasses import replace

import pytest

from worker_agent.api import companions, names
from worker_agent.api.document import Document, put
from worker_agent.api.job_kind import NotYetStartable
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.pod_set_info import InvalidPodSetInfo, PodSetInfo
from worker_agent.engine.intents import DeleteObject, RecordEvent, RetryWithError
from worker_agent.jobs import KINDS
from worker_agent.jobs.mini_cluster import HELD_SIZE, MiniCluster, wanted_size
from worker_agent.validation.jobs import mini_cluster as rules

from .samples import SAMPLES
from .test_kind_contract import admitted, condition, run, started, told, view

KIND = MiniCluster()
POLICY = JobPolicy(frameworks=frozenset(KINDS))
SAMPLE = SAMPLES[KIND.framework]
HELD = SAMPLE.job


def with_services(job: Document) -> Document:
    return put(job, ("spec", "services"), [{"name": "registry", "resources": {"requests": {"cpu": "1"}}}])


def test_it_is_held_by_its_size_and_remembers_it():
    fresh = put(put(HELD, ("spec", "size"), 6), ("metadata", "annotations"), None)
    held = KIND.suspend(fresh)
    assert held["spec"]["size"] == 0
    assert wanted_size(held) == 6
    assert KIND.templates(held)[0].count == 6


def test_size_that_the_definition_defaults_to_is_one():
    assert wanted_size(put(HELD, ("spec", "size"), None)) == 1


def test_a_stop_remembers_the_size_its_user_asked_for_last():
    assert wanted_size(KIND.suspend(put(started(KIND, HELD), ("spec", "size"), 9))) == 9


def test_only_container_runs_flux_and_bears_the_clusters_name():
    template = KIND.pod_template(HELD, KIND.templates(HELD)[0])
    assert [each["name"] for each in template["spec"]["containers"]] == ["train"]
    assert [each["name"] for each in template["spec"]["initContainers"]] == ["flux-view"]


def test_services_are_a_pod_set_of_one_without_the_others_tolerations():
    job = with_services(HELD)
    spot = KIND.templates(job)[1]
    template = KIND.pod_template(job, spot)
    assert (spot.name, spot.count) == ("services", 1)
    assert template["spec"]["nodeSelector"] == {"arch": "amd64"}
    assert "tolerations" not in template["spec"]


def test_pods_of_one_cluster_cannot_be_placed_by_two_selectors():
    infos = [PodSetInfo("main", 4, node_selector={"tier": "a"}), PodSetInfo("services", 1, node_selector={"tier": "b"})]
    with pytest.raises(InvalidPodSetInfo, match="conflict for nodeSelector"):
        KIND.start(with_services(HELD), infos, POLICY)


def test_a_topology_assignment_is_refused():
    gate = ({"name": names.TOPOLOGY_SCHEDULING_GATE},)
    with pytest.raises(InvalidPodSetInfo, match="topology"):
        KIND.start(HELD, [PodSetInfo("main", 4, scheduling_gates=gate)], POLICY)


def test_it_does_not_start_beside_what_is_left_of_an_earlier_run():
    with pytest.raises(NotYetStartable):
        KIND.start(told(KIND, HELD, SAMPLE.running), [PodSetInfo("main", 4)], POLICY)


def test_a_namesake_of_the_operators_job_is_none_of_its_own():
    stranger = {**SAMPLE.child, "metadata": {"name": "train"}, "status": SAMPLE.running}
    job = companions.joined(HELD, KIND.companions(HELD), lambda each: stranger if each.name == "train" else None)
    assert KIND.remains(job) == []
    assert not KIND.is_active(job)


def test_eviction_deletes_the_operators_job_and_keeps_the_quota_until_it_is_gone():
    workload = admitted(KIND, HELD)
    evicted = condition("Evicted", reason="Preempted", message="for another")
    status = {**workload["status"], "conditions": [*workload["status"]["conditions"], evicted]}
    seen, intents = run(view(KIND, told(KIND, started(KIND, HELD), SAMPLE.running), {**workload, "status": status}))
    (deletion,) = [intent for intent in intents if isinstance(intent, DeleteObject)]
    assert (deletion.resource.kind, deletion.key.name, deletion.propagation) == ("Job", "train", "Foreground")
    assert seen.job["spec"]["size"] == 0
    assert "admission" in seen.workloads[0]["status"]
    assert run(seen)[1] == []

    gone = {name: value for name, value in seen.job.items() if not name.startswith("~")}
    seen, _ = run(view(KIND, gone, *seen.workloads))
    assert "admission" not in seen.workloads[0]["status"]


def test_it_is_not_started_here_when_it_runs_elsewhere():
    seen, _ = run(replace(view(KIND, HELD, admitted(KIND, HELD)), dispatched=True))
    assert KIND.is_suspended(seen.job)


def test_job_of_a_cluster_that_ran_is_kept_once_it_has_ended():
    assert KIND.remains(told(KIND, HELD, SAMPLE.succeeded)) == []


def _errors(job: Document) -> list[str]:
    return [error.field for error in rules.create_errors(KIND, job, POLICY)]


def test_queued_without_pods_is_refused():
    assert _errors(put(HELD, ("metadata", "annotations"), None)) == ["spec.size"]


@pytest.mark.parametrize("size", ["many", "-1", "0", "", "²", "2147483648", "9" * 5000])
def test_unreadable_held_size_is_refused(size):
    held = f"metadata.annotations[{names.HELD_SIZE_ANNOTATION}]"
    assert _errors(put(HELD, HELD_SIZE, size)) == [held]


@pytest.mark.parametrize("size", [None, "many", "9" * 5000])
def test_one_whose_size_is_lost_is_told_so_and_never_started(size):
    lost = put(HELD, HELD_SIZE, size)
    _, intents = run(view(KIND, lost))
    assert [type(intent) for intent in intents if not isinstance(intent, RecordEvent | RetryWithError)] == []
    assert any("spec.size" in str(intent) for intent in intents)
    seen, _ = run(view(KIND, lost, admitted(KIND, HELD)))
    assert seen.job["spec"]["size"] == 0


def test_topology_annotations_are_refused():
    annotated = put(HELD, ("spec", "pod", "annotations", names.REQUIRED_TOPOLOGY_ANNOTATION), "rack")
    assert _errors(annotated) == [f"spec.pod.annotations[{names.REQUIRED_TOPOLOGY_ANNOTATION}]"]


def test_unqueued_one_is_left_alone():
    assert _errors({**HELD, "metadata": {"name": "train"}, "spec": {"size": 0}}) == []
