"""Events have two faces, core/v1 and events.k8s.io/v1, and one store; they are kept as core/v1.

Source: pkg/apis/events/v1/conversion.go.
"""

from hub.local.apiserver.resources import Resource
from worker_agent.api.document import Document

_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}


def differs(resource: Resource) -> bool:
    """Whether this version is not the one that is kept."""
    return resource.group == "events.k8s.io"


def shown(resource: Resource, document: Document) -> Document:
    """A kept document as the resource's version shows it."""
    if not differs(resource):
        return document
    return {_NEW_NAMES.get(name, name): value for name, value in document.items()}


def kept(resource: Resource, document: Document) -> Document:
    """A document of the resource's version as it is kept."""
    if not differs(resource):
        return document
    return {_OLD_NAMES.get(name, name): value for name, value in document.items()}


def kept_field(name: str) -> str:
    """A field selector's name in the kept version."""
    first, dot, rest = name.partition(".")
    return _OLD_NAMES.get(first, first) + dot + rest
