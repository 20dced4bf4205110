"""Cheapest: the lowest price of the flavors that the workload would get; a flavor without a price counts as free."""

from hub.engine.evaluation import Evaluation


def score(evaluation: Evaluation) -> tuple[int, ...]:
    return evaluation.price, -evaluation.free
