"""Choosing the cluster for one workload, with the reasons for every candidate (DESIGN section 7).

The ideal: every workload goes where it starts soonest, counting what was sent there before it. The hub looks at one
workload after the other, each on states in which the room of those before it is taken; a worker that decides otherwise
is found out by its own objects, and the workload falls back to the next cluster.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from hub.engine import policies, provisioning_race
from hub.engine.evaluation import Evaluation, Outlook
from hub.engine.remote_group import Sight
from worker_agent.api import names
from worker_agent.api.dispatch_policy import DispatchPolicySpec
from worker_agent.api.meta import Key

NOMINATED: Final = "Nominated"
NO_CLUSTER: Final = "NoCluster"
"""Every candidate is impossible."""
REFUSED: Final = "RefusedByAll"
"""Every cluster that could take it said no in its own words; one of them holds the copy until something changes."""
HELD: Final = "WaitsForRoom"
"""Quota would be there, nodes are not: kept back until room shows, or for a round."""

REFUSALS: Final = frozenset(
    {
        names.NO_MATCHING_FLAVOR,
        names.EXCEEDS_MAX_QUOTA,
        names.MISCONFIGURED,
        names.SUSPENDED,
        names.DEACTIVATED,
        names.INADMISSIBLE,
    }
)
"""Reasons by which a worker says that the copy will not be admitted as things stand."""


_WAITING: Final = (Outlook.FITS_AFTER_PREEMPTION, Outlook.WAITS, Outlook.WAITS_FOR_ROOM)


@dataclass(frozen=True, slots=True)
class Round:
    """What is remembered of a workload while it looks for a cluster.

    ``refused`` are clusters whose own decision went against it since ``started``; they are tried again in a new round.
    """

    started: datetime
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Candidates:
    """The evaluations of one workload, in configuration order, and where it is now."""

    key: Key
    evaluations: tuple[Evaluation, ...]
    current: str = ""
    nominated: Collection[str] = ()
    """All clusters it is nominated to, ``current`` among them."""
    refused: Collection[str] = ()
    held_since: datetime | None = None
    preference: Mapping[str, int] = field(default_factory=dict)
    """Clusters by how near they are (region, data); smaller is better, missing is 0."""


@dataclass(frozen=True, slots=True)
class Decision:
    """``cluster`` is empty when none is nominated. ``ranked`` keeps every candidate, best first.

    ``chosen`` are all that are nominated, ``cluster`` first: more than one where nodes have to be provisioned.
    """

    key: Key
    cluster: str
    reason: str
    ranked: tuple[Evaluation, ...] = ()
    refused: frozenset[str] = frozenset()
    chosen: tuple[Evaluation, ...] = field(default=(), compare=False)

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(evaluation.cluster for evaluation in self.chosen)

    @property
    def grounds(self) -> tuple[str, ...]:
        """What is worth a write when it differs: the reason and, where no cluster is possible, why each is not.

        Not the message: its numbers change with every event on a worker.
        """
        why = (f"{e.cluster}: {e.reason}" for e in self.ranked) if self.reason == NO_CLUSTER else ()
        return self.reason, *sorted(why)

    @property
    def message(self) -> str:
        """For people: the choice first, then every other candidate and why it came behind."""
        asked_too = self.clusters[1:]
        words = [describe(e, e.cluster in self.refused, e.cluster in asked_too) for e in self.ranked]
        if not words:
            return "no candidate clusters"
        return "; ".join(words)


def describe(evaluation: Evaluation, refused: bool = False, asked_too: bool = False) -> str:
    """``worker-1: fits``, with what the cluster said of itself."""
    told = evaluation.message or Outlook(evaluation.outlook).name.lower().replace("_", " ")
    if refused:
        told = f"{told} (said no to this workload)"
    return f"{evaluation.cluster}: {told}{' (asked too, the first to have nodes wins)' if asked_too else ''}"


def decide(candidates: Candidates, policy: DispatchPolicySpec, now: datetime, patience: timedelta) -> Decision:
    """The best cluster, or why there is none.

    A workload that waits in one cluster moves only to one where it starts at once. Where nodes are full everywhere it
    is held back for ``patience``: a full queue elsewhere is worth more than a reservation without nodes. Where the
    quota may come in a flavor that no pod of it fits into, it is held back until the flavor is known: no later event
    would take such a reservation back.
    """
    ranked = policies.ranked(candidates.evaluations, policies.STRATEGIES[policy.strategy], candidates.preference)
    order = tuple(ranked)
    refused = frozenset(candidates.refused)
    usable = [e for e in ranked if e.outlook != Outlook.IMPOSSIBLE and e.cluster not in refused]
    all_refuse = not usable
    if all_refuse and refused:
        # All that could take it said no: ask them again rather than nobody.
        usable = [e for e in ranked if e.outlook != Outlook.IMPOSSIBLE]
    if not usable:
        return Decision(candidates.key, "", NO_CLUSTER, order, refused)
    best = usable[0]
    here = next((e for e in usable if e.cluster == candidates.current), None)
    if here is not None and not _worth_moving(here, best, policy.moving_weight):
        best = here
    if here is None and _held_back(best, candidates.held_since or now, now, patience):
        return Decision(candidates.key, "", HELD, order, refused)
    chosen = provisioning_race.contenders(best, usable, candidates.nominated, policy.provisioning_clusters)
    chosen_first = (*chosen, *(e for e in order if e not in chosen))
    return Decision(candidates.key, best.cluster, REFUSED if all_refuse else NOMINATED, chosen_first, refused, chosen)


def _held_back(best: Evaluation, since: datetime, now: datetime, patience: timedelta) -> bool:
    if best.outlook == Outlook.MAY_NEVER_START:
        return True
    return best.outlook == Outlook.WAITS_FOR_ROOM and now - since < patience


def _worth_moving(here: Evaluation, there: Evaluation, weight: int) -> bool:
    """Whether a workload that waits ``here`` starts at once there, and so many percent less is asked of that queue.

    A copy that cannot start where it is at all is moved whatever the weight.
    """
    if not there.fits or there.outlook >= here.outlook:
        return False
    waits = here.outlook in _WAITING
    return not waits or weight == 0 or there.load * (100 + weight) <= here.load * 100


def may_be_dispatched(local: Sight, check: str) -> bool:
    """Whether a workload waits for a cluster: quota held, this check Pending, all others Ready, no cluster yet."""
    view = local.view
    if not local.is_true(names.QUOTA_RESERVED) or view.status.cluster_name:
        return False
    if any(local.is_true(condition) for condition in (names.FINISHED, names.EVICTED)):
        return False
    if view.metadata.deletion_timestamp is not None or view.spec.active is False:
        return False
    for state in view.status.admission_checks or ():
        wanted = names.CHECK_PENDING if state.name == check else names.CHECK_READY
        if state.state != wanted:
            return False
    return True


def refusal(copy: Sight | None) -> str:
    """Why the worker will not admit its copy as things stand; empty while it may."""
    if copy is None:
        return ""
    if copy.view.spec.active is False:
        return names.DEACTIVATED
    reserved = copy.condition(names.QUOTA_RESERVED)
    if reserved is not None and reserved.is_false and reserved.reason in REFUSALS:
        return reserved.reason
    return ""


def priority_order(workloads: Sequence[Sight]) -> list[Sight]:
    """The order in which workloads choose: by priority, by when they got their quota, by creation and name."""
    return sorted(workloads, key=_rank)


def _rank(sight: Sight) -> tuple[int, float, float, Key]:
    since = sight.since(names.QUOTA_RESERVED)
    created = sight.view.metadata.creation_timestamp
    return -(sight.view.spec.priority or 0), _seconds(since), _seconds(created), sight.key


def _seconds(instant: datetime | None) -> float:
    return instant.timestamp() if instant is not None else 0.0
