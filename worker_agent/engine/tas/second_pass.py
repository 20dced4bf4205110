"""SecondPass: workloads that hold quota and still need a place, or a new one, for some of their pods (spec/tas 14).

They are offered to the cycle beside the heads of the queues: a second after the need is seen, later and later while no
place is found.
"""

from collections.abc import Callable

from worker_agent.api import names
from worker_agent.api.meta import Key
from worker_agent.engine import conditions
from worker_agent.engine.conditions import Phase
from worker_agent.engine.tas import workload_facts
from worker_agent.engine.tas.pod_set_asks import PENDING
from worker_agent.engine.workload_info import WorkloadRow

LONGEST_SECONDS = 30


def needs_place(row: WorkloadRow) -> bool:
    """Whether the workload needs another look although it holds quota."""
    if row.phase not in (Phase.RESERVED, Phase.ADMITTED) or row.evicted or row.workload.is_true(names.FINISHED):
        return False
    if row.phase is Phase.ADMITTED:
        node = workload_facts.unhealthy_node(row.workload)
        failed = {entry.name for entry in row.workload.status.unhealthy_nodes or ()}
        return bool(node) and any(
            pod_set.topology is not None and any(pod_set.topology.touches(name) for name in failed)
            for pod_set in row.pod_sets
        )
    if not row.workload.status.admission_checks or not conditions.checks_ready(row.workload):
        return False
    return any(pod_set.delayed == PENDING and pod_set.topology is None for pod_set in row.pod_sets)


def delay(attempt: int) -> int:
    """Microseconds before the n-th attempt (from 1): 1 s, 2, 4 ... 30."""
    return min(1 << min(attempt - 1, 5), LONGEST_SECONDS) * 1_000_000


class SecondPass:
    """Instants are int microseconds."""

    __slots__ = ("_attempts", "_due")

    def __init__(self) -> None:
        self._due: dict[Key, int] = {}
        self._attempts: dict[Key, int] = {}
        """How often each was offered since it needed a place."""

    def observe(self, row: WorkloadRow, now: int) -> None:
        """The workload as it stands now."""
        if not needs_place(row):
            self.drop(row.key)
        elif row.key not in self._due:
            self._wait(row.key, now)

    def drop(self, key: Key) -> None:
        self._due.pop(key, None)
        self._attempts.pop(key, None)

    def failed(self, key: Key, now: int) -> None:
        """No place this time; it waits longer."""
        if key not in self._due:
            self._wait(key, now)

    def _wait(self, key: Key, now: int) -> None:
        self._due[key] = now + delay(self._attempts.get(key, 0) + 1)

    def take(self, now: int, row_of: Callable[[Key], WorkloadRow | None]) -> list[WorkloadRow]:
        """Those whose time has come and who still need it; they are out until ``failed`` or seen again."""
        ready = [key for key, due in self._due.items() if due <= now]
        found = []
        for key in ready:
            del self._due[key]
            row = row_of(key)
            if row is None or not needs_place(row):
                self.drop(key)
                continue
            self._attempts[key] = self._attempts.get(key, 0) + 1
            found.append(row)
        return found

    def wait(self, now: int) -> float | None:
        """Seconds until the next one's time comes; None when none waits."""
        due = min(self._due.values(), default=None)
        return None if due is None else max(0.0, (due - now) / 1e6)
