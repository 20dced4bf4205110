"""The federation's promise as a small sequential program, held against every state that a history passes through.

It sees each committed write of every API server in the one order in which they happened, which no program under test
does, and knows what the users asked for.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at

ORIGIN = "multikueue"
MANAGER = "manager"


@dataclass
class Model:
    """``observe`` takes every write; ``violations`` says what was broken, once each, with the time."""

    quota: dict[str, int]
    """Milli-cpu by cluster."""
    running: dict[str, set[str]] = field(default_factory=dict)
    """Clusters on which a job runs, by its name."""
    ran: dict[str, set[str]] = field(default_factory=dict)
    """Clusters on which it ever ran."""
    completions: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    """Jobs that their users have deleted."""
    on_doubled: Callable[[str, Sequence[str], float], None] = field(init=False)
    """Hears of a job that seems to run on two clusters; unless it is set, that is a violation."""
    _used: dict[str, dict[str, int]] = field(default_factory=dict)
    _finished: dict[str, Document] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.on_doubled = self.found_doubled

    def next_history(self) -> "Model":
        """The model of a history that begins on the state which this one's has left."""
        return replace(self, running={}, ran={}, completions=Counter(), violations=[], deleted=set())

    def observe(self, cluster: str, kind: str, old: Document | None, new: Document | None, at: float) -> None:
        """One commit."""
        if kind == "jobs" and cluster != MANAGER:
            self._job(cluster, old, new, at)
        elif kind == "workloads":
            self._workload(cluster, old, new, at)

    def _job(self, cluster: str, old: Document | None, new: Document | None, at: float) -> None:
        document = new or old
        assert document is not None
        name = document["metadata"]["name"]
        if new is None and old is not None and origin_of(old) != ORIGIN:
            self._broken(at, f"{cluster}: job {name} deleted although it is not ours")
        holders = self.running.setdefault(name, set())
        if new is not None and origin_of(new) == ORIGIN and runs(new):
            holders.add(cluster)
            self.ran.setdefault(name, set()).add(cluster)
        else:
            holders.discard(cluster)
        if len(holders) > 1:
            self.on_doubled(name, sorted(holders), at)

    def found_doubled(self, name: str, clusters: Sequence[str], at: float) -> None:
        self._broken(at, f"job {name} runs on {' and '.join(clusters)}")

    def _workload(self, cluster: str, old: Document | None, new: Document | None, at: float) -> None:
        document = new or old
        assert document is not None
        name = document["metadata"]["name"]
        if new is None and old is not None and cluster != MANAGER and origin_of(old) != ORIGIN:
            self._broken(at, f"{cluster}: workload {name} deleted although it is not ours")
        used = self._used.setdefault(cluster, {})
        used.pop(name, None)
        if new is not None and is_true(new, names.QUOTA_RESERVED) and not is_true(new, names.FINISHED):
            used[name] = cpu_of(new)
        if sum(used.values()) > self.quota[cluster]:
            self._broken(at, f"{cluster}: {sum(used.values())} of {self.quota[cluster]} milli-cpu reserved")
        if new is not None and is_true(new, names.ADMITTED) and not is_true(new, names.QUOTA_RESERVED):
            self._broken(at, f"{cluster}: workload {name} is admitted without quota")
        if cluster == MANAGER:
            self._final(name, new, at)

    def _final(self, name: str, new: Document | None, at: float) -> None:
        if new is None:
            self._finished.pop(name, None)
            return
        if name in self._finished and not is_true(new, names.FINISHED):
            self._broken(at, f"workload {name} is not finished any more")
        if is_true(new, names.FINISHED):
            self._finished[name] = new

    def _broken(self, at: float, what: str) -> None:
        told = f"{at:.3f} {what}"
        if not any(each.endswith(what) for each in self.violations):
            self.violations.append(told)

    def rest(self, jobs: dict[str, Document | None], left: dict[str, list[str]]) -> list[str]:
        """What is wrong with the state in which everything came to rest: ``jobs`` on the manager by name, and the names
        of objects with our origin that are ``left`` on each worker."""
        wrong = []
        for name, job in jobs.items():
            if name in self.deleted:
                if job is not None:
                    wrong.append(f"job {name} was deleted and is still there")
            elif job is None:
                wrong.append(f"job {name} is lost")
            elif not completed(job):
                wrong.append(f"job {name} has not ended: {value_at(job, 'status', {})}")
            elif self.completions[name] == 0:
                wrong.append(f"job {name} is said to be complete and never was")
        for cluster, found in left.items():
            wrong += [f"{cluster}: {each} is left behind" for each in found]
        return wrong


def origin_of(document: Document) -> str:
    return str(value_at(document, "metadata.labels", {}).get(names.MULTIKUEUE_ORIGIN_LABEL, ""))


def runs(job: Document) -> bool:
    """Whether pods of the job run or may be made at any moment."""
    if completed(job) or job["metadata"].get("deletionTimestamp"):
        return False
    return not value_at(job, "spec.suspend", False) or bool(value_at(job, "status.active", 0))


def completed(job: Document) -> bool:
    return any(c["type"] == "Complete" and c["status"] == "True" for c in value_at(job, "status.conditions", []))


def is_true(document: Document, type_: str) -> bool:
    return any(c["type"] == type_ and c["status"] == "True" for c in value_at(document, "status.conditions", []))


def cpu_of(workload: Document) -> int:
    total = 0
    for assignment in value_at(workload, "status.admission.podSetAssignments", []):
        text = str((assignment.get("resourceUsage") or {}).get("cpu", "0"))
        total += int(text[:-1]) if text.endswith("m") else int(float(text) * 1000)
    return total
