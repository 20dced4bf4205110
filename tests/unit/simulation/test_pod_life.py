"""What happens to a bound pod."""

from typing import Any

import pytest

from hub.local.simulation import pod_life, pod_status
from hub.local.simulation.pod_life import NOTHING, NodeState, PodStep, next_step
from tests.unit.simulation.objects import NOW, at, condition, pod
from worker_agent.api.document import Document


def annotated(made: Document, **annotations: str) -> Document:
    names = {f"fedhub.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return made | {"metadata": made["metadata"] | {"annotations": names}}


def written(made: Document, seconds: float = 0.0) -> Document:
    status = next_step(made, at(seconds)).status
    assert status is not None
    return status


def test_an_unbound_pod_is_nobodys():
    unbound = pod("a", "Pending")
    del unbound["spec"]["nodeName"]
    assert next_step(unbound, NOW) == NOTHING


def test_a_bound_pod_starts():
    status = written(pod("a", "Pending"))
    assert status["phase"] == "Running"
    assert status["startTime"] == "2026-01-01T12:00:00Z"
    assert status["podIP"].startswith("10.")
    assert condition({"conditions": [c | {"reason": "", "message": ""} for c in status["conditions"]]}, "Ready")
    container = status["containerStatuses"][0]
    assert (container["ready"], container["state"]) == (True, {"running": {"startedAt": "2026-01-01T12:00:00Z"}})


def test_starting_can_take_a_while():
    bound = annotated(pod("a", "Pending"), start_seconds="3")
    bound["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T12:00:00Z"}
    ]
    assert next_step(bound, at(1)) == PodStep(look_again=2.0)
    assert written(bound, 3)["phase"] == "Running"


def test_a_pod_runs_five_seconds_unless_told_otherwise():
    running = pod("a")  # since -10
    assert next_step(running, at(-6)) == PodStep(look_again=1.0)
    assert written(running, -5)["phase"] == "Succeeded"
    longer = annotated(running, run_seconds="30")
    assert next_step(longer, at(0)) == PodStep(look_again=20.0)


@pytest.mark.parametrize("nonsense", ["", "soon", "-1", "nan", "inf"])
def test_nonsense_counts_as_absent(nonsense: str):
    assert next_step(annotated(pod("a"), run_seconds=nonsense), at(-6)) == PodStep(look_again=1.0)


def test_success_shows_in_every_place():
    status = written(pod("a"))
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (0, "Completed")
    assert terminated["startedAt"] == "2026-01-01T11:59:50Z"
    ready = next(c for c in status["conditions"] if c["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")


def test_an_exit_code_makes_it_fail():
    status = written(annotated(pod("a"), exit_code="3"))
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_an_ended_pod_is_left_alone():
    assert next_step(pod("a", "Succeeded"), NOW) == NOTHING
    assert next_step(pod("a", "Failed"), NOW) == NOTHING


def test_on_failure_the_container_is_started_again_with_a_growing_delay():
    failing = annotated(pod("a"), exit_code="1")
    failing["spec"]["restartPolicy"] = "OnFailure"
    failing["status"] = written(failing)
    container = failing["status"]["containerStatuses"][0]
    assert (failing["status"]["phase"], container["restartCount"]) == ("Running", 1)
    assert next_step(failing, at(4)) == PodStep(look_again=6.0)
    failing["status"] = written(failing, 10)
    assert "running" in failing["status"]["containerStatuses"][0]["state"]
    failing["status"] = written(failing, 15)
    assert failing["status"]["containerStatuses"][0]["restartCount"] == 2
    assert next_step(failing, at(15)) == PodStep(look_again=20.0)


def test_a_jobs_pod_without_its_finalizer_does_not_finish():
    assert next_step(pod("a", tracked=False), NOW) == NOTHING
    assert pod_life.lost_its_job(pod("a", tracked=False))


def test_a_pod_of_nobody_finishes():
    assert written(pod("a", tracked=False, ownerReferences=[]))["phase"] == "Succeeded"


class TestEnding:
    def ending(self, phase: str = "Running", grace: int = 30, **metadata: Any) -> Document:
        fields = {"deletionTimestamp": "2026-01-01T12:00:30Z", "deletionGracePeriodSeconds": grace}
        return pod("a", phase, **fields, **metadata)

    def test_a_running_pod_ends_at_once(self):
        status = written(self.ending())
        assert status["phase"] == "Failed"
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143

    def test_or_takes_its_time_within_the_grace(self):
        slow = self.ending(annotations={pod_life.STOP_SECONDS: "10"})
        assert next_step(slow, at(4)) == PodStep(look_again=6.0)
        assert written(slow, 10)["phase"] == "Failed"
        stubborn = self.ending(annotations={pod_life.STOP_SECONDS: "100"})
        assert written(stubborn, 30)["phase"] == "Failed"

    def test_it_does_not_succeed_though_its_time_is_over(self):
        assert written(self.ending(annotations={pod_life.RUN_SECONDS: "1"}))["phase"] == "Failed"

    def test_an_ended_pod_is_removed(self):
        assert next_step(self.ending("Failed"), NOW) == PodStep(remove=True)

    def test_a_pod_held_by_finalizers_is_not_removed_again(self):
        assert next_step(self.ending("Failed", grace=0), NOW) == NOTHING

    def test_a_pod_that_never_started_ends_too(self):
        assert written(self.ending("Pending"))["phase"] == "Failed"


def test_on_a_silent_node_nothing_happens():
    assert next_step(pod("a"), NOW, NodeState.SILENT) == NOTHING
    assert next_step(pod("a", deleting=True), NOW, NodeState.SILENT) == NOTHING


def test_without_its_node_a_pod_fails_and_goes():
    lost = pod("a")
    status = next_step(lost, NOW, NodeState.GONE).status
    assert status is not None
    assert status["phase"] == "Failed"
    assert condition(status, "DisruptionTarget") == ("True", "DeletionByPodGC", "PodGC: node no longer exists")
    assert next_step(lost | {"status": status}, NOW, NodeState.GONE) == PodStep(remove=True)


def test_conditions_keep_their_time_while_their_status_stays():
    made = pod("a")
    later = pod_status.running(made, at(50))
    assert {c["lastTransitionTime"] for c in later["conditions"]} == {"2026-01-01T11:59:50Z"}


def test_a_restarted_kubelet_goes_on_where_it_was():
    running = annotated(pod("a"), run_seconds="15")
    before, after = next_step(running, at(0)), next_step(running, at(0))
    assert before == after == PodStep(look_again=5.0)
