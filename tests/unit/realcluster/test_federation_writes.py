"""Writes for each job, by where they were made and for whom."""

from dataclasses import replace

from tests.benchmarks.audit_log import Write
from tests.benchmarks.federation_writes import per_job

OURS = frozenset({"hub", "agent"})
WINNERS = {"bench-00000": "a", "bench-00001": "b"}


def write(what="workloads/status", name="job-bench-00000-abcde", who="hub", verb="patch", code=200):
    return Write(who, verb, what, "training", name, code)


def counted(**by_cluster):
    found = per_job({"manager": [], **by_cluster}, "manager", OURS, WINNERS)
    return found.manager, found.winner, found.others, found.events


def test_writes_are_told_by_place_and_divided_by_the_jobs():
    assert counted(manager=[write()], a=[write(), write()], b=[write()]) == (0.5, 1.0, 0.5, 0)


def test_what_concerns_no_job_is_the_winner_s():
    assert counted(a=[write("clusterqueues/status", "all")], b=[write("leases", "hub")])[1] == 1.0


def test_events_are_apart_and_others_programs_and_refused_requests_do_not_count():
    made = [write("events", "x"), write(who="kubectl"), write(code=409)]
    assert counted(manager=made) == (0, 0, 0, 0.5)


def test_copies_are_the_workloads_made_on_workers():
    copy = write("workloads", verb="create")
    assert per_job({"manager": [copy], "a": [copy], "b": [copy]}, "manager", OURS, WINNERS).copies == 1.0


def test_details_name_program_field_manager_and_object():
    made = [write(), replace(write(), manager="kueue-admission"), replace(write(), manager="kueue-admission")]
    found = per_job({"manager": made}, "manager", OURS, WINNERS)
    assert found.details == {
        "manager: hub patch workloads/status as kueue-admission": 1.0,
        "manager: hub patch workloads/status": 0.5,
    }
