"""The groups of other servers in this one's discovery documents, from what these servers said when last asked.

Source: kube-aggregator pkg/apiserver/handler_apis.go and handler_discovery.go.
"""

from collections.abc import Iterator

from hub.local.apiserver.aggregation import Aggregation, Registration
from hub.local.apiserver.store import State
from worker_agent.api.document import Document


def groups(state: State) -> dict[str, list[str]]:
    """group -> versions of other servers, by priority."""
    found: dict[str, list[str]] = {}
    for registration in _aggregation(state).registrations(state):
        found.setdefault(registration.group, []).append(registration.version)
    return found


def items(state: State) -> Iterator[Document]:
    """The entries of aggregated discovery."""
    by_group: dict[str, list[Registration]] = {}
    for registration in _aggregation(state).registrations(state):
        by_group.setdefault(registration.group, []).append(registration)
    for group, registrations in by_group.items():
        versions = [_version(_aggregation(state), registration) for registration in registrations]
        yield {"metadata": {"name": group}, "versions": versions}


def _aggregation(state: State) -> Aggregation:
    found: Aggregation = state.aggregation
    return found


def _version(aggregation: Aggregation, registration: Registration) -> Document:
    listed = aggregation.resources.get((registration.group, registration.version)) or []
    subresources: dict[str, list[Document]] = {}
    resources = []
    for entry in sorted(listed, key=lambda entry: str(entry["name"])):
        name, slash, sub = entry["name"].partition("/")
        if slash:
            subresources.setdefault(name, []).append(_subresource(entry, sub, registration))
        else:
            resources.append(_resource(entry, registration))
    for resource in resources:
        if below := subresources.get(resource["resource"]):
            resource["subresources"] = below
    found: Document = {"version": registration.version}
    if resources:
        found["resources"] = resources
    return {**found, "freshness": "Current" if registration.available else "Stale"}


def _resource(entry: Document, registration: Registration) -> Document:
    found: Document = {
        "resource": entry["name"],
        "responseKind": _kind(entry, registration),
        "scope": "Namespaced" if entry.get("namespaced") else "Cluster",
        "singularResource": entry.get("singularName", ""),
        "verbs": entry.get("verbs") or [],
    }
    for name in ("shortNames", "categories"):
        if entry.get(name):
            found[name] = entry[name]
    return found


def _subresource(entry: Document, name: str, registration: Registration) -> Document:
    return {"subresource": name, "responseKind": _kind(entry, registration), "verbs": entry.get("verbs") or []}


def _kind(entry: Document, registration: Registration) -> Document:
    group, version = entry.get("group") or registration.group, entry.get("version") or registration.version
    return {"group": group, "version": version, "kind": entry.get("kind", "")}
