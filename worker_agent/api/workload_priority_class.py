"""WorkloadPriorityClass: a priority for queueing that the pods do not share (cluster-scoped)."""

from worker_agent.api.meta import Object


class WorkloadPriorityClass(Object):
    value: int = 0
    description: str = ""
