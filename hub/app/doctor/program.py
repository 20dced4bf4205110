"""What of a cluster is the program's own: found by what the objects say of themselves, for a Helm release may have any
name, and a program may run outside of its cluster."""

from collections.abc import Iterable, Mapping
from typing import Final

from worker_agent.api.document import Document, at

PART_OF: Final = "app.kubernetes.io/part-of"
OURS: Final = "fedhub"
_NAME: Final = "app.kubernetes.io/name"


def deployment(found: Iterable[Document], namespace: str, command: str, usual: str) -> Document | None:
    """The Deployment in ``namespace`` that is part of fedhub and runs ``command``; without such labels the one of the
    usual name."""
    here = [each for each in found if each["metadata"].get("namespace") == namespace]
    labelled = [each for each in here if _is_ours(each) and _runs(each, command)]
    return next(iter(labelled), None) or next((each for each in here if each["metadata"]["name"] == usual), None)


def namespace(found: Iterable[Document], command: str) -> str:
    """Where a Deployment that is part of fedhub runs ``command``; empty where none does."""
    return next((str(each["metadata"]["namespace"]) for each in found if _is_ours(each) and _runs(each, command)), "")


def account(deployment: Document | None, usual: str) -> str:
    """The service account that a Deployment runs as."""
    named = at(deployment or {}, ("spec", "template", "spec", "serviceAccountName"), "")
    return str(named) or usual


def serves(service: Document | None, deployment: Document | None) -> bool:
    """Whether a Service leads to the program: it bears the program's own name as a label."""
    if service is None or deployment is None:
        return False
    return _is_ours(service) and _labels(service).get(_NAME) == _labels(deployment).get(_NAME)


def _runs(deployment: Document, command: str) -> bool:
    containers = at(deployment, ("spec", "template", "spec", "containers"), [])
    return any((each.get("command") or [""])[0] == command for each in containers)


def _is_ours(found: Document) -> bool:
    return _labels(found).get(PART_OF) == OURS


def _labels(found: Document) -> Mapping[str, str]:
    labels: Mapping[str, str] = found["metadata"].get("labels") or {}
    return labels
