"""Room on a worker's nodes that its last report does not show yet: what ended since is free."""

from hub.engine.evaluation import Outlook
from tests.unit.hub import knowledge
from tests.unit.hub.knowledge import request, worker
from tests.unit.hub.test_judging import Office

FULL = "2026-01-31T11:59:00Z"


def office():
    """Two nodes without free cpus, and a queue with more quota than they have."""
    return Office(*worker("a", cpu=80), knowledge.running("a", "old", cpu=3), knowledge.report("a", 0, 0, at=FULL))


def ended(name="old"):
    return knowledge.finished("a", name, cpu=3)


def test_a_full_worker_has_no_room():
    assert office().outlook(request("a", cpu=3))[0] == Outlook.WAITS_FOR_ROOM


def test_what_has_finished_leaves_its_room_before_the_next_report():
    world = office()
    world.tell(ended())
    assert world.outlook(request("a", cpu=3))[0] == Outlook.FITS


def test_a_larger_pod_waits_for_the_report():
    world = office()
    world.tell(ended())
    assert world.outlook(request("a", cpu=4))[0] == Outlook.WAITS_FOR_ROOM


def test_a_deactivated_workload_still_has_pods_that_stop():
    world = office()
    world.tell(knowledge.running("a", "old", cpu=3, active=False))
    assert world.outlook(request("a", cpu=3))[0] == Outlook.WAITS_FOR_ROOM


def test_the_report_that_counts_it_takes_over():
    world = office()
    world.tell(ended(), knowledge.report("a", 0, 0, at="2026-01-31T12:00:05Z"))
    assert world.outlook(request("a", cpu=3))[0] == Outlook.WAITS_FOR_ROOM


def test_a_worker_whose_clock_is_behind_is_believed_at_its_second_report():
    world = office()
    world.tell(ended(), knowledge.report("a", 0, 0, at="2026-01-31T09:00:00Z"))
    assert world.outlook(request("a", cpu=3))[0] == Outlook.FITS
    world.tell(knowledge.report("a", 0, 0, at="2026-01-31T09:00:05Z"))
    assert world.outlook(request("a", cpu=3))[0] == Outlook.WAITS_FOR_ROOM


def test_work_with_a_place_in_a_topology_leaves_its_room_too():
    running = knowledge.reserved(knowledge.workload_document("old", cpu=3), cpu=3)
    slices = [{"domainCount": 1, "valuesPerLevel": [{"universal": "n1"}], "podCounts": {"universal": 1}}]
    (assignment,) = running["status"]["admission"]["podSetAssignments"]
    assignment["topologyAssignment"] = {"levels": ["kubernetes.io/hostname"], "slices": slices}
    told = knowledge.event("a", "workloads", running)
    world = Office(*worker("a", cpu=80), told, knowledge.report("a", 0, 0, at=FULL))
    world.tell(ended())
    assert world.outlook(request("a", cpu=3))[0] == Outlook.FITS
