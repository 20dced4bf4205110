"""Which workloads wait, in which order, as the visibility API tells it."""

from tests import builders
from tests.engine_world import EngineWorld
from worker_agent.visibility import summary
from worker_agent.visibility.question import Page, QueueQuestion

ALL = Page()
QUEUE = QueueQuestion("v1beta2", "q")


def view(*more, strict=False):
    """Queue ``q`` of 4 cpu, taken whole; LocalQueues ``lq`` and ``other`` lead there."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    world = EngineWorld(
        [
            *builders.single_queue(strict=strict),
            builders.local_queue("other"),
            builders.admitted("runs", cpu=4),
            builders.workload("late", cpu=3, created="2026-01-01T11:00:00Z"),
            builders.workload("early", cpu=3, metadata={"ownerReferences": [owner]}),
            builders.workload("elsewhere", cpu=3, created="2026-01-01T10:30:00Z", queue="other"),
            builders.workload("urgent", cpu=3, created="2026-01-01T11:30:00Z", priority=9),
            *more,
        ]
    )
    world.settle()
    return world.state.publish(world.now)


def names(found):
    return [item["metadata"]["name"] for item in found["items"]]


def test_by_priority_then_by_age_parked_ones_included():
    found = summary.of(view(), QUEUE, ALL)
    assert names(found) == ["urgent", "early", "elsewhere", "late"]
    assert (found["kind"], found["apiVersion"]) == ("PendingWorkloadsSummary", "visibility.kueue.x-k8s.io/v1beta2")
    assert found["metadata"] == {}


def test_an_item_tells_its_owners_and_positions():
    found = summary.of(view(), QUEUE, ALL)
    assert found["items"][1] == {
        "metadata": {
            "name": "early",
            "namespace": "ns",
            "creationTimestamp": "2026-01-01T10:00:00Z",
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}],
        },
        "priority": 0,
        "localQueueName": "lq",
        "positionInClusterQueue": 1,
        "positionInLocalQueue": 1,
    }


def test_a_local_queue_keeps_the_positions_in_its_cluster_queue():
    found = summary.of(view(), QueueQuestion("v1beta1", "lq", "ns"), ALL)
    places = [(item["positionInClusterQueue"], item["positionInLocalQueue"]) for item in found["items"]]
    assert names(found) == ["urgent", "early", "late"]
    assert places == [(0, 0), (1, 1), (3, 2)]


def test_a_page_counts_places_from_the_front():
    found = summary.of(view(), QUEUE, Page(limit=2, offset=1))
    assert [(item["metadata"]["name"], item["positionInLocalQueue"]) for item in found["items"]] == [
        ("early", 1),
        ("elsewhere", 0),
    ]


def test_a_page_of_a_local_queue_counts_its_own_workloads():
    found = summary.of(view(), QueueQuestion("v1beta2", "lq", "ns"), Page(limit=1, offset=2))
    assert [(item["metadata"]["name"], item["positionInLocalQueue"]) for item in found["items"]] == [("late", 2)]


def test_limit_zero_is_empty():
    assert summary.of(view(), QUEUE, Page(limit=0))["items"] == []


def test_unknown_queues_have_no_summary():
    assert summary.of(view(), QueueQuestion("v1beta2", "none"), ALL) is None
    assert summary.of(view(), QueueQuestion("v1beta2", "lq", "other-namespace"), ALL) is None


def test_in_a_local_queue_without_its_cluster_queue_nothing_waits():
    lonely = builders.local_queue("lonely", cluster_queue="missing")
    found = summary.of(view(lonely), QueueQuestion("v1beta2", "lonely", "ns"), ALL)
    assert found["items"] == []
