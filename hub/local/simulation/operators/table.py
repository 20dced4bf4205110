"""All simulated operators."""

from typing import Final

from hub.local.simulation.operators import (
    app_wrapper,
    cron_job,
    job_set,
    leader_worker_set,
    mini_cluster,
    ray,
    spark,
    train_job,
    training,
    workloads,
)
from hub.local.simulation.operators.plan import Kind
from hub.local.simulation.operators.train_job import Runtime
from worker_agent.jobs import KINDS

BUILT_IN: Final = (*workloads.OPERATORS, *cron_job.OPERATORS)
"""Kinds of Kubernetes itself: a real control plane runs them."""


def of_other_projects(runtime: Runtime) -> tuple[Kind, ...]:
    """Kinds that an operator has to be installed for."""
    return (
        job_set.OPERATOR,
        *training.operators(list(KINDS.values())),
        train_job.operator(runtime),
        *ray.OPERATORS,
        spark.OPERATOR,
        app_wrapper.OPERATOR,
        leader_worker_set.OPERATOR,
        mini_cluster.OPERATOR,
    )
