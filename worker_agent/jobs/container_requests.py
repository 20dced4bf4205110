"""Pod templates as an operator will change them, so that quota is taken for what really runs."""

from collections.abc import Mapping

from worker_agent.api import quantity
from worker_agent.api.document import Document, at, get, put


def with_container(template: Document, container: Document) -> Document:
    """The template with one more container at the end."""
    document: Document = put(template, ("spec", "containers"), [*get(template, "spec.containers", []), container])
    return document


def at_least(template: Document, requests: Mapping[str, str]) -> Document:
    """The first container requesting no less than this of each resource."""
    if not get(template, "spec.containers", []):
        return template
    for resource, wanted in requests.items():
        path = ("spec", "containers", 0, "resources", "requests", resource)
        present = at(template, path)
        if present is None or quantity.parse(str(present)) < quantity.parse(wanted):
            template = put(template, path, wanted)
    return template
