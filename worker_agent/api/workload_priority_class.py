"""WorkloadPriorityClass: a priority for queueing that the pods do not share (cluster-scoped)."""

from typing import Annotated, ClassVar

from worker_agent.api.meta import Object
from worker_agent.api.resource_type import WORKLOAD_PRIORITY_CLASSES
from worker_agent.api.schema import Column, Crd, Field, Int32


class WorkloadPriorityClass(Object):
    """A priority for queueing and preemption that leaves the priority of pods alone."""

    crd: ClassVar[Crd | None] = Crd(
        WORKLOAD_PRIORITY_CLASSES,
        short_names=("wpc",),
        columns=(Column("Value", "integer", ".value", "The priority"),),
    )

    value: Annotated[
        Int32, Field("The priority; higher goes first. A change reaches every workload of the class.", required=True)
    ] = 0
    description: Annotated[str, Field("What the class is for.", max_length=2048)] = ""
