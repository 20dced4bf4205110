"""The short forms of scenarios: clusters and workloads in a few words, turned into the objects they stand for.

Whatever is not a short form goes into the ``spec`` of the object as it stands, so that every field of the API can be
used. Each ClusterQueue gets a LocalQueue of the same name in namespace ``default``.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from worker_agent.api import durations, timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.story_objects import StoryError

NAMESPACE: Final = "default"
_API: Final = "kueue.x-k8s.io/v1beta2"
_LIMITS: Final = {"nominal": "nominalQuota", "borrowing": "borrowingLimit", "lending": "lendingLimit"}
_WORKLOAD_FIELDS: Final = ("name", "queue", "pods", "minPods", "requests", "priority", "runs", "pod")


class Cluster:
    """``flavors`` (name: spec), ``cohorts`` and ``queues`` (name: short form), ``objects`` (any others)."""

    def __init__(self, document: Document) -> None:
        unknown = sorted(document.keys() - {"flavors", "cohorts", "queues", "objects"})
        if unknown:
            raise StoryError(f"cluster.{unknown[0]}: unknown field; known are flavors, cohorts, queues, objects")
        self._flavors = _mapping(document, "flavors") or {"default": {}}
        self._cohorts = _mapping(document, "cohorts")
        self._queues = _mapping(document, "queues")
        self._objects: list[Document] = document.get("objects") or []
        if not self._queues:
            raise StoryError("cluster.queues: must name at least one ClusterQueue")

    def objects(self) -> Iterator[Document]:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        for name, spec in self._flavors.items():
            yield _object("ResourceFlavor", name, spec)
        for name in self._cohorts:
            yield self._cohort(name)
        for name in self._queues:
            yield self._queue(name)
            metadata = {"name": name, "namespace": NAMESPACE}
            yield {"apiVersion": _API, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}
        yield from self._objects

    def change(self, what: Any) -> Iterator[Document]:
        """``{queues: {name: fields}}`` or ``{cohorts: ...}``: the named fields are replaced, the others stay."""
        for part, known, build in (("cohorts", self._cohorts, self._cohort), ("queues", self._queues, self._queue)):
            for name, fields in _mapping(what, part).items():
                if name not in known:
                    raise StoryError(f"change.{part}.{name}: does not exist")
                known[name] = {**known[name], **fields}
                yield build(name)

    def _queue(self, name: str) -> Document:
        fields = dict(self._queues[name])
        groups = _groups(fields.pop("quota", {}), f"cluster.queues.{name}.quota")
        spec = {"cohortName": fields.pop("cohort", ""), "namespaceSelector": {}, "resourceGroups": groups}
        return _object("ClusterQueue", name, {"queueingStrategy": "BestEffortFIFO", **spec, **fields})

    def _cohort(self, name: str) -> Document:
        fields = dict(self._cohorts[name])
        groups = _groups(fields.pop("quota", {}), f"cluster.cohorts.{name}.quota")
        return _object("Cohort", name, {"parentName": fields.pop("parent", ""), "resourceGroups": groups, **fields})


def workload(item: Any, now: datetime, number: int) -> tuple[Document, timedelta | None]:
    """The Workload of a short form and how long it runs. ``number`` puts those of one second in order."""
    if not isinstance(item, dict) or not item.get("name") or not item.get("queue"):
        raise StoryError(f"submit: {item!r}: must have at least name and queue")
    unknown = sorted(item.keys() - set(_WORKLOAD_FIELDS))
    if unknown:
        raise StoryError(f"submit: {item['name']}: {unknown[0]}: must be one of {', '.join(_WORKLOAD_FIELDS)}")
    requests = {resource: str(amount) for resource, amount in (item.get("requests") or {"cpu": 1}).items()}
    container = {"name": "main", "resources": {"requests": requests}}
    pod_set = {
        "name": "main",
        "count": item.get("pods", 1),
        "template": {"spec": {**(item.get("pod") or {}), "containers": [container]}},
    }
    if "minPods" in item:
        pod_set["minCount"] = item["minPods"]
    key = key_of(item["name"])
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "uid": f"{number:08}",
        "generation": 1,
        "creationTimestamp": timestamps.rfc3339(now),
    }
    spec = {"queueName": item["queue"], "priority": item.get("priority", 0), "podSets": [pod_set]}
    return {"apiVersion": _API, "kind": "Workload", "metadata": metadata, "spec": spec}, _runs(item)


def _runs(item: Document) -> timedelta | None:
    if "runs" not in item:
        return None
    try:
        return durations.parse(str(item["runs"]))
    except ValueError as error:
        raise StoryError(f"submit: {item['name']}: runs: {error}") from None


def key_of(name: Any) -> Key:
    """``name`` or ``namespace/name``."""
    return Key.parse(str(name)) if "/" in str(name) else Key(NAMESPACE, str(name))


def _groups(quotas: Any, place: str) -> list[Document]:
    """One resource group per set of resources that its flavors have in common."""
    groups: dict[tuple[str, ...], list[Document]] = {}
    for flavor, amounts in (quotas or {}).items():
        if not isinstance(amounts, dict) or not amounts:
            raise StoryError(f"{place}.{flavor}: {amounts!r}: must say how much of each resource")
        resources = [{"name": resource, **_limits(amount, place)} for resource, amount in amounts.items()]
        groups.setdefault(tuple(amounts), []).append({"name": flavor, "resources": resources})
    return [{"coveredResources": list(covered), "flavors": flavors} for covered, flavors in groups.items()]


def _limits(amount: Any, place: str) -> Document:
    if not isinstance(amount, dict):
        return {"nominalQuota": str(amount)}
    unknown = sorted(amount.keys() - _LIMITS.keys())
    if unknown:
        raise StoryError(f"{place}: {unknown[0]}: must be one of {', '.join(_LIMITS)}")
    return {"nominalQuota": "0", **{_LIMITS[name]: str(limit) for name, limit in amount.items()}}


def _object(kind: str, name: str, spec: Document | None) -> Document:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": spec or {}}


def _mapping(document: Any, field: str) -> dict[str, Document]:
    found = document.get(field) if isinstance(document, dict) else None
    if found is not None and not isinstance(found, dict):
        raise StoryError(f"{field}: {found!r}: must be a mapping of names")
    return {str(name): fields or {} for name, fields in (found or {}).items()}
