"""Decisions of the cycle on their way into the Workloads' objects."""

import asyncio
import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.unit.controllers.writing import FixedObjects, Writing, echo
from tests.unit.kube.fake_server import answer, clock, status
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_QUEUES, WORKLOADS
from worker_agent.controllers.engine_messages import Forget
from worker_agent.controllers.plan_writer import PlanWriter
from worker_agent.engine.intents import ApplyStatus, SetCondition
from worker_agent.engine.nomination import Outcome
from worker_agent.engine.plan import Admit, Plan, Preempt, Requeue
from worker_agent.engine.requeue_reason import RequeueReason
from worker_agent.engine.reservation import Observability
from worker_agent.kube.clock import LoopClock

KEY = Key("ns", "w")
ADMISSION = {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}, "count": 1}]}
ADMIT = Admit(KEY, "q", ADMISSION, admitted=True, reason="QuotaReserved", message="")
NO_QUOTA = Requeue(KEY, "q", Outcome.NOT_NOMINATED, RequeueReason.NO_FIT, "WaitingForQuota", "short by 1")


def workload(name="w", **status):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "creationTimestamp": "2025-12-31T23:59:30Z",
        },
        "spec": {"queueName": "lq", "priority": 3},
        "status": status,
    }


def true(type_, message=""):
    at = "2026-01-01T00:00:00Z"
    return {"type": type_, "status": "True", "reason": type_, "message": message, "lastTransitionTime": at}


class NoQueues(FixedObjects):
    """Knows Workloads only: no ClusterQueue has a check."""

    def informer(self, resource):
        assert resource == CLUSTER_QUEUES
        return {}


class Desk:
    """A PlanWriter over a scripted server."""

    def __init__(self, *script, documents=None):
        known = NoQueues(*((WORKLOADS, d) for d in documents or [workload()]))
        self.shop = Writing(known, *script)
        self.posted = []

    async def write(self, *steps, joined=None):
        """Takes a plan and works until nothing is left to do."""
        shop = self.shop
        writer = PlanWriter(shop.client, shop.known, shop.applier, Observability(), self.posted.append, clock())
        writer.joined = joined
        writer.take(Plan(steps=steps))
        running = asyncio.create_task(writer.run())
        async with asyncio.timeout(5):
            while not writer.idle:  # noqa: ASYNC110 - the writer has no event for having nothing to do
                await asyncio.sleep(0.001)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    @property
    def bodies(self):
        return [json.loads(r.body) for r in self.shop.transport.requests if r.method != "GET"]

    @property
    def told(self):
        return self.shop.recorder.told


def conditions(body):
    return {c["type"]: (c["status"], c["reason"]) for c in body["status"]["conditions"]}


async def test_reservation_and_admission_are_one_write():
    desk = Desk()
    await desk.write(ADMIT)
    (body,) = desk.bodies
    assert body["status"]["admission"] == ADMISSION
    assert conditions(body) == {"QuotaReserved": ("True", "QuotaReserved"), "Admitted": ("True", "Admitted")}
    assert [reason for reason, _ in desk.told] == ["QuotaReserved", "Admitted"]
    assert re.fullmatch(r"Quota reserved in ClusterQueue q, wait time since queued was \d+s", desk.told[0][1])


async def test_traces_of_an_eviction_are_turned_off():
    desk = Desk(documents=[workload(conditions=[true("Evicted", "The ClusterQueue is stopped")])])
    await desk.write(ADMIT)
    evicted = next(c for c in desk.bodies[0]["status"]["conditions"] if c["type"] == "Evicted")
    assert (evicted["status"], evicted["message"]) == ("False", "Previously: The ClusterQueue is stopped")


@pytest.mark.parametrize("refusal", [(422, "Invalid"), (403, "Forbidden"), (404, "NotFound")])
async def test_refused_admission_is_forgotten(refusal):
    desk = Desk(answer(refusal[0], status(*refusal)))
    await desk.write(ADMIT)
    assert desk.posted == [Forget(KEY)]
    assert desk.told == []


@pytest.mark.looptime
async def test_admission_that_is_refused_again_is_forgotten_later_and_later():
    shop = Desk(*(answer(422, status(422, "Invalid")) for _ in range(4))).shop
    loop = asyncio.get_running_loop()
    forgotten_at = []

    def forgotten(message):
        """The engine decides the same again, as long as there are answers."""
        forgotten_at.append(round(loop.time(), 2))
        if len(forgotten_at) < 4:
            writer.take(Plan(steps=(ADMIT,)))

    lasting = LoopClock(datetime(2026, 1, 1, tzinfo=UTC), 0)
    writer = PlanWriter(shop.client, shop.known, shop.applier, Observability(), forgotten, lasting)
    writer.take(Plan(steps=(ADMIT,)))
    running = asyncio.create_task(writer.run())
    await asyncio.sleep(5)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert forgotten_at == [0.0, 0.1, 0.3, 0.7]


async def test_lost_answer_is_looked_up_and_not_given_away():
    written = workload(admission=ADMISSION, conditions=[true("QuotaReserved")])
    desk = Desk(ConnectionResetError("gone"), answer(200, written))
    await desk.write(ADMIT)
    assert desk.posted == []
    assert len(desk.bodies) == 1


