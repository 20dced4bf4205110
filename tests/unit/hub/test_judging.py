"""How a workload stands with a cluster, from what the hub knows of it."""

from datetime import UTC, datetime

import pytest

from hub.engine.evaluation import Outlook
from hub.engine.knowledge_event import forgotten
from hub.engine.work_order import Assume, Desk, Observe, Release
from tests.unit.hub import knowledge
from tests.unit.hub.knowledge import request, worker
from worker_agent.engine.policy import Policy

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


class Office:
    """A desk that is told events and asked about one workload at a time."""

    def __init__(self, *events):
        self.desk = Desk(Policy())
        self.tell(*events)

    def tell(self, *events):
        self.desk.carry_out([Observe(event) for event in events], NOW)

    def order(self, *orders):
        self.desk.carry_out(orders, NOW)

    def ask(self, question):
        return self.desk.answer([question], NOW)[0]

    def outlook(self, question):
        (found,) = self.ask(question)
        return Outlook(found.outlook), found.reason


def test_an_empty_queue_fits():
    (found,) = Office(*worker("a", cpu=4)).ask(request("a", cpu=3))
    assert (found.outlook, found.message, found.free) == (Outlook.FITS, "fits now in default", 250)


def test_more_than_the_quota_is_impossible():
    outlook, reason = Office(*worker("a", cpu=4)).outlook(request("a", cpu=5))
    assert (outlook, reason) == (Outlook.IMPOSSIBLE, "ExceedsMaxQuota")


def test_a_full_queue_waits():
    office = Office(*worker("a", cpu=4), knowledge.running("a", "old", cpu=3))
    assert office.outlook(request("a", cpu=2))[0] == Outlook.WAITS


def test_room_comes_back_when_a_workload_ends():
    office = Office(*worker("a", cpu=4), knowledge.running("a", "old", cpu=3))
    office.tell(knowledge.gone("a", "workloads", "old", "ns"))
    assert office.outlook(request("a", cpu=2))[0] == Outlook.FITS


def test_those_that_wait_already_go_first():
    office = Office(*worker("a", cpu=4), knowledge.pending("a", "early", cpu=3))
    assert office.outlook(request("a", cpu=2))[0] == Outlook.WAITS


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (knowledge.gone("a", "namespaces", "ns"), "NoNamespace"),
        (knowledge.gone("a", "localqueues", "lq", "ns"), "NoLocalQueue"),
        (knowledge.local_queue("a", stopPolicy="Hold"), "Stopped"),
        (knowledge.gone("a", "clusterqueues", "cq"), "NotFound"),
        (knowledge.gone("a", "resourceflavors", "default"), "FlavorNotFound"),
    ],
)
def test_what_is_missing_there_is_named(change, reason):
    office = Office(*worker("a", cpu=4))
    office.tell(change)
    assert office.outlook(request("a")) == (Outlook.IMPOSSIBLE, reason)


def test_a_cluster_nobody_told_of_is_unknown():
    assert Office().outlook(request("a")) == (Outlook.UNKNOWN, "NotKnownYet")


def test_a_forgotten_cluster_is_unknown_again():
    office = Office(*worker("a", cpu=4))
    office.tell(forgotten("a"))
    assert office.outlook(request("a"))[0] == Outlook.UNKNOWN


def test_a_cluster_whose_queues_may_not_be_read_is_unknown():
    office = Office(*worker("a", cpu=4))
    office.tell(knowledge.KnowledgeEvent("a", "unreadable", raw=b"clusterqueues,topologies"))
    (found,) = office.ask(request("a"))
    assert (found.outlook, found.message) == (Outlook.UNKNOWN, "the credential may not read clusterqueues")


def test_quota_without_nodes_waits_for_room():
    office = Office(*worker("a", cpu=8), knowledge.report("a", 3, 3))
    assert office.outlook(request("a", cpu=3, pods=2))[0] == Outlook.FITS
    outlook, reason = office.outlook(request("a", cpu=4))
    assert (outlook, reason) == (Outlook.WAITS_FOR_ROOM, "NoRoomOnNodes")


def test_a_pod_larger_than_every_node_is_impossible_though_quota_is_free():
    office = Office(*worker("a", cpu=80), knowledge.report("a", largest={"default": 8}))
    assert office.outlook(request("a", cpu=14)) == (Outlook.IMPOSSIBLE, "TooLargeForNodes")


def test_a_pod_larger_than_every_node_does_not_wait_for_quota_either():
    office = Office(*worker("a", cpu=80), knowledge.report("a", largest={"default": 8}))
    office.tell(knowledge.running("a", "old", cpu=70))
    assert office.outlook(request("a", cpu=14)) == (Outlook.IMPOSSIBLE, "TooLargeForNodes")
    assert office.outlook(request("a", cpu=7, pods=2))[0] == Outlook.WAITS


def two_flavors(**largest):
    flavors = [knowledge.flavor("a", name) for name in ("small", "large")]
    queue = knowledge.cluster_queue_of("a", "small", "large", cpu=20)
    return Office(*worker("a", cpu=1), *flavors, queue, knowledge.report("a", largest=largest))


def test_the_flavor_that_quota_grants_must_hold_the_pods():
    assert two_flavors(small=8, large=64).outlook(request("a", cpu=14))[1] == "TooLargeForNodes"
    assert two_flavors(small=16, large=8).outlook(request("a", cpu=14))[0] == Outlook.FITS


