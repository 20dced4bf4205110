"""When the status of a queue is told at once."""

from datetime import UTC, datetime

import pytest

from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.meta import Key, ObjectMeta
from worker_agent.controllers.queue_controllers import is_echo
from worker_agent.kube.informer import Event, EventType

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def changed(**metadata) -> Event[ClusterQueue]:
    before = ClusterQueue(metadata=ObjectMeta(name="q", uid="u", generation=1, resource_version="1"))
    after = ClusterQueue(
        metadata=ObjectMeta(**{"name": "q", "uid": "u", "generation": 1, "resource_version": "2"} | metadata)
    )
    return Event(EventType.MODIFIED, Key("", "q"), before, after)


def test_the_echo_of_a_status_is_no_news():
    assert is_echo(changed())


@pytest.mark.parametrize(
    "metadata",
    [{"generation": 2}, {"uid": "other"}, {"deletion_timestamp": NOW}, {"finalizers": ["kueue.x-k8s.io/x"]}],
    ids=["spec", "made anew", "deleted", "finalizers"],
)
def test_what_else_changes_is_told_at_once(metadata):
    assert not is_echo(changed(**metadata))


def test_a_new_queue_is_told_at_once():
    made = ClusterQueue(metadata=ObjectMeta(name="q"))
    assert not is_echo(Event(EventType.ADDED, Key("", "q"), None, made))
