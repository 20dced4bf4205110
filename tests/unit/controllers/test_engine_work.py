"""The engine's own loop: messages, cycles, pauses, wake-ups (spec/engine 1.2, 5.9)."""

import asyncio
import threading
from collections import deque
from datetime import timedelta

import msgspec
import pytest

from tests import builders
from worker_agent.api import resource_type as kinds
from worker_agent.api import timestamps
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key, Namespace
from worker_agent.api.pod import Pod
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.workload import Workload
from worker_agent.controllers.engine_messages import Ask, Forget, Put, Remove, is_urgent
from worker_agent.controllers.engine_thread import EngineTask, EngineThread
from worker_agent.controllers.engine_work import EngineWork, Pacing
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.state import ClusterState
from worker_agent.kube.clock import SystemClock

TYPES = {
    "Namespace": (kinds.NAMESPACES, Namespace),
    "ResourceFlavor": (kinds.RESOURCE_FLAVORS, ResourceFlavor),
    "ClusterQueue": (kinds.CLUSTER_QUEUES, ClusterQueue),
    "LocalQueue": (kinds.LOCAL_QUEUES, LocalQueue),
    "Workload": (kinds.WORKLOADS, Workload),
}


def put(document):
    resource, type_ = TYPES[document["kind"]]
    return Put(resource, msgspec.json.decode(msgspec.json.encode(document), type=type_))


class HandClock:
    """Stands still until it is moved."""

    def __init__(self):
        self.seconds = 0.0

    def now(self):
        return timestamps.parse("2026-01-01T12:00:00Z") + timedelta(seconds=self.seconds)

    def monotonic(self):
        return self.seconds

    async def sleep(self, seconds):
        self.seconds += seconds

    def random(self):
        return 0.0


class Loop:
    """An EngineWork with its inbox; ``steps`` is every step of every plan so far."""

    def __init__(self, *documents, **pacing):
        self.clock = HandClock()
        self.inbox = deque()
        self.steps = []
        self.views = []
        self.work = EngineWork(
            ClusterState(DEFAULT),
            DEFAULT,
            self.clock,
            pacing=Pacing(**pacing),
            on_plan=lambda plan, seconds: self.steps.extend(plan),
            on_view=self.views.append,
        )
        self.tell(*documents)

    def tell(self, *documents):
        self.inbox.extend(put(document) for document in documents)

    def step(self):
        return self.work.step(self.inbox)

    def until_quiet(self):
        """Steps until only a message could change anything."""
        for _ in range(100):
            wait = self.step()
            if wait is None:
                return
            self.clock.seconds += wait
        raise AssertionError("the engine does not come to rest")


def decided(loop):
    return [(type(step).__name__, step.key.name) for step in loop.steps]


def test_workload_that_fits_is_admitted_in_the_first_step():
    loop = Loop(*builders.single_queue(), builders.workload("a"))
    assert loop.step() == 0.0
    assert decided(loop) == [("Admit", "a")]
    assert loop.views[-1].cluster_queues["q"].holdings.reserving == 1


def test_parked_workload_costs_no_cycles():
    loop = Loop(*builders.single_queue(cpu=1), builders.workload("a", cpu=1), builders.workload("b", cpu=1))
    loop.until_quiet()
    cycles = loop.work.cycles
    assert decided(loop)[:2] == [("Admit", "a"), ("Requeue", "b")]
    assert loop.step() is None
    assert loop.work.cycles == cycles


def test_strict_head_that_cannot_move_does_not_spin():
    loop = Loop(*builders.single_queue(cpu=1, strict=True), builders.workload("big", cpu=5))
    loop.until_quiet()
    assert loop.work.cycles < 12
    assert loop.clock.seconds < 1


def test_questions_do_not_make_a_blocked_head_be_tried_again():
    """Whoever asks at every new view would otherwise keep the engine busy for ever."""
    loop = Loop(*builders.single_queue(cpu=1, strict=True), builders.workload("big", cpu=5))
    loop.until_quiet()
    cycles, views = loop.work.cycles, len(loop.views)
    for _ in range(5):
        loop.inbox.append(Ask(lambda state, policy, now: None, lambda result, error: None))
        assert loop.step() is None
    assert (loop.work.cycles, len(loop.views)) == (cycles, views)


def test_pauses_grow_from_one_to_ten_milliseconds():
    loop = Loop(*builders.single_queue(cpu=1, strict=True), builders.workload("big", cpu=5))
    waits = []
    loop.until_quiet()
    loop.tell(builders.workload("other", cpu=7))
    while (wait := loop.step()) is not None:
        waits.append(round(wait, 3))
        loop.clock.seconds += wait
    assert waits[:5] == [0.001, 0.002, 0.004, 0.008, 0.01]


def test_freed_quota_wakes_what_is_parked():
    loop = Loop(*builders.single_queue(cpu=1), builders.workload("a", cpu=1), builders.workload("b", cpu=1))
    loop.until_quiet()
    loop.inbox.append(Remove(kinds.WORKLOADS, Key("ns", "a")))
    loop.until_quiet()
    assert decided(loop)[-1] == ("Admit", "b")


def test_wake_ups_are_gathered_for_a_while():
    loop = Loop(*builders.single_queue(cpu=1), shortest_batch=0.5)
    loop.until_quiet()
    loop.tell(builders.workload("a", cpu=1), builders.workload("b", cpu=1))
    loop.until_quiet()
    loop.inbox.append(Remove(kinds.WORKLOADS, Key("ns", "a")))
    wait = loop.step()
    assert wait == pytest.approx(0.5)
    assert decided(loop)[-1] == ("Requeue", "b")