def test_a_workload_is_not_left_waiting_for_a_flavor_that_may_not_hold_it():
    office = two_flavors(small=8, large=64)
    for name, flavor in (("one", "small"), ("two", "large")):
        held = knowledge.reserved(knowledge.workload_document(name, cpu=10), cpu=10)
        held["status"]["admission"]["podSetAssignments"][0]["flavors"] = {"cpu": flavor}
        office.tell(knowledge.event("a", "workloads", held))
    assert office.outlook(request("a", cpu=14)) == (Outlook.MAY_NEVER_START, "MayBeTooLarge")


def test_nodes_that_are_made_for_what_is_admitted_rule_nothing_out():
    queue = knowledge.cluster_queue_of("a", "default", cpu=80, check="grow")
    check = knowledge.check("a", "grow", "kueue.x-k8s.io/provisioning-request")
    office = Office(*worker("a", cpu=1), check, queue, knowledge.report("a", 1, largest={"default": 8}))
    assert office.outlook(request("a", cpu=14))[0] == Outlook.FITS


def test_an_agents_first_report_is_waited_for():
    office = Office(*worker("a", cpu=8), knowledge.complete("a"))
    assert office.outlook(request("a")) == (Outlook.WAITS_FOR_ROOM, "NoReportYet")
    office.tell(knowledge.report("a", 8))
    assert office.outlook(request("a"))[0] == Outlook.FITS


@pytest.mark.parametrize(
    ("created", "outlook"), [("2026-01-31T12:00:01Z", Outlook.WAITS_FOR_ROOM), ("2026-01-31T11:00:00Z", Outlook.FITS)]
)
def test_a_report_older_than_the_flavor_does_not_count_for_it(created, outlook):
    flavor = knowledge.event("a", "resourceflavors", {"metadata": {"name": "new", "creationTimestamp": created}})
    queue = knowledge.cluster_queue_of("a", "new", cpu=8)
    office = Office(*worker("a", cpu=1), flavor, queue, knowledge.report("a", 8), knowledge.complete("a"))
    assert office.outlook(request("a"))[0] == outlook


def test_a_worker_with_real_kueue_never_reports_and_is_used_without():
    office = Office(*worker("a", cpu=8), knowledge.complete("a", "clustercapacities"))
    assert office.outlook(request("a"))[0] == Outlook.FITS


def test_a_workload_that_holds_its_quota_there_fits_whatever_the_nodes_say():
    held = knowledge.running("a", "new", cpu=14)
    office = Office(*worker("a", cpu=80), held, knowledge.report("a", largest={"default": 8}))
    assert office.outlook(request("a", cpu=14))[0] == Outlook.FITS


def test_assumed_room_is_taken_until_released():
    office = Office(*worker("a", cpu=4))
    sent = request("a", name="sent", cpu=3)
    (found,) = office.ask(sent)
    office.order(Assume("a", "ns", "sent", sent.workload, found.admission))
    assert office.outlook(request("a", cpu=2))[0] == Outlook.WAITS
    office.order(Release("a", "ns", "sent"))
    assert office.outlook(request("a", cpu=2))[0] == Outlook.FITS


def test_assumed_room_outlives_the_pending_copy_and_ends_with_it():
    office = Office(*worker("a", cpu=4))
    sent = request("a", name="sent", cpu=3)
    (found,) = office.ask(sent)
    office.order(Assume("a", "ns", "sent", sent.workload, found.admission))
    office.tell(knowledge.pending("a", "sent", cpu=3))
    assert office.outlook(request("a", cpu=2))[0] == Outlook.WAITS
    office.tell(knowledge.gone("a", "workloads", "sent", "ns"))
    assert office.outlook(request("a", cpu=2))[0] == Outlook.FITS


def test_nodes_are_taken_too_until_the_next_report_counts_them():
    office = Office(*worker("a", cpu=80), knowledge.report("a", 3, 3))
    sent = request("a", name="sent", cpu=3)
    (found,) = office.ask(sent)
    office.order(Assume("a", "ns", "sent", sent.workload, found.admission))
    assert office.outlook(request("a", cpu=3, pods=2))[0] == Outlook.WAITS_FOR_ROOM
    office.tell(knowledge.running("a", "sent", cpu=3))
    assert office.outlook(request("a", cpu=3, pods=2))[0] == Outlook.WAITS_FOR_ROOM
    office.tell(knowledge.report("a", 3, 3, 3, at="2026-01-31T12:00:05Z"))
    assert office.outlook(request("a", cpu=3, pods=1))[0] == Outlook.FITS


def test_a_kind_that_is_not_served_is_impossible():
    office = Office(*worker("a", cpu=8), knowledge.report("a", 8))
    ray_job = request("a")
    ray_job = type(ray_job)("ns", "new", "ray.io/rayjob", ("a",), ray_job.workload)
    assert office.outlook(ray_job) == (Outlook.IMPOSSIBLE, "KindNotServed")


@pytest.mark.parametrize(("engine", "exact"), [(knowledge.capacity.ENGINE_VERSION, True), ("older", False)])
def test_a_verdict_is_exact_where_the_same_engine_decides(engine, exact):
    office = Office(*worker("a", cpu=8), knowledge.report("a", 8, engine=engine))
    assert office.ask(request("a"))[0].exact is exact


def test_an_object_that_cannot_be_read_spoils_only_itself():
    broken = knowledge.KnowledgeEvent("a", "cohorts", "", "x", b'{"metadata": 7}')
    office = Office(*worker("a", cpu=4), broken)
    assert office.outlook(request("a"))[0] == Outlook.FITS


def test_the_price_of_the_flavor_is_told():
    (found,) = Office(*worker("a", cpu=4, price="1.25")).ask(request("a"))
    assert found.price == 1_250_000
