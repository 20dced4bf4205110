"""The manager's objects as the federation's decisions read them, and how a change finds its Workloads."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from hub.engine import admission_check, group_loading
from worker_agent.api import names, resource_type
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.dispatch_policy import DispatchPolicy, DispatchPolicySpec
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.api.workload import Workload
from worker_agent.controllers import pod_groups
from worker_agent.controllers.ancestors import owner_value
from worker_agent.controllers.job_controller import OWNER_INDEX
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine.intents import RecordEvent
from worker_agent.kube.informer import Informer

_STEPS_ON_THE_WAY: Final = ("QuotaReserved", names.ADMITTED)

CHECK_INDEX: Final = "admission check"
"""Workloads by the AdmissionChecks on their status."""

DEFAULT_POLICY: Final = DispatchPolicySpec()

NAMESPACE_INDEX: Final = "federation namespace"


def checks_of(workload: Workload) -> Iterable[str]:
    return [state.name for state in workload.status.admission_checks or ()]


def namespace_of(workload: Workload) -> Iterable[str]:
    yield workload.metadata.namespace


class FederationObjects:
    """Reads what the informers of the manager hold; nothing is asked of its API server."""

    def __init__(self, known: KnownObjects) -> None:
        self.known = known
        self.workloads: Informer[Workload] = known.informer(resource_type.WORKLOADS)
        self.checks: Informer[AdmissionCheck] = known.informer(resource_type.ADMISSION_CHECKS)
        self.configs: Informer[MultiKueueConfig] = known.informer(resource_type.MULTIKUEUE_CONFIGS)
        self.clusters: Informer[MultiKueueCluster] = known.informer(resource_type.MULTIKUEUE_CLUSTERS)
        self.secrets: Informer[Document] = known.informer(resource_type.SECRETS)
        self.queues: Informer[ClusterQueue] = known.informer(resource_type.CLUSTER_QUEUES)
        self.policies: Informer[DispatchPolicy] = known.informer(resource_type.DISPATCH_POLICIES)
        self.workloads.add_index(CHECK_INDEX, checks_of)
        self.workloads.add_index(NAMESPACE_INDEX, namespace_of)
        pod_groups.index(known)

    # What group_loading asks for.

    def workload(self, key: Key) -> Document | None:
        return self.known.document(resource_type.WORKLOADS, key)

    def workloads_in(self, namespace: str) -> Iterator[Document]:
        return self.known.documents(resource_type.WORKLOADS, NAMESPACE_INDEX, namespace)

    def job(self, kind: JobKind, key: Key) -> Document | None:
        return pod_groups.job(self.known, kind, key)

    def knows_jobs(self, kind: JobKind) -> bool:
        """Whether a job that is not found does not exist: the first list of its kind is in."""
        resource = kind.resource
        return self.known.follows(resource) and self.known.informer(resource).synced.is_set()

    def admission_check(self, name: str) -> AdmissionCheck | None:
        return self.checks.get(Key("", name))

    def config(self, name: str) -> MultiKueueConfig | None:
        return self.configs.get(Key("", name))

    def dispatch_policy(self, workload: Workload) -> DispatchPolicySpec:
        """The policy that the Workload's ClusterQueue names, else the one called ``default``, else the defaults."""
        admission = workload.status.admission
        queue = self.queues.get(Key("", admission.cluster_queue if admission else ""))
        name = queue.metadata.annotation(names.DISPATCH_POLICY_ANNOTATION) if queue is not None else ""
        found = self.policies.get(Key("", name or names.DEFAULT_DISPATCH_POLICY))
        return found.spec if found is not None else DEFAULT_POLICY

    # What leads from a change to the Workloads it concerns.

    def is_ours(self, workload: Workload) -> bool:
        """Whether MultiKueue decides one of the Workload's checks."""
        return bool(group_loading.multikueue_checks(workload, self))

    def tells(self, document: Document, event: RecordEvent) -> bool:
        """Whether an event about an object of the manager is worth recording.

        That a Workload which runs elsewhere got quota and was admitted here are steps on the way to the one thing its
        user wants to know, the cluster it runs on: MultiKueue's own event tells that.
        """
        if event.resource != resource_type.WORKLOADS or event.reason not in _STEPS_ON_THE_WAY:
            return True
        checks = (document.get("status") or {}).get("admissionChecks") or ()
        found = (self.admission_check(check["name"]) for check in checks)
        return not any(check is not None and group_loading.is_multikueue(check) for check in found)

    def workloads_with_check(self, name: str) -> list[Key]:
        return [workload.metadata.key for workload in self.workloads.by_index(CHECK_INDEX, name)]

    def workloads_of(self, job: Document) -> list[Key]:
        """The Workloads that the job controls."""
        metadata = job["metadata"]
        owner = owner_value(metadata.get("namespace", ""), job["apiVersion"], job["kind"], metadata["name"])
        return [workload.metadata.key for workload in self.workloads.by_index(OWNER_INDEX, owner)]

    def multikueue_checks(self) -> list[AdmissionCheck]:
        return [check for check in self.checks.values() if group_loading.is_multikueue(check)]

    def checks_with_config(self, config: str) -> list[str]:
        """Names of the MultiKueue checks whose parameters name this configuration."""
        return [check.metadata.name for check in self.multikueue_checks() if _config_name(check) == config]

    def configs_with_cluster(self, cluster: str) -> list[str]:
        return [config.metadata.name for config in self.configs.values() if cluster in config.spec.clusters]

    def all_workloads(self) -> list[Key]:
        """Every Workload with a MultiKueue check."""
        found: dict[Key, None] = {}
        for check in self.multikueue_checks():
            found.update(dict.fromkeys(self.workloads_with_check(check.metadata.name)))
        return list(found)


def _config_name(check: AdmissionCheck) -> str:
    try:
        return admission_check.config_name(check)
    except admission_check.BadReference:
        return ""


def document_of(view: Any) -> Document:
    """A typed object as a document: for one that is gone, whose bytes nobody keeps."""
    found: Document = msgspec.json.decode(msgspec.json.encode(view))
    return found
