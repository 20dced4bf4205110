"""What a workload left in the cluster where it runs: its pods, and the events about it, its job and them. Pure."""

from collections.abc import Iterable
from typing import Final

import msgspec

from worker_agent.api.document import Document, at
from worker_agent.api.meta import ObjectMeta
from worker_agent.api.pod_workload import is_pod_of
from worker_agent.api.resource_type import PODS, WORKLOADS

_LATEST_FIRST: Final = ("lastTimestamp", "eventTime", "firstTimestamp")


def pods_of(workload: Document, pods: Iterable[Document]) -> list[Document]:
    """Those of the Workload, by name."""
    found = {pod["metadata"]["name"]: pod for pod in pods if is_pod_of(_metadata(pod), workload)}
    return [found[name] for name in sorted(found)]


def events_of(workload: Document, pods: Iterable[Document], events: Iterable[Document]) -> list[Document]:
    """About the Workload, its owners and these pods; the oldest first. Events name what they are about by its UID, or,
    where the recorder knew none, by kind and name."""
    about = {(WORKLOADS.kind, workload["metadata"]["name"], workload["metadata"].get("uid"))}
    about |= {(o["kind"], o["name"], o.get("uid")) for o in workload["metadata"].get("ownerReferences") or ()}
    about |= {(PODS.kind, pod["metadata"]["name"], pod["metadata"].get("uid")) for pod in pods}
    uids = {uid for _, _, uid in about if uid}
    named = {(kind, name) for kind, name, _ in about}

    def is_about(event: Document) -> bool:
        subject = at(event, ("involvedObject",), {})
        if subject.get("uid"):
            return subject["uid"] in uids
        return (subject.get("kind"), subject.get("name")) in named

    return sorted((event for event in events if is_about(event)), key=last_seen)


def last_seen(event: Document) -> str:
    """When it was last seen, RFC 3339."""
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), *(event.get(field) for field in _LATEST_FIRST))
    return str(next((time for time in times if time), event["metadata"].get("creationTimestamp") or ""))


def _metadata(pod: Document) -> ObjectMeta:
    return msgspec.convert(pod["metadata"], ObjectMeta, strict=False)
