"""Equal parts of many Workloads kept once: half a million of them come from a handful of templates and queues.

What is shared is only read: views are replaced as a whole when an object changes.
"""

from typing import Any, Final

import msgspec

from worker_agent.api.workload import Workload

MOST: Final = 20_000
"""Values remembered; where every Workload's differ they must not pile up."""

_encode: Final = msgspec.json.Encoder().encode


class SharedValues:
    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._parts: dict[bytes, Any] = {}

    def put_into(self, workload: Workload) -> None:
        """Replace the parts of a Workload just decoded by equal ones seen before."""
        metadata, spec, status = workload.metadata, workload.spec, workload.status
        metadata.namespace = self._text(metadata.namespace)
        spec.queue_name = self._text(spec.queue_name)
        if spec.pod_sets:
            spec.pod_sets = self._part(spec.pod_sets)
        for condition in status.conditions or ():
            condition.type = self._text(condition.type)
            condition.status = self._text(condition.status)
            condition.reason = self._text(condition.reason)
            condition.message = self._text(condition.message)
        admission = status.admission
        if admission is not None:
            admission.cluster_queue = self._text(admission.cluster_queue)
            if not any(found.topology_assignment for found in admission.pod_set_assignments):
                admission.pod_set_assignments = self._part(admission.pod_set_assignments)

    def _text(self, text: str) -> str:
        if len(self._texts) >= MOST:
            self._texts.clear()
        return self._texts.setdefault(text, text)

    def _part(self, part: Any) -> Any:
        if len(self._parts) >= MOST:
            self._parts.clear()
        return self._parts.setdefault(_encode(part), part)
