"""Pack: where least would be left, so that whole clusters stay free for large workloads."""

from hub.engine.evaluation import Evaluation


def score(evaluation: Evaluation) -> tuple[int, ...]:
    return evaluation.free, evaluation.price
