"""What the hub decided is written only where the manager's object still is what the decision saw."""

import pytest

from hub.controllers.hub_applier import HubApplier
from hub.metrics import HubMetrics
from tests.unit.hub.groups import KEY
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.controllers.applier import Applier
from worker_agent.engine.intents import ApplyStatus, DeleteObject
from worker_agent.kube.errors import Conflict


class Manager(Applier):
    """Notes what it is told to write; ``version`` is that of the only Workload."""

    def __init__(self):
        self.version = "1"
        self.written = []

    def versions(self, intents):
        return {(i.resource, i.key): self.version for i in intents if isinstance(i, ApplyStatus) and i.strict}

    async def apply(self, intents):
        self.written += intents


class Worker:
    """While it carries out what it is told, ``meanwhile`` happens on the manager."""

    def __init__(self, meanwhile):
        self.applier = self
        self._meanwhile = meanwhile

    async def apply(self, intents):
        self._meanwhile()


READY = ApplyStatus(resource=WORKLOADS, key=KEY, fields={"clusterName": "w1"})
REMOVAL = DeleteObject(resource=WORKLOADS, key=KEY, cluster="w2")


async def carry_out(intents, meanwhile):
    manager = Manager()
    applier = HubApplier(manager, lambda name: Worker(lambda: meanwhile(manager)), "multikueue", HubMetrics())
    await applier.apply(intents)
    return manager.written


async def test_a_decision_stands_while_nothing_changes():
    assert await carry_out([REMOVAL, READY], lambda manager: None) == [READY]


async def test_a_decision_is_void_when_the_workload_changed_while_a_worker_was_waited_for():
    with pytest.raises(Conflict, match="changed since this was decided"):
        await carry_out([REMOVAL, READY], lambda manager: setattr(manager, "version", "2"))
