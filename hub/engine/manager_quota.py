"""Quota of a manager's ClusterQueue as the sum of what the workers have for it (spec section 14)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.engine.condition import Stand
from worker_agent.api import names, quantity
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue, ResourceGroup
from worker_agent.api.document import Document

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


def multikueue_check(queue: ClusterQueue, checks: Callable[[str], AdmissionCheck | None]) -> AdmissionCheck | None:
    """The queue's MultiKueue check; None when it has none, or when its object is missing."""
    strategy = queue.spec.admission_checks_strategy
    for rule in (strategy.admission_checks if strategy is not None else None) or ():
        check = checks(rule.name)
        if check is not None and check.spec.controller_name == names.MULTIKUEUE_CONTROLLER:
            return check
    return None


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
