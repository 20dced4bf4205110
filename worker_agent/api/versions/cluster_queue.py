"""ClusterQueue in v1beta1: the cohort under another name, checks as a plain list, older words for fungibility."""

from typing import Annotated, Final

from worker_agent.api import structural_schema
from worker_agent.api.document import Document
from worker_agent.api.local_queue import AdmissionFairSharingStatus
from worker_agent.api.meta import View
from worker_agent.api.resource_type import CLUSTER_QUEUES
from worker_agent.api.schema import DNS_SUBDOMAIN, Field
from worker_agent.api.versions.fields import renamed, replaced, within, without
from worker_agent.api.versions.old_version import OldVersion, Rewrites
from worker_agent.api.versions.schema_changes import Change

_OLD_BORROW: Final = {"Borrow": "MayStopSearch"}
_OLD_PREEMPT: Final = {"Preempt": "MayStopSearch"}


class PendingWorkload(View):
    """One of the workloads that wait."""

    name: Annotated[str, Field("Its name.", required=True)] = ""
    namespace: Annotated[str, Field("Its namespace.", required=True)] = ""


class PendingWorkloadsStatus(View):
    """Not written any more: the visibility API tells who waits."""

    cluster_queue_pending_workload: Annotated[
        list[PendingWorkload], Field("The first of those that wait.", list_type="atomic")
    ] = []
    last_change_time: Annotated[str, Field("When this was written.", required=True, format="date-time")] = ""


def admission_fair_sharing_status() -> Document:
    """The schema of a field that no queue or cohort writes any more."""
    return structural_schema.of_view(AdmissionFairSharingStatus) | {"description": "Not written any more."}


def _spec_to_v1beta2(spec: Document) -> Document:
    spec = within(renamed(spec, "cohort", "cohortName"), "flavorFungibility", _fungibility)
    checks = spec.get("admissionChecks")
    spec = without(spec, "admissionChecks")
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
    return spec


def _fungibility(fungibility: Document) -> Document:
    return replaced(replaced(fungibility, "whenCanBorrow", _OLD_BORROW), "whenCanPreempt", _OLD_PREEMPT)


def _to_v1beta2(document: Document) -> Document:
    return within(_forget(document), "spec", _spec_to_v1beta2)


def _to_v1beta1(document: Document) -> Document:
    return within(
        document, "spec", lambda spec: without(renamed(spec, "cohortName", "cohort"), "concurrentAdmissionPolicy")
    )


def forget_usage_history(document: Document) -> Document:
    """Without the usage in the past, which LocalQueues alone hold."""
    return within(
        document,
        "status",
        lambda status: within(status, "fairSharing", lambda share: without(share, "admissionFairSharingStatus")),
    )


def _forget(document: Document) -> Document:
    return within(forget_usage_history(document), "status", lambda status: without(status, "pendingWorkloadsStatus"))


OLD_VERSION: Final = OldVersion(
    CLUSTER_QUEUES,
    changes=(
        Change(
            "spec",
            fields={
                "admissionChecks": {
                    "type": "array",
                    "description": "Checks that workloads must pass; admissionChecksStrategy says more.",
                    "items": {"type": "string", "maxLength": 316},
                },
                "cohort": {
                    "type": "string",
                    "description": "The cohort with which the queue shares quota. Empty: it keeps to itself.",
                    "maxLength": 253,
                    "pattern": DNS_SUBDOMAIN,
                },
                "cohortName": None,
                "concurrentAdmissionPolicy": None,
            },
            keywords={
                "x-kubernetes-validations": [
                    {
                        "message": "borrowingLimit must be nil when cohort is empty",
                        "rule": "!has(self.cohort) && has(self.resourceGroups) ? self.resourceGroups.all(rg, "
                        "rg.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit)))) : true",
                    }
                ]
            },
        ),
        Change("spec.admissionChecksStrategy", keywords={"required": None}),
        Change(
            "spec.admissionChecksStrategy.admissionChecks",
            keywords={
                "minItems": None,
                "maxItems": None,
                "x-kubernetes-list-type": None,
                "x-kubernetes-list-map-keys": None,
            },
        ),
        Change("spec.admissionChecksStrategy.admissionChecks[].name", keywords={"minLength": None}),
        Change(
            "spec.admissionChecksStrategy.admissionChecks[].onFlavors",
            keywords={"maxItems": None, "x-kubernetes-list-type": None},
        ),
        Change("spec.admissionScope.admissionMode", keywords={"enum": None}),
        Change("spec.flavorFungibility.whenCanBorrow", keywords={"enum": ["MayStopSearch", "TryNextFlavor", "Borrow"]}),
        Change(
            "spec.flavorFungibility.whenCanPreempt", keywords={"enum": ["MayStopSearch", "TryNextFlavor", "Preempt"]}
        ),
        Change("spec.resourceGroups[].coveredResources", keywords={"x-kubernetes-list-type": None}),
        Change("status.conditions", keywords={"maxItems": None}),
        Change("status.fairSharing", fields={"admissionFairSharingStatus": admission_fair_sharing_status()}),
        Change("status", fields={"pendingWorkloadsStatus": structural_schema.of_view(PendingWorkloadsStatus)}),
    ),
    rewrites=Rewrites(_to_v1beta2, _to_v1beta1, _forget),
    columns=((".spec.cohortName", ".spec.cohort"),),
)
