"""A row of the demo says where a job stands, from its Job and Workload alone."""

from hub.local import demo_board
from hub.local.demo_board import Stage

CREATED = "2026-01-01T00:00:00Z"


def job(**status):
    return {"metadata": {"name": "j", "creationTimestamp": CREATED}, "status": status}


def workload(*true_conditions, cluster=""):
    return {
        "metadata": {"annotations": {}},
        "status": {
            "clusterName": cluster,
            "conditions": [{"type": type_, "status": "True"} for type_ in true_conditions],
        },
    }


def test_job_without_workload_is_queued():
    assert demo_board.row(job(), None).stage is Stage.QUEUED


def test_reserved_quota_means_dispatching():
    assert demo_board.row(job(), workload("QuotaReserved")).stage is Stage.DISPATCHING


def test_a_chosen_cluster_means_running():
    row = demo_board.row(job(startTime="2026-01-01T00:00:07Z"), workload("QuotaReserved", "Admitted", cluster="oregon"))
    assert (row.stage, row.cluster, row.waited, row.ran) == (Stage.RUNNING, "oregon", 7.0, None)


def test_complete_job_is_finished_and_has_times():
    done = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:12Z"}
    row = demo_board.row(job(startTime="2026-01-01T00:00:07Z", conditions=[done]), workload(cluster="oregon"))
    assert (row.stage, row.waited, row.ran) == (Stage.FINISHED, 7.0, 5.0)


def test_kinds_that_tell_their_end_by_a_time_have_it_before_their_workload_does():
    status = {"startTime": "2026-01-01T00:00:07Z", "endTime": "2026-01-01T00:00:12Z"}
    ended = {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", **status}
    row = demo_board.row({**job(**ended), "kind": "RayJob"}, workload("Admitted", cluster="oregon"))
    assert (row.stage, row.waited, row.ran) == (Stage.FINISHED, 7.0, 5.0)


def test_kinds_with_names_of_their_own_for_success_have_their_times():
    done = {"type": "Succeeded", "status": "True", "lastTransitionTime": "2026-01-01T00:00:12Z"}
    ended = {**job(startTime="2026-01-01T00:00:07Z", conditions=[done]), "kind": "PyTorchJob"}
    assert demo_board.row(ended, workload("Admitted", cluster="oregon")).ran == 5.0


def test_failed_job_is_failed_whatever_else_is_true():
    failed = {"type": "Failed", "status": "True", "lastTransitionTime": "2026-01-01T00:00:12Z"}
    assert demo_board.row(job(conditions=[failed]), workload("Admitted", cluster="oregon")).stage is Stage.FAILED


def test_counts_by_stage():
    rows = [demo_board.row(job(), None), demo_board.row(job(), workload("QuotaReserved"))]
    assert demo_board.counts(rows) == {Stage.QUEUED: 1, Stage.DISPATCHING: 1}


def test_brief_reason_keeps_each_verdict_without_details():
    why = (
        "oregon: fits now in a100; berlin: impossible: couldn't assign flavors to pod set main: no a, no b; "
        "tokyo: quota is free, but no nodes have room for 4 pods of cpu 3 now; "
        "bonn: no node is large enough for 1 pod of cpu 14, memory 40Gi, not even an empty one"
    )
    assert demo_board.brief(why) == (
        "oregon: fits now in a100; berlin: impossible (no a); tokyo: quota is free, but no nodes have room; "
        "bonn: no node is large enough"
    )


def test_reason_is_the_dispatched_condition():
    found = {"status": {"conditions": [{"type": "fedhub.dev/Dispatched", "status": "True", "message": "oregon: fits"}]}}
    assert demo_board.reason(found) == "oregon: fits"
    assert demo_board.reason(None) == ""
