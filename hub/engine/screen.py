"""Why a cluster cannot take a workload at all, found without any search: the cheap questions come first."""

from hub.engine.evaluation import Evaluation, Outlook, Request, impossible
from hub.engine.views import WorkerView
from worker_agent.api import names, resource_type
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload

NEEDED = (
    resource_type.NAMESPACES.plural,
    resource_type.RESOURCE_FLAVORS.plural,
    resource_type.CLUSTER_QUEUES.plural,
    resource_type.LOCAL_QUEUES.plural,
)
"""Without these nothing can be said about a cluster."""


def screen(view: WorkerView | None, cluster: str, request: Request, workload: Workload) -> Evaluation | None:
    """The refusal, or that nothing is known; None when the cluster is worth a closer look."""
    if view is None:
        return _unknown(cluster, "NotKnownYet", "its objects have not been read yet")
    hidden = [plural for plural in view.unreadable if plural in NEEDED]
    if hidden:
        return _unknown(cluster, "NotReadable", f"the credential may not read {', '.join(hidden)}")
    if not view.version.supported:
        return _unknown(cluster, view.version.skew.value, view.version.message)
    integrations = view.capacity.status.integrations if view.capacity is not None else None
    if integrations and request.framework and request.framework not in integrations:
        return impossible(cluster, "KindNotServed", f"does not run {request.framework}")
    return _queues(view, cluster, Key(request.namespace, workload.spec.queue_name))


def _queues(view: WorkerView, cluster: str, key: Key) -> Evaluation | None:
    state = view.state
    labels = state.namespace_labels(key.namespace)
    if labels is None:
        return impossible(cluster, "NoNamespace", f"namespace {key.namespace} does not exist there")
    queue = state.local_queues.get(key)
    if queue is None:
        return impossible(cluster, "NoLocalQueue", f"LocalQueue {key} does not exist there")
    if queue.stopped:
        return impossible(cluster, names.STOPPED, f"LocalQueue {key} is stopped")
    activity = state.activity(queue.cluster_queue)
    if not activity.active:
        message = f"ClusterQueue {queue.cluster_queue}: {activity.message}"
        return impossible(cluster, activity.reason, message)
    if not state.cluster_queues[queue.cluster_queue].takes(labels):
        message = f"ClusterQueue {queue.cluster_queue} does not take namespace {key.namespace}"
        return impossible(cluster, names.MISCONFIGURED, message)
    return None


def _unknown(cluster: str, reason: str, message: str) -> Evaluation:
    return Evaluation(cluster, int(Outlook.UNKNOWN), reason, message)
