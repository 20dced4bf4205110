"""What a part of the program asks of the API server, said where the asking is done. Pure.

A module that asks has a tuple ``NEEDS`` beside its code; the roles of both programs are made of all of them, and of
nothing else (``hub.app.roles``). The tests on real clusters run with these roles alone: what is missing is refused
there, and what nobody asks for is found there too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from worker_agent.api.resource_type import ResourceType

FOLLOW: Final = frozenset({"list", "watch"})
"""What an informer asks."""


PROGRAM: Final = "<program>"
"""In a need's ``names``: the program's own name, with which the names of its objects begin."""

NOT_ENABLED: Final = "granted for every kind that is served: which ones are enabled, and installed, is known only later"
LOST_RACE: Final = "asked for where somebody else changed or deleted the object at the same moment"


class Place(StrEnum):
    """How far a right reaches."""

    CLUSTER = "cluster"
    OWN_NAMESPACE = "own namespace"
    """The namespace in which the program runs, and no other."""
    FRONT_PROXY = "front proxy"
    """The one ConfigMap of ``kube-system`` that Kubernetes' own role ``extension-apiserver-authentication-reader``
    opens: bound, not written anew."""


@dataclass(frozen=True, slots=True)
class Need:
    """``resource`` is a plural, or one with its subresource (``workloads/status``). ``names`` are the only objects that
    are meant; empty is all of them. ``unseen`` says why no test on a real cluster ever asks for this.

    ``outside``: asked for only by a program that runs outside of its cluster, and puts up there what else the
    installation brings.
    """

    group: str
    resource: str
    verbs: frozenset[str]
    place: Place = Place.CLUSTER
    names: tuple[str, ...] = ()
    unseen: str = ""
    outside: bool = False


def of(
    resource: ResourceType,
    *verbs: str,
    subresource: str = "",
    place: Place = Place.CLUSTER,
    names: tuple[str, ...] = (),
    **more: object,
) -> Need:
    """``verbs`` as roles name them: a server-side apply is ``patch``, and ``create`` too where it may make the object.

    ``more``: ``unseen`` and ``outside`` of the need.
    """
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    unseen, outside = str(more.get("unseen", "")), bool(more.get("outside", False))
    return Need(resource.group, plural, frozenset(verbs), place, names, unseen, outside)


def of_kind(resource: ResourceType, *verbs: str, subresource: str = "", by_default: bool = False) -> Need:
    """Of a kind of jobs; ``by_default``: one that is enabled without a word, and that every cluster has."""
    return of(resource, *verbs, subresource=subresource, unseen="" if by_default else NOT_ENABLED)


def followed(resources: Iterable[ResourceType], place: Place = Place.CLUSTER, unseen: str = "") -> tuple[Need, ...]:
    """Informers of these kinds."""
    return tuple(Need(each.group, each.plural, FOLLOW, place, unseen=unseen) for each in resources)
