"""Quota of a manager's ClusterQueue as the sum of what the workers have for it (spec section 14)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from hub.engine import admission_check, group_loading
from hub.engine.condition import Stand
from worker_agent.api import quantity
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue, ResourceGroup
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueConfig

CONDITION: Final = "MultiKueueManagerQuotaAutomation"
AUTOMATED: Final = "Automated"
UNSUPPORTED: Final = "UnsupportedConfiguration"


@dataclass(frozen=True, slots=True)
class Automation:
    """The condition to show, and the resource groups to write where they differ from what is there."""

    stand: Stand
    resource_groups: list[Document] | None = None


CONFIG_MISSING: Final = Automation(Stand("False", UNSUPPORTED, "The referenced MultiKueueConfig was not found."))
NOT_REQUESTED: Final = Automation(
    Stand("False", "NotRequested", "MultiKueue manager quota automation has not been requested.")
)
_MANY_FLAVORS: Final = "Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor"


class Manager(Protocol):
    """The manager's own objects."""

    def admission_check(self, name: str) -> AdmissionCheck | None: ...

    def config(self, name: str) -> MultiKueueConfig | None: ...


class Worker(Protocol):
    """The queues of a connected worker."""

    def local_queue(self, key: Key) -> LocalQueue | None: ...

    def cluster_queue(self, name: str) -> ClusterQueue | None: ...


def check_names(queue: ClusterQueue) -> list[str]:
    """The AdmissionChecks the queue lists, in its order."""
    strategy = queue.spec.admission_checks_strategy
    return [rule.name for rule in (strategy.admission_checks if strategy is not None else None) or ()]


def multikueue_check(queue: ClusterQueue, manager: Manager) -> AdmissionCheck | None:
    """The queue's MultiKueue check; None when it has none, or when its object is missing."""
    found = (manager.admission_check(name) for name in check_names(queue))
    return next((check for check in found if check is not None and group_loading.is_multikueue(check)), None)


def judge(
    queue: ClusterQueue, local_queues: Iterable[Key], manager: Manager, workers: Mapping[str, Worker]
) -> Automation | None:
    """What is to become of the queue; None when it has no MultiKueue check, and so nothing to tell of.

    ``local_queues`` are those that lead to it, ``workers`` the connected ones. Raises BadReference where the check's
    parameters are wrong.
    """
    check = multikueue_check(queue, manager)
    if check is None:
        return None
    config = manager.config(admission_check.config_name(check))
    if config is None:
        return CONFIG_MISSING
    keys = list(local_queues)
    connected = [workers[name] for name in config.spec.clusters if name in workers]
    return decide(queue, config.spec.quota_management, [each for worker in connected for each in _queues(worker, keys)])


def _queues(worker: Worker, local_queues: Iterable[Key]) -> list[ClusterQueue]:
    """The worker's ClusterQueues that namesakes of these LocalQueues lead to, each once."""
    found = (worker.local_queue(key) for key in local_queues)
    leads_to = sorted({local.spec.cluster_queue for local in found if local is not None})
    return [queue for name in leads_to if (queue := worker.cluster_queue(name)) is not None]


def decide(queue: ClusterQueue, management: str | None, remote_queues: Sequence[ClusterQueue]) -> Automation:
    """``remote_queues``: the workers' ClusterQueues that the namesakes of our LocalQueues lead to, each once."""
    if management != AUTOMATED:
        return NOT_REQUESTED
    groups = queue.spec.resource_groups
    if len(groups) != 1 or len(groups[0].flavors) != 1:
        return Automation(Stand("False", UNSUPPORTED, _MANY_FLAVORS))
    covered = groups[0].covered_resources
    totals = nominal_totals(remote_queues)
    missing = sorted(set(totals) - set(covered))
    if missing:
        message = f"manager-side coveredResources is missing resources configured on workers: [{' '.join(missing)}]"
        return Automation(Stand("False", UNSUPPORTED, message))
    return Automation(
        Stand("True", "QuotaAutomated", "ClusterQueue quota is automatically managed based on MultiKueue workers."),
        None if _has(groups[0], totals) else [_group(groups[0], totals)],
    )


def nominal_totals(queues: Iterable[ClusterQueue]) -> Counter[str]:
    """Nominal quota per resource over all groups and flavors, in the engine's integer units."""
    totals: Counter[str] = Counter()
    for queue in queues:
        for group in queue.spec.resource_groups:
            for flavor in group.flavors:
                for resource in flavor.resources:
                    totals[resource.name] += quantity.value(resource.name, resource.nominal_quota)
    return totals


def _has(group: ResourceGroup, totals: Mapping[str, int]) -> bool:
    resources = group.flavors[0].resources
    if sorted(resource.name for resource in resources) != sorted(group.covered_resources):
        return False
    return all(
        resource.borrowing_limit is None
        and resource.lending_limit is None
        and quantity.value(resource.name, resource.nominal_quota) == totals.get(resource.name, 0)
        for resource in resources
    )


def _group(group: ResourceGroup, totals: Mapping[str, int]) -> Document:
    """The group with the sums as quota; limits of borrowing and lending go, they meant the old numbers."""
    return {
        "coveredResources": list(group.covered_resources),
        "flavors": [
            {
                "name": group.flavors[0].name,
                "resources": [
                    {"name": name, "nominalQuota": quantity.format_value(name, totals.get(name, 0))}
                    for name in group.covered_resources
                ],
            }
        ],
    }
