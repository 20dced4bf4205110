"""What a request to the visibility API asks for. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

GROUP: Final = "visibility.kueue.x-k8s.io"
VERSIONS: Final = ("v1beta1", "v1beta2")
SUBRESOURCE: Final = "pendingworkloads"

DEFAULT_LIMIT: Final = 1000
LARGEST_LIMIT: Final = 100_000
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")
"""As the API's own clients write numbers, within 64 bits; Python reads many more forms."""


class UnknownPath(ValueError):
    """Nothing is served there."""


class WrongQuery(ValueError):
    """A parameter cannot be read; the text names it and says what is allowed."""


@dataclass(frozen=True, slots=True)
class Page:
    """``limit`` items from number ``offset`` on."""

    limit: int = DEFAULT_LIMIT
    offset: int = 0

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "Page":
        """Numbers out of range are taken to its ends (spec/operations 6). Raises WrongQuery."""
        limit, offset = _number(query, "limit", DEFAULT_LIMIT), _number(query, "offset", 0)
        return cls(min(max(0, limit), LARGEST_LIMIT), max(0, offset))


@dataclass(frozen=True, slots=True)
class QueueQuestion:
    """The workloads that wait in a LocalQueue, or, without a namespace, in a ClusterQueue."""

    version: str
    name: str
    namespace: str = ""

    @property
    def plural(self) -> str:
        return "localqueues" if self.namespace else "clusterqueues"


@dataclass(frozen=True, slots=True)
class DiscoveryQuestion:
    """What is served: of one version, of the group (``version`` empty), or the groups (``group`` False)."""

    version: str = ""
    group: bool = True


def read(path: str) -> QueueQuestion | DiscoveryQuestion:
    """What a path stands for. Raises UnknownPath."""
    match [part for part in path.split("/") if part]:
        case ["apis"]:
            return DiscoveryQuestion(group=False)
        case ["apis", str(group)] if group == GROUP:
            return DiscoveryQuestion()
        case ["apis", str(group), str(version)] if group == GROUP and version in VERSIONS:
            return DiscoveryQuestion(version)
        case ["apis", str(group), str(version), *rest] if group == GROUP and version in VERSIONS:
            return _queue(version, rest)
    raise UnknownPath(path)


def _queue(version: str, parts: list[str]) -> QueueQuestion:
    match parts:
        case ["clusterqueues", str(name), subresource] if subresource == SUBRESOURCE:
            return QueueQuestion(version, name)
        case ["namespaces", str(namespace), "localqueues", str(name), subresource] if subresource == SUBRESOURCE:
            return QueueQuestion(version, name, namespace)
    raise UnknownPath("/".join(parts))


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    if not _WHOLE.fullmatch(text):
        raise WrongQuery(f"query parameter {name}: {text[:64]!r}: must be a whole number")
    return int(text)
