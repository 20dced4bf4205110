"""When a MultiKueueCluster is looked at again."""

from types import SimpleNamespace

import msgspec

from hub.controllers.cluster_controller import ClusterController
from tests.unit.hub.groups import condition
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.timestamps import ZERO
from worker_agent.kube.clock import LoopClock
from worker_agent.kube.informer import Event, EventType


class Source:
    """An informer that is told its events by the test."""

    def add_handler(self, handler):
        self.tell = handler


def cluster(*conditions):
    return msgspec.convert({"metadata": {"name": "w"}, "status": {"conditions": list(conditions)}}, MultiKueueCluster)


def looked_at(old, new):
    objects = SimpleNamespace(clusters=Source(), secrets=Source())
    controller = ClusterController(objects, None, None, None, None, LoopClock(ZERO)).controller
    objects.clusters.tell(Event(EventType.MODIFIED, Key("", "w"), old, new))
    return not controller.idle


def active(status):
    return condition("Active", status=status)


async def test_an_older_word_of_ours_that_comes_late_is_looked_at():
    assert looked_at(cluster(active("True")), cluster(active("False")))


async def test_what_changes_nothing_of_the_contact_is_not():
    assert not looked_at(cluster(active("True")), cluster(active("True"), condition("Other")))
