"""Dispatch policies, one file each: how a cluster is chosen among those that were evaluated."""

from collections.abc import Callable, Sequence
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


def ranked(evaluations: Sequence[Evaluation], score: Score) -> list[Evaluation]:
    """Best first: fits before fits after the cheapest preemption before the shortest wait, then by ``score``.

    Clusters that are equal in all of it keep their order. The price counts before the outlook only for ``Cheapest``,
    and only among clusters where the workload would start at once.
    """
    return sorted(evaluations, key=lambda evaluation: (*_standing(evaluation), *score(evaluation)))


def _standing(evaluation: Evaluation) -> tuple[int, int, int]:
    waits = evaluation.load if not evaluation.fits else 0
    return evaluation.outlook, evaluation.lost_pod_seconds, waits
