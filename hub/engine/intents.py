"""What the hub's decisions want beside plain writes: errors gathered over clusters, and counts.

Everything else is an intent of ``worker_agent.engine.intents``; its ``cluster`` says which API server it goes to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from worker_agent.api.meta import Key
from worker_agent.engine.intents import Intent


@dataclass(frozen=True, slots=True)
class OnCluster:
    """Steps on one cluster, in order; the first failure skips the rest. ``error`` is a failure known beforehand."""

    cluster: str
    steps: tuple["HubIntent", ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class EachCluster:
    """Every cluster is served, whatever happens to the others; the errors are joined and raised at the end."""

    clusters: tuple[OnCluster, ...]


@dataclass(frozen=True, slots=True)
class CountDispatched:
    """A copy was created on ``cluster``."""

    cluster_queue: str
    cluster: str


@dataclass(frozen=True, slots=True)
class CountAdmitted:
    """The copy on ``cluster`` won."""

    cluster_queue: str
    cluster: str


@dataclass(frozen=True, slots=True)
class Revisit:
    """Look at another Workload soon: a sibling that waits for this one."""

    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class ForgetDeleted:
    """Everything of a deleted Workload is cleaned up: its last known object need not be kept."""


HubIntent = Intent | EachCluster | CountDispatched | CountAdmitted | Revisit | ForgetDeleted


def flat(intents: Sequence[HubIntent]) -> list[HubIntent]:
    """All intents in order, those inside ``EachCluster`` included; for counting and for tests."""
    out: list[HubIntent] = []
    for intent in intents:
        if isinstance(intent, EachCluster):
            for cluster in intent.clusters:
                out += flat(cluster.steps)
        else:
            out.append(intent)
    return out
