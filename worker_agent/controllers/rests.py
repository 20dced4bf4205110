"""What looks came to rest on, for a short time: soon after comes what they wrote, and then seldom anything."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from worker_agent.api.meta import Key
from worker_agent.kube.clock import Clock

V = TypeVar("V")

SECONDS: Final = 5.0
"""How long a rest counts: a look whose time has come is never spared for long, whatever was overlooked."""

REMEMBERED: Final = 256
"""Keys; those that rest longest are forgotten first."""


class Rests(Generic[V]):
    """Views on which decisions found nothing to do, by key. ``is_still(rest, view)`` says whether a view is such a one
    in all that is read of it."""

    def __init__(self, clock: Clock, is_still: Callable[[V, V], bool]) -> None:
        self._clock = clock
        self._is_still = is_still
        self._rests: dict[Key, tuple[float, V]] = {}
        self.spared = 0
        """Looks that were not decided anew."""

    def note(self, key: Key, rest: V) -> None:
        """A decision on ``rest`` would find nothing to write, to tell or to wait for."""
        self._rests.pop(key, None)
        self._rests[key] = (self._clock.monotonic() + SECONDS, rest)
        if len(self._rests) > REMEMBERED:
            del self._rests[next(iter(self._rests))]

    def holds(self, key: Key, view: V) -> bool:
        """Whether it is known that there is nothing to do on ``view``."""
        until, rest = self._rests.get(key, (0.0, None))
        if rest is None:
            return False
        if self._clock.monotonic() >= until:
            del self._rests[key]
            return False
        spared = self._is_still(rest, view)
        self.spared += spared
        return spared
