"""What our jobs leave in a cluster beside themselves: their pods, and events about them. Pure.

A pod is ours when it bears our origin, or names a Workload or an owner that does. Whoever may write pods in the
namespace could put such a name on a pod of their own, and shows by that no more than this pod.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from worker_agent.api import names
from worker_agent.api.meta import Key, OwnerReference
from worker_agent.api.pod_workload import CORE_EVENTS, subject_of, workloads_named
from worker_agent.api.resource_type import KUEUE, PODS, WORKLOADS
from worker_agent.tunnel.objects import Head

Lookup = Callable[[str, str, Key], Head | None]
"""``(group, kind, key)`` to what the agent knows of that object; None where it does not know it."""


class _Typed(Head):
    """Lists leave the kind out of their items; what an event is about tells it from a pod."""

    kind: str = ""
    involved_object: msgspec.Raw = msgspec.Raw()


_decode: Final = msgspec.json.Decoder(_Typed, strict=False).decode


class OurTraces:
    """``has`` decides from the object and what ``known`` says of others: nothing is asked of the API server."""

    def __init__(self, origin: str, known: Lookup) -> None:
        self._origin = origin
        self._known = known

    def has(self, raw: bytes) -> bool:
        """Whether this pod or core event is of one of our jobs. Raises msgspec.DecodeError."""
        found = _decode(raw)
        if found.kind == CORE_EVENTS.kind or bytes(found.involved_object):
            return self._event(found, raw)
        return self._pod(found)

    def _pod(self, pod: Head) -> bool:
        if self._bears_origin(pod):
            return True
        return any(
            self._bears_origin(self._known(KUEUE, WORKLOADS.kind, Key(pod.metadata.namespace, name)))
            for name in workloads_named(pod.metadata)
        ) or any(self._is_made_by(owner, pod) for owner in pod.metadata.owner_references or ())

    def _is_made_by(self, owner: OwnerReference, pod: Head) -> bool:
        """Pods of an elastic job outlive the Workload of the slice that they were started in."""
        group, _, _ = owner.api_version.rpartition("/")
        found = self._known(group, owner.kind, Key(pod.metadata.namespace, owner.name))
        return found is not None and found.metadata.uid == owner.uid and self._bears_origin(found)

    def _event(self, event: _Typed, raw: bytes) -> bool:
        """An event tells of an object of its own namespace; what is gone is nobody's."""
        group, kind, name = subject_of(msgspec.json.decode(raw))
        key = Key(event.metadata.namespace, name)
        subject = self._known(group, kind, key)
        if subject is None:
            return False
        if (group, kind) == (PODS.group, PODS.kind):
            return self._pod(subject)
        return self._bears_origin(subject)

    def _bears_origin(self, found: Head | None) -> bool:
        return found is not None and found.metadata.label(names.MULTIKUEUE_ORIGIN_LABEL) == self._origin