def test_refused_admission_is_tried_again():
    loop = Loop(*builders.single_queue(), builders.workload("a"))
    loop.until_quiet()
    loop.inbox.append(Forget(Key("ns", "a")))
    loop.until_quiet()
    assert decided(loop) == [("Admit", "a"), ("Admit", "a")]


def test_old_news_does_not_take_an_admission_back():
    loop = Loop(*builders.single_queue(cpu=1), builders.workload("a", cpu=1))
    loop.until_quiet()
    loop.tell(builders.workload("a", cpu=1, metadata={"labels": {"x": "y"}}), builders.workload("b", cpu=1))
    loop.until_quiet()
    assert decided(loop) == [("Admit", "a"), ("Requeue", "b")]


def test_object_that_cannot_be_read_stops_nobody(caplog):
    broken = builders.cluster_queue("broken")
    broken["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "many"
    loop = Loop(broken, *builders.single_queue(), builders.workload("a"))
    loop.until_quiet()
    assert decided(loop) == [("Admit", "a")]
    assert "ClusterQueue /broken could not be taken in" in caplog.text


def test_question_is_answered_between_cycles():
    loop = Loop(*builders.single_queue(), builders.workload("a"))
    answers = []
    loop.inbox.append(Ask(lambda state, policy, now: sorted(state.cluster_queues), lambda *told: answers.append(told)))
    loop.inbox.append(Ask(lambda state, policy, now: 1 / 0, lambda *told: answers.append(told)))
    loop.step()
    assert answers[0] == (["q"], None)
    assert isinstance(answers[1][1], ZeroDivisionError)


@pytest.mark.parametrize("engine_type", [EngineTask, EngineThread], ids=["task", "thread"])
async def test_both_engines_admit_answer_and_stop(engine_type):
    steps = []
    settled = asyncio.Event()

    def planned(plan, seconds):
        steps.extend(plan)
        if len(steps) == 2:
            settled.set()

    engine = engine_type(ClusterState(DEFAULT), DEFAULT, SystemClock(), on_plan=planned)
    for document in (*builders.single_queue(), builders.workload("a"), builders.workload("b", cpu=9)):
        engine.post(put(document))
    running = asyncio.create_task(engine.run())
    assert await engine.ask(lambda state, policy, now: sorted(state.cluster_queues)) == ["q"]
    async with asyncio.timeout(5):
        await settled.wait()
    assert engine.view.cluster_queues["q"].holdings.reserving == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert not [thread for thread in threading.enumerate() if thread.name == "engine"]


@pytest.mark.parametrize("engine_type", [EngineTask, EngineThread], ids=["task", "thread"])
async def test_a_pod_alone_reaches_the_view(engine_type):
    engine = engine_type(ClusterState(DEFAULT), DEFAULT, SystemClock(), on_plan=lambda plan, seconds: None)
    running = asyncio.create_task(engine.run())
    await engine.ask(lambda state, policy, now: None)
    told = asyncio.Event()
    engine.add_view_handler(lambda view: told.set())
    engine.post(Put(kinds.PODS, pod("Running")))
    async with asyncio.timeout(10):
        await told.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def pod(phase, **metadata):
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n", **metadata}, "status": {"phase": phase}}, Pod)


@pytest.mark.parametrize(
    ("message", "urgent"),
    [
        (Put(kinds.PODS, pod("Pending")), False),
        (Put(kinds.PODS, pod("Running")), False),
        (Put(kinds.PODS, pod("Succeeded")), True),
        (Put(kinds.PODS, pod("Running", deletionTimestamp="2026-01-01T00:00:00Z")), True),
        (Remove(kinds.PODS, Key("n", "p")), True),
        (put(builders.workload("a")), True),
        (put(builders.admitted("a")), False),
        (put(builders.admitted("a", admitted=False)), False),
        (Remove(kinds.WORKLOADS, Key("n", "a")), True),
    ],
    ids=["comes", "runs", "ended", "is deleted", "gone", "workload", "admitted", "reserved", "workload gone"],
)
def test_what_the_engine_is_woken_for_at_once(message, urgent):
    assert is_urgent(message) == urgent


@pytest.mark.parametrize("condition", ["Finished", "Evicted", "PodsReady", "DeactivationTarget"])
def test_a_workload_that_may_let_others_in_is_told_at_once(condition):
    document = builders.admitted("a")
    document["status"]["conditions"].append({**document["status"]["conditions"][0], "type": condition})
    assert is_urgent(put(document))


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("spec", {"active": False}),
        ("status", {"reclaimablePods": [{"name": "main", "count": 1}]}),
        ("status", {"unhealthyNodes": [{"name": "node-1"}]}),
    ],
    ids=["deactivated", "pods done", "node lost"],
)
def test_a_workload_that_gives_back_is_told_at_once(part, change):
    document = builders.admitted("a")
    document[part] |= change
    assert is_urgent(put(document))


def test_a_workload_that_shrank_is_told_at_once():
    document = builders.admitted("a", count=3)
    document["spec"]["podSets"][0]["count"] = 2
    assert is_urgent(put(document))


async def test_question_that_fails_fails_for_the_asker_only():
    engine = EngineThread(ClusterState(DEFAULT), DEFAULT, SystemClock(), on_plan=lambda plan, seconds: None)
    running = asyncio.create_task(engine.run())
    with pytest.raises(ZeroDivisionError):
        await engine.ask(lambda state, policy, now: 1 / 0)
    assert await engine.ask(lambda state, policy, now: "well") == "well"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_question_at_rest_publishes_no_view():
    views = []
    work = EngineWork(ClusterState(DEFAULT), DEFAULT, SystemClock(), on_view=views.append)
    work.step(deque())
    assert len(views) == 1
    work.step(deque([Ask(lambda state, policy, now: None, lambda result, error: None)]))
    assert len(views) == 1
