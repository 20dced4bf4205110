"""What the visibility API serves, as clients discover it. Pure."""

from worker_agent.api.document import Document
from worker_agent.visibility.question import GROUP, SUBRESOURCE, VERSIONS, DiscoveryQuestion


def of(question: DiscoveryQuestion) -> Document:
    """APIResourceList of a version, APIGroup, or APIGroupList."""
    if question.version:
        return _resources(question.version)
    group = _group()
    if question.group:
        return {"kind": "APIGroup", "apiVersion": "v1", **group}
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]}


def _group() -> Document:
    # Of equal rank: the later version is the preferred one.
    versions = [{"groupVersion": f"{GROUP}/{version}", "version": version} for version in reversed(VERSIONS)]
    return {"name": GROUP, "versions": versions, "preferredVersion": versions[0]}


def _resources(version: str) -> Document:
    """Only the subresources: the queues themselves are read elsewhere."""
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/{version}",
        "resources": [
            {
                "name": f"{plural}/{SUBRESOURCE}",
                "singularName": "",
                "namespaced": namespaced,
                "group": GROUP,
                "version": version,
                "kind": "PendingWorkloadsSummary",
                "verbs": ["get"],
            }
            for plural, namespaced in (("clusterqueues", False), ("localqueues", True))
        ],
    }
