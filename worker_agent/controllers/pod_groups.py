"""Jobs as they stand in a cache, those that are composed of several pods included."""

from collections.abc import Iterable
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Key, Object
from worker_agent.api.resource_type import PODS
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.jobs import pod_group

_INDEX: Final = "pods by group"


def index(known: KnownObjects) -> None:
    """Make groups of pods to be found, where pods are followed."""
    if known.follows(PODS):
        known.informer(PODS).add_index(_INDEX, _group)


def _group(pod: Object) -> Iterable[str]:
    metadata = pod.metadata
    name = metadata.annotation(names.POD_GROUP_NAME_LABEL) or metadata.label(names.POD_GROUP_NAME_LABEL)
    if name:
        yield str(Key(metadata.namespace, name))


def job(known: KnownObjects, kind: JobKind, key: Key) -> Document | None:
    """The job of that key; of a group the key is that of the group, and the document is composed of its pods."""
    if not kind.composable:
        return known.document(kind.resource, key)
    if not known.follows(PODS):
        return None
    found = {pod["metadata"]["name"]: pod for pod in known.documents(PODS, _INDEX, str(key)) if _is_in(pod, key)}
    return pod_group.compose([found[name] for name in sorted(found)]) if found else None


def _is_in(pod: Document, key: Key) -> bool:
    """Also of pods that were just made, which no index knows yet."""
    metadata = pod["metadata"]
    annotated = (metadata.get("annotations") or {}).get(names.POD_GROUP_NAME_LABEL, "")
    name = annotated or (metadata.get("labels") or {}).get(names.POD_GROUP_NAME_LABEL, "")
    return (metadata.get("namespace", ""), name) == (key.namespace, key.name)
