"""What the device claims of one Workload come to, pod set by pod set."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from worker_agent.api import quantity
from worker_agent.api.meta import Key
from worker_agent.api.pod import PodSpec
from worker_agent.engine import resources
from worker_agent.engine.devices import claims, extended, measured
from worker_agent.engine.devices.inventory import DeviceInventory
from worker_agent.engine.devices.mappings import DeviceRules
from worker_agent.engine.devices.problem import DeviceProblem, internal, not_found
from worker_agent.engine.resources import Requests

DISABLED: Final = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
DIRECT_CLAIM: Final = "KueueDRAIntegration feature does not support use of resource claims"
DIRECT_CLAIM_REQUEUED: Final = "DRA resource claims not supported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Device claims that cannot be served: why the Workload may not be queued.

    ``requeued_message`` is told in Requeued where that differs; ``retry`` where the cluster may come to serve them.
    """

    message: str
    requeued_message: str = ""
    retry: bool = False


@dataclass(slots=True)
class DevicesOfPod:
    """Per pod: what is added to its requests, and the extended resources that this replaces."""

    added: Requests = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)

    def add(self, resource: str, amount: int) -> None:
        self.added[resource] = resources.plus(self.added.get(resource, 0), amount)

    def applied(self, requests: Requests) -> Requests:
        """The pod's requests with its devices in place of the extended resources they are."""
        kept = {name: amount for name, amount in requests.items() if name not in self.replaced}
        for name, amount in self.added.items():
            kept[name] = resources.plus(kept.get(name, 0), amount)
        return kept


def resolve(
    namespace: str,
    pod_sets: Sequence[tuple[str, PodSpec]],
    inventory: DeviceInventory,
    rules: DeviceRules,
) -> list[DevicesOfPod] | Refusal:
    """By pod set (name and pod), in order; a Refusal where one of them cannot be served."""
    if not rules.enabled:
        return Refusal(message=DISABLED)
    if any(claim.get("resourceClaimName") for _, spec in pod_sets for claim in spec.resource_claims or ()):
        return Refusal(message=DIRECT_CLAIM, requeued_message=DIRECT_CLAIM_REQUEUED)
    resolver = _Resolver(namespace, inventory, rules)
    try:
        return resolver.resolve(pod_sets)
    except DeviceProblem as problem:
        return Refusal(message=str(problem), retry=problem.passing)


@dataclass(frozen=True, slots=True)
class _Resolver:
    namespace: str
    inventory: DeviceInventory
    rules: DeviceRules

    def resolve(self, pod_sets: Sequence[tuple[str, PodSpec]]) -> list[DevicesOfPod]:
        """One kind of charge after the other over all pod sets: of several problems the first kind's is told."""
        found = [DevicesOfPod() for _ in pod_sets]
        steps = (self._count, self._extended, self._measure)
        for step in steps:
            for index, (name, spec) in enumerate(pod_sets):
                step(f"spec.podSets[{index}].template.spec", name, spec, found[index])
        return found

    def _count(self, path: str, pod_set: str, spec: PodSpec, found: DevicesOfPod) -> None:
        for at, template, claim in self._claims(path, pod_set, spec):
            try:
                requests = list(claims.requests_of(claim, at))
                claims.check_against_devices(claim, requests, self.inventory, self.rules, at)
            except DeviceProblem as problem:
                raise problem.within(template) from None
            for request in requests:
                mapping = self.rules.classes.get(request.device_class)
                if mapping is None:
                    what = f"DeviceClass {request.device_class} is not mapped in DRA configuration for podset {pod_set}"
                    raise not_found(f"{at}.resourceClaimTemplateName", what)
                if not self.rules.measured(request.device_class):
                    found.add(mapping.resource, quantity.value(mapping.resource, str(request.count)))

    def _extended(self, path: str, pod_set: str, spec: PodSpec, found: DevicesOfPod) -> None:
        if self.rules.extended_resources:
            totals, replaced = extended.resolve(spec, self.inventory, self.rules, path)
            found.replaced |= replaced
            for resource, count in totals.items():
                found.add(resource, quantity.value(resource, str(count)))

    def _measure(self, path: str, pod_set: str, spec: PodSpec, found: DevicesOfPod) -> None:
        for at, _, claim in self._claims(path, pod_set, spec):
            for request in claims.requests_of(claim, at):
                where = f"{at}.devices.requests[{request.index}]"
                resource = self.rules.classes[request.device_class].resource
                for sources, measure, what in (
                    (self.rules.counters_of(request.device_class), measured.by_counter, "counter"),
                    (self.rules.capacities_of(request.device_class), measured.by_capacity, "capacity"),
                ):
                    for source in sources:
                        amount = measured.charge(source, request, self.inventory, where, measure, what)
                        found.add(resource, quantity.value(resource, str(amount)))

    def _claims(self, path: str, pod_set: str, spec: PodSpec) -> Iterator[tuple[str, str, dict[str, object]]]:
        """(path, template, what the claim asks for) of each claim that is made of a template. Raises DeviceProblem."""
        for index, reference in enumerate(spec.resource_claims or ()):
            template = reference.get("resourceClaimTemplateName")
            if not template:
                continue
            at = f"{path}.resourceClaims[{index}]"
            claim = self.inventory.claim_spec(Key(self.namespace, template))
            if claim is None:
                detail = (
                    f"failed to get claim spec for ResourceClaimTemplate {template} in podset {pod_set}: "
                    f'resourceclaimtemplates.resource.k8s.io "{template}" not found'
                )
                raise internal(at, detail)
            yield at, template, claim
