"""Recording: everything that reaches the engine, written down so that ``fedhub-agent replay`` can play it again.

What is written is what the engine sees, and no more: objects as their typed views, pod templates reduced to the fields
that decisions read, annotations of our own names only. Environment variables, commands, volumes and Secrets never are.
The format is told in ``engine.story_recording``.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import IO, Any, Final, Protocol

import msgspec

from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import decode_template
from worker_agent.api.resource_type import PODS, WORKLOADS, ResourceType
from worker_agent.controllers.engine_messages import Forget, Put, Remove
from worker_agent.engine import story_recording, story_trace
from worker_agent.engine.plan import Plan
from worker_agent.engine.state import ClusterState

log = logging.getLogger(__name__)

_OURS: Final = ("kueue.x-k8s.io/", "fedhub.dev/")


class Recorder(Protocol):
    """What the engine's loop tells; called in the engine's thread."""

    def told(self, message: Put | Remove | Forget, now: datetime) -> None: ...

    def flushed(self, now: datetime) -> None: ...

    def decided(self, state: ClusterState, plan: Plan, now: datetime) -> None: ...


class NoRecorder:
    """Writes nothing."""

    def told(self, message: Put | Remove | Forget, now: datetime) -> None: ...

    def flushed(self, now: datetime) -> None: ...

    def decided(self, state: ClusterState, plan: Plan, now: datetime) -> None: ...


NO_RECORDER: Final = NoRecorder()


class FileRecorder:
    """Appends to ``stream``. A failing disk ends the recording, never the engine."""

    def __init__(self, stream: IO[bytes], gates: Mapping[str, bool], configuration: Document) -> None:
        self._stream: IO[bytes] | None = stream
        self._encoder = msgspec.json.Encoder()
        self._write({"recording": story_recording.VERSION, "featureGates": dict(gates), "configuration": configuration})

    def told(self, message: Put | Remove | Forget, now: datetime) -> None:
        if isinstance(message, Put):
            self._line(now, put=document(message.resource, message.object))
        elif isinstance(message, Remove):
            self._line(now, delete={"kind": message.resource.kind, **_named(message.key)})
        else:
            self._line(now, forget=str(message.key))

    def flushed(self, now: datetime) -> None:
        self._line(now, flush=True)

    def decided(self, state: ClusterState, plan: Plan, now: datetime) -> None:
        self._line(now, cycle=plan.cycle, trace=story_trace.entry(state, plan))

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _line(self, now: datetime, **what: Any) -> None:
        self._write({"at": timestamps.rfc3339_micro(now), **what})

    def _write(self, line: Document) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(self._encoder.encode(line) + b"\n")
            self._stream.flush()
        except OSError as error:
            log.error("recording ended: %s", error)
            self._stream = None


def document(resource: ResourceType, view: Any) -> Document:
    """What the engine sees of an object, without anything a user may have hidden in it."""
    if resource is WORKLOADS:
        templates = [_template(pod_set.template) for pod_set in view.spec.pod_sets]
    found: Document = {"apiVersion": resource.api_version, "kind": resource.kind, **_plain(view)}
    _clean_metadata(found.get("metadata") or {})
    if resource is WORKLOADS:
        for pod_set, template in zip(found.get("spec", {}).get("podSets") or (), templates, strict=True):
            pod_set["template"] = template
    elif resource is PODS:
        _clean_pod(found)
    return found


def _plain(view: Any) -> Document:
    found: Document = msgspec.json.decode(msgspec.json.encode(view))
    return found


def _template(raw: msgspec.Raw) -> Document:
    """Resources, selectors, affinity, tolerations and the like: what a decision can depend on."""
    try:
        template = _plain(decode_template(raw))
    except msgspec.ValidationError:
        # The engine cannot read it either; what it says about that is all that is left of it.
        return {"spec": {"containers": [{"resources": {"requests": "unreadable"}}]}}
    _clean_pod(template)
    return template


def _clean_pod(pod: Document) -> None:
    _clean_metadata(pod.get("metadata") or {})
    for part in ("containers", "initContainers"):
        for container in pod.get("spec", {}).get(part) or ():
            container.pop("image", None)


def _clean_metadata(metadata: Document) -> None:
    metadata.pop("finalizers", None)
    # Variants belong to the Workload that owns them; who else owns what is nobody's business here.
    owners = [owner for owner in metadata.pop("ownerReferences", None) or () if owner.get("kind") == WORKLOADS.kind]
    if owners:
        metadata["ownerReferences"] = owners
    kept = {name: text for name, text in (metadata.get("annotations") or {}).items() if _ours(name)}
    metadata.pop("annotations", None)
    if kept:
        metadata["annotations"] = kept


def _ours(annotation: str) -> bool:
    return any(mark in annotation for mark in _OURS)


def _named(key: Key) -> Document:
    return {"namespace": key.namespace, "name": key.name}