async def test_lost_request_is_sent_again():
    desk = Desk(ConnectionResetError("gone"), answer(200, workload()), echo())
    await desk.write(ADMIT)
    assert desk.posted == []
    assert len(desk.bodies) == 2


async def test_workload_that_is_gone_or_done_gives_its_quota_back():
    desk = Desk(documents=[workload(conditions=[true("Finished")])])
    await desk.write(ADMIT)
    assert (desk.posted, desk.bodies) == ([Forget(KEY)], [])


async def test_admission_of_an_older_spec_is_forgotten():
    changed = workload()
    changed["metadata"]["generation"] = 2
    desk = Desk(documents=[changed])
    await desk.write(Admit(KEY, "q", ADMISSION, admitted=True, reason="QuotaReserved", message="", generation=1))
    assert (desk.posted, desk.bodies) == ([Forget(KEY)], [])


async def test_admission_of_an_earlier_namesake_is_forgotten():
    """Its quota was given back, and may be another's by now."""
    desk = Desk()
    await desk.write(replace(ADMIT, generation=0, uid="uid-of-the-copy-before"))
    assert (desk.posted, desk.bodies) == ([Forget(KEY)], [])


async def test_admission_of_a_namesake_comes_in_the_place_of_one_that_is_not_written_yet():
    desk = Desk()
    await desk.write(replace(ADMIT, uid="uid-of-the-copy-before"), replace(ADMIT, uid="uid-w"))
    assert desk.posted == []
    assert desk.bodies[0]["status"]["admission"] == ADMISSION


async def test_namesake_of_a_victim_keeps_its_quota():
    desk = Desk(documents=[workload(), workload("victim", conditions=[true("QuotaReserved")])])
    victim = Preempt(Key("ns", "victim"), KEY, "InClusterQueue", "Preempted to accommodate", "q")
    await desk.write(replace(victim, uid="uid-of-the-copy-before"))
    assert desk.bodies == []


async def test_reason_is_told_once():
    desk = Desk()
    await desk.write(NO_QUOTA)
    assert conditions(desk.bodies[0])["QuotaReserved"] == ("False", "WaitingForQuota")
    await desk.write(NO_QUOTA)
    assert len(desk.bodies) == 1
    assert desk.told == [("WaitingForQuota", "short by 1")]


async def test_admission_is_not_overtaken_by_an_older_reason():
    desk = Desk()
    await desk.write(ADMIT, NO_QUOTA)
    assert len(desk.bodies) == 1
    assert "admission" in desk.bodies[0]["status"]


async def test_victim_is_preempted_and_evicted_in_one_write():
    victim = workload("victim", admission=ADMISSION, conditions=[true("QuotaReserved"), true("Admitted")])
    desk = Desk(documents=[workload(), victim])
    await desk.write(Preempt(Key("ns", "victim"), KEY, "InClusterQueue", "Preempted to accommodate", "q"))
    (body,) = desk.bodies
    assert conditions(body)["Preempted"] == ("True", "InClusterQueue")
    assert conditions(body)["Evicted"] == ("True", "Preempted")
    assert body["status"]["admission"] == ADMISSION
    assert [reason for reason, _ in desk.told] == ["Preempted", "EvictedDueToPreempted", "PreemptedWorkload"]


async def test_victim_on_its_way_out_is_left_alone():
    victim = workload("victim", admission=ADMISSION, conditions=[true("QuotaReserved"), true("Evicted")])
    desk = Desk(documents=[workload(), victim])
    await desk.write(Preempt(Key("ns", "victim"), KEY, "InClusterQueue", "m", "q"))
    assert desk.bodies == []


async def test_what_goes_along_with_an_admission_is_the_same_write():
    desk = Desk()
    asked = []

    async def joined(document):
        asked.append(conditions(document)["QuotaReserved"])
        along = SetCondition("fedhub.dev/Dispatched", "True", "Nominated", "a: fits now")
        return [ApplyStatus(resource=WORKLOADS, key=KEY, conditions=(along,), fields={"nominatedClusterNames": ["a"]})]

    await desk.write(ADMIT, joined=joined)
    (body,) = desk.bodies
    assert asked == [("True", "QuotaReserved")]
    assert body["status"]["nominatedClusterNames"] == ["a"]
    assert conditions(body)["fedhub.dev/Dispatched"] == ("True", "Nominated")


async def test_a_workload_that_changed_meanwhile_is_admitted_alone():
    desk = Desk()

    async def joined(document):
        newer = workload()
        newer["metadata"]["resourceVersion"] = "2"
        desk.shop.known.note(WORKLOADS, json.dumps(newer).encode())
        return [ApplyStatus(resource=WORKLOADS, key=KEY, fields={"nominatedClusterNames": ["a"]})]

    await desk.write(ADMIT, joined=joined)
    (body,) = desk.bodies
    assert "nominatedClusterNames" not in body["status"]
    assert body["metadata"]["resourceVersion"] == "2"


async def test_a_slice_goes_where_the_one_it_replaces_runs():
    old, key = workload("old", clusterName="w1"), Key("ns", "old")
    desk = Desk(documents=[workload(), old])
    await desk.write(replace(ADMIT, replaces=key, replaced_message="grown"))
    assert desk.bodies[0]["status"]["clusterName"] == "w1"
