"""Modes: how well a flavor, or a whole assignment, serves a request (spec/engine 8.1 and 8.4)."""

from enum import IntEnum
from typing import Final, NamedTuple

from worker_agent.api import names
from worker_agent.api.cluster_queue import FlavorFungibility

_TRY_NEXT: Final = "TryNextFlavor"
_PREEMPTION_OVER_BORROWING: Final = "PreemptionOverBorrowing"


class Mode(IntEnum):
    """Of an assignment, a pod set or a chosen flavor; the least is the worst."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED_FIT = 2
    """Fits once victims that another workload claimed are gone."""
    FIT = 3


class PreemptionMode(IntEnum):
    """What it takes to get quota in one flavor; the least is the worst."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    """Some victim is in the workload's own ClusterQueue."""
    RECLAIM = 3
    """All victims are in other ClusterQueues."""
    FIT = 4

    @property
    def mode(self) -> Mode:
        if self is PreemptionMode.NO_FIT:
            return Mode.NO_FIT
        return Mode.FIT if self is PreemptionMode.FIT else Mode.PREEMPT


class FlavorMode(NamedTuple):
    """The mode of one flavor and how far up the cohort tree it borrows (0: not at all)."""

    preemption: PreemptionMode
    level: int


BEST: Final = FlavorMode(PreemptionMode.FIT, 0)
WORST: Final = FlavorMode(PreemptionMode.NO_FIT, 1 << 30)
_UNSURE: Final = (PreemptionMode.NO_FIT, PreemptionMode.NO_CANDIDATES)


def preferred(a: FlavorMode, b: FlavorMode, fungibility: FlavorFungibility) -> bool:
    """Whether ``a`` is strictly better than ``b``."""
    if a.preemption is PreemptionMode.NO_FIT:
        return False
    if b.preemption is PreemptionMode.NO_FIT:
        return True
    hopeless = PreemptionMode.NO_CANDIDATES
    if (a.preemption is hopeless) != (b.preemption is hopeless):
        return b.preemption is hopeless
    if fungibility.preference == _PREEMPTION_OVER_BORROWING:
        return (-a.level, a.preemption) > (-b.level, b.preemption)
    return (a.preemption, -a.level) > (b.preemption, -b.level)


def tries_next(mode: FlavorMode, fungibility: FlavorFungibility) -> bool:
    """Whether the scan goes on to the next flavor after one with this mode."""
    if mode.preemption in _UNSURE:
        return True
    if mode.preemption is not PreemptionMode.FIT and fungibility.when_can_preempt == _TRY_NEXT:
        return True
    return mode.level > 0 and fungibility.when_can_borrow == _TRY_NEXT


class NoFitReason(IntEnum):
    """Why a flavor does not fit; the greatest is the most severe (spec/engine 8.7)."""

    NONE = 0
    TOPOLOGY_PLACEMENT_FAILED = 1
    WAITING_FOR_QUOTA = 2
    EXCEEDS_MAX_QUOTA = 3
    NO_MATCHING_FLAVOR = 4

    @property
    def text(self) -> str:
        return _REASON_TEXT[self]


_REASON_TEXT: Final = {
    NoFitReason.NONE: "",
    NoFitReason.TOPOLOGY_PLACEMENT_FAILED: names.TOPOLOGY_PLACEMENT_FAILED,
    NoFitReason.WAITING_FOR_QUOTA: names.WAITING_FOR_QUOTA,
    NoFitReason.EXCEEDS_MAX_QUOTA: names.EXCEEDS_MAX_QUOTA,
    NoFitReason.NO_MATCHING_FLAVOR: names.NO_MATCHING_FLAVOR,
}
