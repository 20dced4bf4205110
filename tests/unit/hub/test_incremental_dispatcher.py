"""Kueue's incremental dispatcher: its first round goes along with the admission, and counts once that shows."""

import asyncio
from types import SimpleNamespace

import pytest

from hub.controllers.incremental_dispatcher import IncrementalDispatcher
from hub.engine import incremental
from tests.unit.hub.groups import POLICY, QUOTA, workload
from tests.unit.kube.fake_server import clock
from worker_agent.api.admission_check import AdmissionCheck, AdmissionCheckParameters, AdmissionCheckSpec
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueConfig, MultiKueueConfigSpec

pytestmark = pytest.mark.looptime
CLUSTERS = ["w1", "w2", "w3", "w4"]
CHECKS = [{"name": "mk", "state": "Pending", "message": ""}]
ROUND = incremental.ROUND_TIMEOUT.total_seconds()


class Manager:
    """Objects of which only this much is read; writes are noted."""

    def __init__(self):
        self.workloads = self
        self.stored = None
        self.written = []

    def add_handler(self, handler):
        self.tell = handler

    def workload(self, key):
        return self.stored

    def admission_check(self, name):
        reference = AdmissionCheckParameters(api_group="kueue.x-k8s.io", kind="MultiKueueConfig", name="all")
        spec = AdmissionCheckSpec(controller_name="kueue.x-k8s.io/multikueue", parameters=reference)
        return AdmissionCheck(spec=spec)

    def config(self, name):
        return MultiKueueConfig(spec=MultiKueueConfigSpec(clusters=CLUSTERS))

    async def apply(self, intents):
        self.written += [intent.fields["nominatedClusterNames"] for intent in intents]

    def show(self, document):
        self.stored = document
        metadata = document["metadata"]
        self.tell(SimpleNamespace(key=key_of(metadata)))


def key_of(metadata):
    return Key(metadata["namespace"], metadata["name"])


def admitted(*nominated):
    return workload(QUOTA, admissionChecks=CHECKS, **({"nominatedClusterNames": list(nominated)} if nominated else {}))


async def playing(story):
    manager = Manager()
    dispatcher = IncrementalDispatcher(manager, manager, POLICY, clock())
    task = asyncio.create_task(dispatcher.run())
    await asyncio.sleep(1)
    await story(manager, dispatcher)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_round_that_goes_along_lasts_as_long_as_any():
    async def story(manager, dispatcher):
        (joined,) = await dispatcher.joined(admitted())
        assert joined.fields == {"nominatedClusterNames": ["w1", "w2", "w3"]}
        manager.show(workload())
        await asyncio.sleep(1)
        manager.show(admitted("w1", "w2", "w3"))
        await asyncio.sleep(ROUND - 10)
        assert manager.written == []
        await asyncio.sleep(20)
        assert manager.written == [CLUSTERS]

    await playing(story)


async def test_one_that_was_not_written_is_begun_as_any_other():
    async def story(manager, dispatcher):
        await dispatcher.joined(admitted())
        manager.show(admitted())
        await asyncio.sleep(1)
        assert manager.written == [["w1", "w2", "w3"]]

    await playing(story)


async def test_nothing_goes_along_where_a_round_is_under_way():
    async def story(manager, dispatcher):
        assert await dispatcher.joined(admitted("w1", "w2", "w3")) == ()
        assert await dispatcher.joined(workload()) == ()

    await playing(story)


async def test_nothing_goes_along_before_it_runs():
    manager = Manager()
    assert await IncrementalDispatcher(manager, manager, POLICY, clock()).joined(admitted()) == ()
