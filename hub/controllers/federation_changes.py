"""What an administrator changes on the manager that can alter where work may go: nothing on a worker tells of it."""

from collections.abc import Callable
from typing import Any

from hub.controllers.federation_objects import FederationObjects
from worker_agent.api import names
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.dispatch_policy import DispatchPolicy, DispatchPolicySpec
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.kube.informer import Event


def watch(objects: FederationObjects, places: Callable[[], None], policies: Callable[[], None]) -> None:
    """``places()`` when there are other clusters, or one of them is cordoned, opened or labelled anew.

    ``policies()`` when a DispatchPolicy changes, or a queue comes under another one. Status alone counts for neither:
    contact is told by the connections themselves.
    """
    objects.clusters.add_handler(_calling(places, _cluster))
    objects.configs.add_handler(_calling(places, _config))
    objects.checks.add_handler(_calling(places, _check))
    objects.policies.add_handler(_calling(policies, _policy))
    objects.queues.add_handler(_calling(policies, _queue))


def _calling(handler: Callable[[], None], what_counts: Callable[[Any], object]) -> Callable[[Event[Any]], None]:
    def changed(event: Event[Any]) -> None:
        before = what_counts(event.old) if event.old is not None else None
        after = what_counts(event.new) if event.new is not None else None
        if before != after:
            handler()

    return changed


def _cluster(cluster: MultiKueueCluster) -> object:
    """Regions and the place of data are labels."""
    metadata = cluster.metadata
    return metadata.annotation(names.CORDONED_ANNOTATION), metadata.labels or {}, metadata.deletion_timestamp is None


def _config(config: MultiKueueConfig) -> object:
    return config.spec.clusters


def _check(check: AdmissionCheck) -> object:
    return check.spec.controller_name, check.spec.parameters


def _policy(policy: DispatchPolicy) -> DispatchPolicySpec:
    return policy.spec


def _queue(queue: ClusterQueue) -> str:
    """A queue that names no policy comes under the default one, as does one that is not there."""
    return queue.metadata.annotation(names.DISPATCH_POLICY_ANNOTATION)
