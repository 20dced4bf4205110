"""What runners of the records of job kinds share: whose record it is, its policy, its objects by key."""

from typing import Any

from tests.conformance.case import Document, Skip
from worker_agent.api import companions
from worker_agent.api.companions import Companion
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.engine import feature_gates
from worker_agent.jobs import KINDS

Ref = tuple[str, str, Key]
World = dict[Ref, Document]


def policy_of(case: Document, **settings: Any) -> JobPolicy:
    return JobPolicy.from_gates(feature_gates.resolve(case.get("featureGates") or {}), **settings)


def kind_of(case: Document) -> JobKind:
    """The kind whose test this is: the part of the test's name before the dot."""
    wanted = case["test"].partition(".")[0]
    for kind in KINDS.values():
        if kind.resource.kind.lower() == wanted:
            return kind
    raise Skip(f"kind {wanted} is not served yet")


def ref_of(document: Document) -> Ref:
    metadata = document["metadata"]
    return (document["apiVersion"], document["kind"], Key(metadata.get("namespace", ""), metadata["name"]))


def companion_in(world: World) -> companions.Lookup:
    def lookup(wanted: Companion) -> Document | None:
        return world.get((wanted.resource.api_version, wanted.resource.kind, Key(wanted.namespace, wanted.name)))

    return lookup
