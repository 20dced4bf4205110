"""What must hold at every commit, and what is wrong with a state at rest."""

from dataclasses import dataclass, field

from tests.faults.model import cpu_of, is_true
from worker_agent.api import names
from worker_agent.api.document import Document, at


@dataclass
class Model:
    """Watches the Workloads. ``quota`` in milli-cpu."""

    quota: int
    violations: list[str] = field(default_factory=list)
    _used: dict[str, int] = field(default_factory=dict)
    _holders: dict[str, set[str]] = field(default_factory=dict)
    """Workloads with quota by the UID of the job that controls them."""

    def observe(self, old: Document | None, new: Document | None, now: float) -> None:
        document = new or old
        assert document is not None
        name = document["metadata"]["name"]
        self._used.pop(name, None)
        for holders in self._holders.values():
            holders.discard(name)
        if new is None or is_true(new, names.FINISHED):
            return
        reserved = is_true(new, names.QUOTA_RESERVED)
        if is_true(new, names.ADMITTED) and not reserved:
            self._broken(now, f"workload {name} is admitted without quota")
        if not reserved:
            return
        self._used[name] = cpu_of(new)
        if sum(self._used.values()) > self.quota:
            self._broken(now, f"{sum(self._used.values())} of {self.quota} milli-cpu are reserved")
        if at(new, ("spec", "active"), True):
            self._one_for_each_job(new, now)

    def _one_for_each_job(self, new: Document, now: float) -> None:
        metadata = new["metadata"]
        owner = next((o["uid"] for o in metadata.get("ownerReferences") or () if o.get("controller")), "")
        if not owner or names.SLICE_REPLACEMENT_FOR_ANNOTATION in (metadata.get("annotations") or {}):
            return
        holders = self._holders.setdefault(owner, set())
        holders.add(metadata["name"])
        if len(holders) > 1:
            self._broken(now, f"one job holds quota through {' and '.join(sorted(holders))}")

    def _broken(self, now: float, what: str) -> None:
        if not any(each.endswith(what) for each in self.violations):
            self.violations.append(f"{now:.3f} {what}")
