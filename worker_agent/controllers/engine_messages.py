"""What the rest of the program says to the engine. Small values, so that the engine could stand in another process."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from worker_agent.api.meta import Key
from worker_agent.api.pod import Pod
from worker_agent.api.resource_type import PODS, ResourceType


@dataclass(frozen=True, slots=True)
class Put:
    """An object was made or changed; ``object`` is its typed view."""

    resource: ResourceType
    object: Any


@dataclass(frozen=True, slots=True)
class Remove:
    """An object is gone."""

    resource: ResourceType
    key: Key


@dataclass(frozen=True, slots=True)
class Forget:
    """An admission that the cycle counted as given could not be written."""

    key: Key


@dataclass(frozen=True, slots=True)
class Ask:
    """A question answered between two cycles. ``question(state, policy, now)``; ``answer(result, error)`` is called in
    the engine's thread with one of the two being None."""

    question: Callable[[Any, Any, datetime], Any]
    answer: Callable[[Any, BaseException | None], None]


@dataclass(frozen=True, slots=True)
class Lead:
    """Run cycles from now on, or (False) only keep the state and the view up to date, as a follower does."""

    leading: bool


Message = Put | Remove | Forget | Ask | Lead

_ENDED: Final = ("Succeeded", "Failed")


def is_urgent(message: Message) -> bool:
    """Whether somebody waits for it, or may get in by it: a pod that comes or goes on only takes room."""
    if not isinstance(message, Put) or message.resource is not PODS:
        return True
    pod: Pod = message.object
    return pod.status.phase in _ENDED or pod.metadata.deletion_timestamp is not None
