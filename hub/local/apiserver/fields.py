"""What field selectors see of an object, read once when it is written."""

from hub.local.apiserver.resources import Resource
from worker_agent.api import document as documents
from worker_agent.api.document import Document

_BOOLEANS = frozenset({"spec.hostNetwork", "spec.unschedulable"})
_NUMBERS = frozenset({"status.successful", "status.replicas"})


def known_fields(resource: Resource, document: Document) -> dict[str, str] | None:
    """Selectable fields of a kept document by name, empty text where absent; None for kinds without any."""
    if not resource.selectable:
        return None
    return {name: _text(document, name, resource.custom) for name in resource.selectable}


def _text(document: Document, name: str, custom: bool) -> str:
    if name == "status.successful":
        return str(documents.get(document, "status.succeeded", 0))
    if name == "source" and not custom:
        return str(documents.get(document, "source.component", documents.get(document, "reportingComponent", "")))
    value = documents.get(document, name)
    if value is None:
        return _absent(name, custom)
    if isinstance(value, bool):
        return "true" if value else "false"
    if name == "status.podIPs":
        return ",".join(entry.get("ip", "") for entry in value)
    return str(value)


def _absent(name: str, custom: bool) -> str:
    if custom:
        return ""
    if name in _BOOLEANS:
        return "false"
    return "0" if name in _NUMBERS else ""
