"""provisioning/: one reconcile of a Workload's ProvisioningRequests, or of an AdmissionCheck, as recorded."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from tests.conformance.case import Document
from tests.conformance.comparison import by_key, differences, multiset
from tests.conformance.multikueue_world import Cluster, error_differs, gates_of
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.meta import Key
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.resource_type import POD_TEMPLATES
from worker_agent.engine import intent_effects
from worker_agent.engine.intents import CreateObject, Intent, RecordEvent
from worker_agent.engine.provisioning import check_activity, decision
from worker_agent.engine.provisioning.decision import Creation, Order
from worker_agent.engine.provisioning.view import ProvisioningError, ProvisioningRules, ProvisioningView, is_named_owner

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""The recorded runs used the real clock; times are not compared."""

ALREADY_EXISTS = "already exists"


class World:
    """The recorded API server, and the create call that the case says fails."""

    def __init__(self, case: Document) -> None:
        self.cluster = Cluster.of(case["before"])
        self.events: list[Document] = []
        self._refusal: str = (case["expect"]["error"] or "") if case.get("createInterceptorError") else ""

    def run(self, intents: Sequence[Intent]) -> None:
        for intent in intents:
            if isinstance(intent, RecordEvent):
                told = {"type": intent.type, "reason": intent.reason, "key": str(intent.key), "message": intent.message}
                self.events.append(told)
            elif isinstance(intent, CreateObject):
                self._create(intent)
            else:
                self.cluster.write(intent, NOW)  # type: ignore[arg-type]

    def _create(self, create: CreateObject) -> None:
        refused = "PodTemplate" if "PodTemplate" in self._refusal else "ProvisioningRequest"
        if self._refusal and create.resource.kind == refused:
            raise Refusal(self._refusal)
        place = (create.resource.kind, create.key)
        if place in self.cluster.objects:
            name = f'{create.resource.plural}.{create.resource.group} "{create.key.name}"'
            raise Refusal(f"{name} {ALREADY_EXISTS}")
        self.cluster.write(create, NOW)


class Refusal(Exception):
    """What the API server answered to a creation."""


def reconcile(case: Document) -> list[str]:
    """TestProvisioningReconcile."""
    world = World(case)
    rules = ProvisioningRules(cleanup_on_eviction=gates_of(case)["CleanupProvisioningRequestsOnEviction"])
    error = reconciled(world, Key.parse(case["reconcile"]), rules)
    lines = error_differs(case["expect"]["error"], error)
    lines += multiset(case["expect"]["events"], world.events, "event")
    return lines + _compare(case["expect"]["objects"], list(world.cluster.objects.values()))


def reconciled(world: World, key: Key, rules: ProvisioningRules) -> str | None:
    """One reconcile of the Workload in this world; the error that ended it."""
    view = _view(world.cluster, key)
    decided = decision.decide(view, rules, NOW)
    world.run(decided.intents)
    if decided.error:
        return decided.error
    for order in decided.orders:
        error = _carried_out(world, key, order)
        if error:
            return error
    return None


def _carried_out(world: World, key: Key, order: Order) -> str | None:
    if order.error:
        return order.error
    for creation in order.creations:
        error = _created(world, key, order, creation)
        if error:
            return error
    view = _view(world.cluster, key)
    try:
        made = world.cluster.objects["ProvisioningRequest", order.request]
        world.run([*decision.created(view, order), *decision.handovers(view, made)])
    except ProvisioningError as problem:
        return str(problem)
    return None


def _created(world: World, key: Key, order: Order, creation: Creation) -> str | None:
    error = creation.error
    if not error:
        try:
            world.run(creation.intents)
            return None
        except Refusal as refusal:
            error = str(refusal)
    seen = (creation.resource.kind, creation.key) in world.cluster.objects
    if seen or not error.endswith(ALREADY_EXISTS):
        world.run(decision.refused(_view(world.cluster, key), order, creation, error, NOW))
    return error


def _view(cluster: Cluster, key: Key) -> ProvisioningView:
    return ProvisioningView(
        workload=cluster.objects["Workload", key],
        checks=_typed(cluster, "AdmissionCheck", AdmissionCheck),
        configs=_typed(cluster, "ProvisioningRequestConfig", ProvisioningRequestConfig),
        requests=tuple(r for r in cluster.of_kind("ProvisioningRequest") if is_named_owner(r, key.name)),
        flavors=_typed(cluster, "ResourceFlavor", ResourceFlavor),
        template=lambda name: cluster.objects.get((POD_TEMPLATES.kind, Key(key.namespace, name))),
    )


def _typed(cluster: Cluster, kind: str, type_: type) -> dict[str, object]:
    return {found["metadata"]["name"]: msgspec.convert(found, type_, strict=False) for found in cluster.of_kind(kind)}


def _compare(expected: list[Document], actual: list[Document]) -> list[str]:
    wanted, found = ({key: _compared(o) for key, o in by_key(objects).items()} for objects in (expected, actual))  # type: ignore[arg-type]
    ignore = ("lastTransitionTime", "requeueAt", "restartPolicy")
    return differences(wanted, found, ignore=ignore, keyed={"admissionChecks": "name"}, zeros_absent=True)


def _compared(document: Document) -> Document:
    """Of Workloads no metadata, of ProvisioningRequests names and labels alone, of everything else all."""
    if document["kind"] == "Workload":
        return {**document, "metadata": {}}
    if document["kind"] == "ProvisioningRequest":
        return {**document, "metadata": {"labels": document["metadata"].get("labels")}}
    return document


def admission_check(case: Document) -> list[str]:
    """TestProvisioningReconcileAdmissionCheck."""
    cluster = Cluster.of(case["before"])
    place = ("AdmissionCheck", Key("", case["reconcile"]))
    check = msgspec.convert(cluster.objects[place], AdmissionCheck, strict=False)
    configs = _typed(cluster, "ProvisioningRequestConfig", ProvisioningRequestConfig)
    for write in check_activity.written(check, check_activity.condition(check, configs)):  # type: ignore[arg-type]
        cluster.write(write, NOW)
    found = intent_effects.find_condition(cluster.objects[place], "Active")
    return differences(case["expect"]["condition"], found, ignore=("lastTransitionTime",), zeros_absent=True)


RUNNERS = {
    "TestProvisioningReconcile": reconcile,
    "TestProvisioningReconcileAdmissionCheck": admission_check,
}
