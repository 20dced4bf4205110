"""The federation is put together anew only where something about its workers has changed."""

from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from hub.clusters.remote_clients import Entry, RemoteClients
from hub.controllers.federation_picture import FederationPicture
from hub.engine.contact import Contact
from worker_agent.api import names
from worker_agent.api.meta import ObjectMeta
from worker_agent.kube.clock import SystemClock


@dataclass
class Collection:
    """What the picture asks of an informer."""

    items: list[Any]
    handlers: list[Any] = field(default_factory=list)

    def add_handler(self, handler):
        self.handlers.append(handler)

    def values(self):
        return iter(self.items)

    def become(self, *items):
        self.items = list(items)
        for handler in self.handlers:
            handler(None)


@dataclass
class Link:
    term: int = 1
    has_agent: bool = True


def cluster(name, **annotations):
    return SimpleNamespace(metadata=ObjectMeta(name=name, annotations=annotations))


class Place:
    def __init__(self, *workers):
        configs = [SimpleNamespace(spec=SimpleNamespace(clusters=list(workers)))]
        self.objects = SimpleNamespace(clusters=Collection([cluster(n) for n in workers]), configs=Collection(configs))
        self.clients = RemoteClients(None, SystemClock())
        for name in workers:
            self.clients.entries[name] = Entry(Contact(None), link=Link())
        self.picture = FederationPicture(self.objects, self.clients, {}, timedelta(minutes=15))


def test_while_all_stand_it_is_made_once():
    place = Place("a", "b")
    assert place.picture.now() is place.picture.now()


def test_a_higher_term_shows():
    place = Place("a", "b")
    place.picture.now()
    place.clients.entries["b"].link.term = 2
    assert place.picture.now().terms == {"a": 1, "b": 2}


def test_an_agent_that_goes_shows():
    place = Place("a")
    place.picture.now()
    place.clients.entries["a"].link.has_agent = False
    assert place.picture.now().by_label == {"a"}


def test_a_lost_contact_shows_and_a_new_one_too():
    place = Place("a", "b")
    place.picture.now()
    entry, now = place.clients.entries["a"], place.clients.time.now()
    entry.contact = entry.contact.lost(now)
    lost = place.picture.now()
    assert (list(lost.workers), list(lost.disconnected_since)) == (["b"], ["a"])
    entry.link, entry.contact = Link(term=7), Contact(None)
    assert place.picture.now().terms == {"a": 7, "b": 1}


def test_a_cluster_declared_lost_shows():
    place = Place("a")
    place.picture.now()
    place.objects.clusters.become(cluster("a", **{names.DECLARED_LOST_ANNOTATION: "2026-01-31T12:00:00Z"}))
    assert place.picture.now().declared_lost == {"a"}


def test_a_cluster_that_only_the_configuration_names_is_looked_at_every_time():
    place = Place("a")
    place.picture.now()
    place.objects.clusters.become()
    del place.clients.entries["a"]
    first = place.picture.now()
    assert list(first.disconnected_since) == ["a"]
    place.clients.cleared.add("a")
    assert place.picture.now().disconnected_since["a"] < first.disconnected_since["a"]
