"""What the webhook fills into a new pod: marks, gates and its role (spec/jobs 9.10 "Mutating")."""

from worker_agent.api import names
from worker_agent.api.document import Document, at, put
from worker_agent.api.job_kind import JobKind, queue_name
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import job_ancestors
from worker_agent.jobs import pod_facts, pod_role
from worker_agent.validation.jobs import defaulting
from worker_agent.validation.jobs.refusal import JobRefused
from worker_agent.validation.jobs.surroundings import JobSurroundings


def default_pod(kind: JobKind, pod: Document, around: JobSurroundings) -> Document:
    """The pod as it shall be created. Raises JobRefused where its namespace or its owners are not known."""
    if pod_facts.has_parent(pod):
        return _gated(pod, around.policy)
    if around.namespace_labels is None:
        raise JobRefused(f'Namespace "{pod["metadata"].get("namespace", "")}" not found')
    if not around.managed_namespace or not _is_selected(pod, around.policy) or _has_ancestor(pod, around):
        return pod
    if not queue_name(pod) and around.default_queue:
        pod = defaulting.labelled(pod, names.QUEUE_NAME_LABEL, names.DEFAULT_LOCAL_QUEUE)
    pod = defaulting.default_priority_class(pod, around)
    if not queue_name(pod) and not around.policy.manage_without_queue_name:
        return pod
    pod = defaulting.labelled(pod, names.MANAGED_LABEL, "true")
    if pod_facts.is_finalized(pod):
        finalizers = [*at(pod, ("metadata", "finalizers"), []), names.MANAGED_FINALIZER]
        pod = put(pod, ("metadata", "finalizers"), finalizers)
    return _gated(pod, around.policy)


def _is_selected(pod: Document, policy: JobPolicy) -> bool:
    return policy.pods is None or policy.pods.matches(at(pod, ("metadata", "labels"), {}))


def _has_ancestor(pod: Document, around: JobSurroundings) -> bool:
    if around.policy.skip_ancestors_of_deleted and pod_facts.is_deleting(pod):
        return True
    ancestry = job_ancestors.search(pod, around.lookup, around.policy)
    if ancestry.error:
        raise JobRefused(ancestry.error)
    return ancestry.managed is not None


def _gated(pod: Document, policy: JobPolicy) -> Document:
    """Held until its Workload is admitted, and until it has a place; with its index and role for the group."""
    pod = pod_facts.with_gate(pod, pod_facts.GATE)
    if policy.topology_aware:
        pod = pod_facts.with_gate(pod, pod_facts.TOPOLOGY_GATE)
        index_label = pod_facts.annotation(pod, names.POD_GROUP_POD_INDEX_LABEL_ANNOTATION)
        if index_label:
            index = pod_facts.label(pod, index_label)
            pod = put(pod, ("metadata", "labels", names.POD_GROUP_POD_INDEX_LABEL), index)
    if pod_facts.annotation(pod, names.ROLE_HASH_ANNOTATION):
        return pod
    role = pod_role.role_hash(pod.get("spec") or {})
    document: Document = put(pod, ("metadata", "annotations", names.ROLE_HASH_ANNOTATION), role)
    return document
