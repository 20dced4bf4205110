"""ProvisioningRequests' shell: gathers a Workload's view, carries out what ``engine.provisioning`` decides."""

from collections.abc import Iterable, Sequence
from typing import Any

from worker_agent.api import need
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_type import (
    ADMISSION_CHECKS,
    POD_TEMPLATES,
    PROVISIONING_REQUEST_CONFIGS,
    PROVISIONING_REQUESTS,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from worker_agent.api.workload import Workload
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine.intents import DeleteObject, Intent
from worker_agent.engine.provisioning import check_activity, decision
from worker_agent.engine.provisioning.decision import Creation, Order
from worker_agent.engine.provisioning.view import (
    ProvisioningError,
    ProvisioningRules,
    ProvisioningView,
    is_named_owner,
    uid_of,
)
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import AlreadyExists, ApiError, ReconcileError
from worker_agent.kube.informer import Event, EventType

OWNER_INDEX = "owning workload"
"""ProvisioningRequests by ``namespace/name`` of the Workloads that they name as owners."""

CHECK_INDEX = "admission check"
"""Workloads by the AdmissionChecks in their status."""

DELETED_SECONDS = 10.0
"""What we deleted is taken for gone for so long, whatever the watch shows; if it shows it still, it is there."""


NEEDS = (
    need.of(PROVISIONING_REQUESTS, "create", "delete"),
    need.of(POD_TEMPLATES, "create", "patch"),
    need.of(POD_TEMPLATES, "delete", unseen="those whose request could not be made"),
    *(need.of(resource, "get", unseen=need.LOST_RACE) for resource in (PROVISIONING_REQUESTS, POD_TEMPLATES)),
    need.of(
        WORKLOADS,
        "update",
        subresource="finalizers",
        unseen="asked for where the plugin OwnerReferencesPermissionEnforcement is on: requests are held by Workloads",
    ),
)


def owners_of(request: Document) -> Iterable[str]:
    metadata = request["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        yield f"{metadata.get('namespace', '')}/{owner.get('name', '')}"


def checks_of(workload: Workload) -> Iterable[str]:
    for check in workload.status.admission_checks or ():
        yield check.name


class ProvisioningController:
    """Reconciles every Workload with one of our checks when it, its requests or their configuration change.

    The kinds it reads are to be followed, ProvisioningRequests and PodTemplates as documents, before it is made.
    """

    def __init__(self, known: KnownObjects, applier: Applier, rules: ProvisioningRules, clock: Clock) -> None:
        self._known = known
        self._applier = applier
        self._rules = rules
        self._clock = clock
        self._deleted: dict[str, float] = {}
        """Requests by UID that we deleted and the watch still shows, and until when that is believed."""
        self.controller: Controller[Key] = Controller("provisioning", self._reconcile, workers=5, clock=clock)
        self._requests = known.informer(PROVISIONING_REQUESTS)
        self._workloads = known.informer(WORKLOADS)
        self._requests.add_index(OWNER_INDEX, owners_of)
        self._workloads.add_index(CHECK_INDEX, checks_of)
        self._requests.add_handler(self._request_changed)
        self._workloads.add_handler(self._workload_changed)
        known.informer(ADMISSION_CHECKS).add_handler(self._check_changed)
        known.informer(PROVISIONING_REQUEST_CONFIGS).add_handler(self._config_changed)

    async def run(self) -> None:
        await self.controller.run()

    # -- what sets it off --------------------------------------------------------------------------------------------

    def _workload_changed(self, event: Event[Workload]) -> None:
        if event.new is not None and event.new.status.admission_checks:
            self.controller.enqueue(event.key)

    def _request_changed(self, event: Event[Document]) -> None:
        if event.type is EventType.DELETED and event.old is not None:
            self._deleted.pop(uid_of(event.old), None)
            self._enqueue_namesakes(event.key)
        for request in (event.old, event.new):
            for owner in owners_of(request) if request is not None else ():
                self.controller.enqueue(Key.parse(owner))

    def _enqueue_namesakes(self, request: Key) -> None:
        """A request in whose way this one stood, whoever made it, can be made now."""
        for check in self._known.informer(ADMISSION_CHECKS).values():
            if check_activity.is_ours(check):
                for workload in self._workloads.by_index(CHECK_INDEX, check.metadata.name):
                    key = workload.metadata.key
                    if key.namespace == request.namespace and request.name.startswith(f"{key.name}-"):
                        self.controller.enqueue(key)

    def _check_changed(self, event: Event[AdmissionCheck]) -> None:
        before, after = event.old, event.new
        ours = any(check is not None and check_activity.is_ours(check) for check in (before, after))
        if ours and (before is None or after is None or before.spec != after.spec):
            self._enqueue_users(event.key.name)

    def _config_changed(self, event: Event[ProvisioningRequestConfig]) -> None:
        before, after = event.old, event.new
        if before is not None and after is not None and _same(before, after):
            return
        for check in self._known.informer(ADMISSION_CHECKS).values():
            parameters = check.spec.parameters
            if check_activity.is_ours(check) and parameters is not None and parameters.name == event.key.name:
                self._enqueue_users(check.metadata.name)

    def _enqueue_users(self, check: str) -> None:
        for workload in self._workloads.by_index(CHECK_INDEX, check):
            self.controller.enqueue(workload.metadata.key)

    # -- one Workload ------------------------------------------------------------------------------------------------

    async def _reconcile(self, key: Key) -> float | None:
        view = self._view(key)
        if view is None:
            return None
        decided = decision.decide(view, self._rules, self._clock.now())
        await self._apply(decided.intents, key)
        if decided.error:
            raise ReconcileError(decided.error)
        for order in decided.orders:
            await self._carry_out(order, key)
        return None

    async def _carry_out(self, order: Order, key: Key) -> None:
        if order.error:
            raise ReconcileError(order.error)
        for creation in order.creations:
            await self._create(order, creation, key)
        view = self._view(key)
        request = self._known.document(PROVISIONING_REQUESTS, order.request)
        if view is None or request is None:
            return
        await self._applier.apply(decision.created(view, order))
        try:
            await self._applier.apply(decision.handovers(view, request))
        except ProvisioningError as problem:
            raise ReconcileError(str(problem)) from None

    async def _create(self, order: Order, creation: Creation, key: Key) -> None:
        if creation.error:
            await self._tell_refusal(order, creation, key, creation.error)
            raise ReconcileError(creation.error)
        try:
            await self._applier.apply(creation.intents)
        except AlreadyExists as error:
            # One that our caches do not show yet: they will, and then it is known what to make of it.
            if self._known.document(creation.resource, creation.key) is not None:
                await self._tell_refusal(order, creation, key, error.message)
                raise ReconcileError(error.message) from None
            raise
        except ApiError as error:
            await self._tell_refusal(order, creation, key, error.message)
            raise

    async def _tell_refusal(self, order: Order, creation: Creation, key: Key, error: str) -> None:
        view = self._view(key)
        if view is not None:
            await self._applier.apply(decision.refused(view, order, creation, error, self._clock.now()))

    async def _apply(self, intents: Sequence[Intent], key: Key) -> None:
        await self._applier.apply(intents)
        for intent in intents:
            if isinstance(intent, DeleteObject) and intent.resource == PROVISIONING_REQUESTS:
                self._deleted[intent.uid] = self._clock.monotonic() + DELETED_SECONDS
                self.controller.enqueue(key, DELETED_SECONDS)

    def _view(self, key: Key) -> ProvisioningView | None:
        workload = self._known.document(WORKLOADS, key)
        if workload is None:
            return None
        return ProvisioningView(
            workload=workload,
            checks=_by_name(self._known.informer(ADMISSION_CHECKS).values()),
            configs=_by_name(self._known.informer(PROVISIONING_REQUEST_CONFIGS).values()),
            requests=self._requests_of(key),
            flavors=_by_name(self._known.informer(RESOURCE_FLAVORS).values()),
            template=lambda name: self._known.document(POD_TEMPLATES, Key(key.namespace, name)),
        )

    def _requests_of(self, key: Key) -> tuple[Document, ...]:
        found = self._known.documents(PROVISIONING_REQUESTS, OWNER_INDEX, str(key))
        return tuple(
            request
            for request in found
            if request["metadata"].get("namespace", "") == key.namespace
            and is_named_owner(request, key.name)
            and self._clock.monotonic() >= self._deleted.get(uid_of(request), 0.0)
        )


def _same(before: ProvisioningRequestConfig, after: ProvisioningRequestConfig) -> bool:
    """Whether nothing changed that tells which request suits a check."""
    return (
        before.spec.provisioning_class_name == after.spec.provisioning_class_name
        and before.spec.parameters == after.spec.parameters
        and set(before.spec.managed_resources or ()) == set(after.spec.managed_resources or ())
    )


def _by_name(objects: Iterable[Any]) -> dict[str, Any]:
    return {item.metadata.name: item for item in objects}
