"""Fastest: among clusters where the workload fits, the one with the most room: less risk that somebody is quicker."""

from hub.engine.evaluation import Evaluation


def score(evaluation: Evaluation) -> tuple[int, ...]:
    return -evaluation.free, evaluation.price
