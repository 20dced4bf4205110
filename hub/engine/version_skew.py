"""How far the versions of a hub and its agents may be apart (README, "Upgrading").

Inside the window all works; where engines decide differently, verdicts are advisory (``WorkerView.exact``). Outside of
it the agent's report is not relied upon: the cluster is chosen as Kueue chooses, and says so.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from worker_agent.api import program_version

OLDER_MINORS: Final = 2
"""An agent may be so many minor versions older than its hub: hubs are upgraded first."""
NEWER_MINORS: Final = 1
"""Or so many newer: while a federation is upgraded the other way round, or rolled back."""


class Skew(StrEnum):
    """Reasons of the condition on a MultiKueueCluster."""

    WITHIN = "WithinWindow"
    TOO_OLD = "AgentTooOld"
    TOO_NEW = "AgentTooNew"
    UNREADABLE = "AgentVersionUnreadable"


@dataclass(frozen=True, slots=True)
class Judgement:
    skew: Skew
    message: str

    @property
    def supported(self) -> bool:
        return self.skew is Skew.WITHIN


def judge(agent: str, hub: str = program_version.VERSION) -> Judgement:
    """``agent`` as its ClusterCapacity tells it; empty is an agent from before versions were told."""
    if not agent:
        return Judgement(Skew.WITHIN, f"The agent tells no version; the hub is {hub}")
    theirs, ours = program_version.parse(agent), program_version.parse(hub)
    if theirs is None or ours is None:
        return Judgement(
            Skew.UNREADABLE,
            f"The agent's version {agent!r} cannot be compared with that of the hub, {hub}. {_FALLBACK}",
        )
    if theirs[0] != ours[0]:
        older = theirs[0] < ours[0]
    elif -OLDER_MINORS <= theirs[1] - ours[1] <= NEWER_MINORS:
        return Judgement(Skew.WITHIN, f"Agent {agent} and hub {hub} work together")
    else:
        older = theirs[1] < ours[1]
    skew = Skew.TOO_OLD if older else Skew.TOO_NEW
    upgrade = "upgrade the agent" if older else "upgrade the hub"
    message = f"Agent {agent} is too {'old' if older else 'new'} for hub {hub}, which works with {_window(ours)}"
    return Judgement(skew, f"{message}: {upgrade}. {_FALLBACK}")


_FALLBACK: Final = "Until then the hub does not rely on its report: workloads are sent there as Kueue sends them"


def _window(hub: tuple[int, int]) -> str:
    major, minor = hub
    return f"agents {major}.{max(0, minor - OLDER_MINORS)} to {major}.{minor + NEWER_MINORS}"
