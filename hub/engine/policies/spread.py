"""Spread: where least is in use, so that the load is even."""

from hub.engine.evaluation import Evaluation


def score(evaluation: Evaluation) -> tuple[int, ...]:
    return evaluation.load, -evaluation.free
