"""What the lines of a log are about: one Workload, the same in the manager, the hub and the workers.

``namespace/name`` of the Workload follows a job everywhere: its copy in a worker has the same name, the job there names
it in label ``kueue.x-k8s.io/prebuilt-workload-name``, and its pods in annotation ``kueue.x-k8s.io/workload``. Whoever
begins a piece of work says what it is about; every line logged until the next ``about`` of that task carries it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

WORKLOAD: ContextVar[str] = ContextVar("workload", default="")
ROLE: ContextVar[Callable[[], str]] = ContextVar("role", default=lambda: "")
"""Of the replica: leader, follower or standalone."""
CLUSTER: ContextVar[str] = ContextVar("cluster", default="")
"""The worker that is written to; empty for the program's own cluster."""


def about(workload: object) -> None:
    """The task's work is about this Workload from now on; empty: about none."""
    WORKLOAD.set(str(workload))


@contextmanager
def at_cluster(name: str) -> Iterator[None]:
    """What is logged within is done at that worker."""
    token = CLUSTER.set(name)
    try:
        yield
    finally:
        CLUSTER.reset(token)
