"""Dispatch policies, one file each: how a cluster is chosen among those that were evaluated."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hub.engine.evaluation import Evaluation
from hub.engine.policies import cheapest, fastest, pack, spread

Score = Callable[[Evaluation], tuple[int, ...]]
"""Orders clusters that stand equally well with a workload; smaller is better."""

STRATEGIES: Final[dict[str, Score]] = {
    "Fastest": fastest.score,
    "Spread": spread.score,
    "Pack": pack.score,
    "Cheapest": cheapest.score,
}


def ranked(
    evaluations: Sequence[Evaluation], score: Score, preference: Mapping[str, int] | None = None
) -> list[Evaluation]:
    """Best first: fits before fits after the cheapest preemption before the shortest wait, what is there before what
    has to be provisioned, then ``preference``, then ``score``. Clusters that are equal in all of it keep their order.
    """
    near = preference or {}
    return sorted(evaluations, key=lambda found: (*_standing(found), near.get(found.cluster, 0), *score(found)))


def _standing(evaluation: Evaluation) -> tuple[int, int, int, int, bool]:
    load = evaluation.load if not evaluation.fits else 0
    return evaluation.outlook, evaluation.lost_pod_seconds, evaluation.wait, load, evaluation.provisions
