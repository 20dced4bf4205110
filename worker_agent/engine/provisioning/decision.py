"""One reconcile of a Workload's ProvisioningRequests (spec/tas 19.2).

``decide`` gives the writes that can be decided beforehand, and then orders: objects to create one after the other. What
an order leads to depends on the server's answers, so the shell carries it out step by step: ``created`` after the last
object, ``refused`` after the first that cannot be made. Whatever was made by then stays; the next reconcile goes on
from there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from worker_agent.api import names
from worker_agent.api.document import Document, at
from worker_agent.api.meta import Key
from worker_agent.api.pod_set_info import InvalidPodSetInfo
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_type import POD_TEMPLATES, PROVISIONING_REQUESTS, WORKLOADS, ResourceType
from worker_agent.engine import reservation, workload_status
from worker_agent.engine.check_parameters import BadReference
from worker_agent.engine.intents import CreateObject, DeleteObject, Intent, RecordEvent
from worker_agent.engine.job_pod_sets import FlavorMissing
from worker_agent.engine.provisioning import check_activity, check_states, need, request_names, request_objects
from worker_agent.engine.provisioning.check_states import Check
from worker_agent.engine.provisioning.view import (
    ProvisioningError,
    ProvisioningRules,
    ProvisioningView,
    is_owned,
    name_of,
    uid_of,
)
from worker_agent.engine.workload_status import StatusDraft


@dataclass(frozen=True, slots=True)
class Creation:
    """An object to create; ``error`` says why it cannot even be made up."""

    resource: ResourceType
    key: Key
    document: Document | None = None
    error: str = ""
    leftover: Document | None = None
    """What stands in its place, made for other pods."""

    @property
    def intents(self) -> list[Intent]:
        if self.document is None:
            return []
        manager = names.PROVISIONING_CONTROLLER
        create = CreateObject(resource=self.resource, document=self.document, field_manager=manager)
        return [*([_deletion(self.resource, self.leftover)] if self.leftover is not None else []), create]


@dataclass(frozen=True, slots=True)
class Order:
    """What one check needs: objects to create, none where they exist, and then the templates to hand over.

    ``error`` ends the reconcile in place of the first creation.
    """

    check: str
    request: Key
    creations: tuple[Creation, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """Writes, then orders, in their order; ``error`` ends the reconcile after the writes."""

    intents: tuple[Intent, ...] = ()
    orders: tuple[Order, ...] = ()
    error: str = ""


NOTHING = Decision()


def decide(view: ProvisioningView, rules: ProvisioningRules, now: datetime) -> Decision:
    """What this Workload's requests and checks need now."""
    workload = view.workload
    finished = workload_status.is_true(workload, names.FINISHED)
    evicted = workload_status.is_true(workload, names.EVICTED)
    if finished or (evicted and rules.cleanup_on_eviction):
        return Decision(tuple(_deletions(view.requests)))
    if evicted or not reservation.has_quota(workload):
        return NOTHING
    try:
        checks = _checks(view)
    except (ProvisioningError, BadReference) as error:
        return Decision(error=str(error))
    draft = StatusDraft(workload, now)
    events = check_states.sync(draft, checks)
    kept = {name_of(check.request) for check in checks.values() if check.request is not None}
    unused = _deletions(request for request in view.requests if name_of(request) not in kept)
    orders = [
        order
        for check in checks.values()
        if check.config is not None and check.needed and check.state != names.CHECK_READY
        for order in _order(view, rules, check, check.config)
    ]
    return Decision((*draft.intents(), *events, *unused), tuple(orders))


def _deletions(requests: Iterable[Document]) -> list[Intent]:
    return [
        _deletion(PROVISIONING_REQUESTS, request)
        for request in requests
        if not request["metadata"].get("deletionTimestamp")
    ]


def _deletion(resource: ResourceType, document: Document) -> DeleteObject:
    return DeleteObject(resource=resource, key=workload_status.key_of(document), uid=uid_of(document))


# -- what there is ---------------------------------------------------------------------------------------------------


def _checks(view: ProvisioningView) -> dict[str, Check]:
    """Our checks of the Workload with what was found for each. Raises ProvisioningError, BadReference."""
    found: dict[str, Check] = {}
    for entry in at(view.workload, ("status", "admissionChecks"), []):
        admission_check = view.checks.get(entry["name"])
        if admission_check is None or not check_activity.is_ours(admission_check):
            continue
        check = found[entry["name"]] = Check(entry["name"], entry)
        check.config = view.configs.get(check_activity.config_name(admission_check))
    for check in found.values():
        if check.config is not None:
            check.needed = need.is_needed(view.workload, check.config)
        if check.config is not None and check.needed:
            _select(view, check, check.config)
    return found


def _select(view: ProvisioningView, check: Check, config: ProvisioningRequestConfig) -> None:
    """The request of the highest attempt that was made under this configuration."""
    highest = check_states.retry_strategy(config).backoff_limit_count + check.retry_count + 1
    for request in view.requests:
        attempt = request_names.attempt_of(name_of(request), name_of(view.workload), check.name, highest)
        usable = attempt is not None and is_owned(request, view.workload) and _suits(request, config, view.workload)
        if usable and attempt is not None and (check.request is None or attempt > check.attempt):
            check.request, check.attempt = request, attempt


def _suits(request: Document, config: ProvisioningRequestConfig, workload: Document) -> bool:
    """Same class, and every configured parameter as configured or as the Workload's annotations had it replaced."""
    if at(request, ("spec", "provisioningClassName"), "") != config.spec.provisioning_class_name:
        return False
    has = at(request, ("spec", "parameters"), {})
    own = request_objects.own_parameters(workload)
    return all(
        key in has and has[key] in (value, own.get(key, value)) for key, value in (config.spec.parameters or {}).items()
    )


# -- what is to be made ----------------------------------------------------------------------------------------------


def _order(
    view: ProvisioningView, rules: ProvisioningRules, check: Check, config: ProvisioningRequestConfig
) -> list[Order]:
    namespace = view.key.namespace
    attempt = _next_attempt(view, check)
    if attempt is None:
        return [Order(check.name, Key(namespace, name_of(check.request)))] if check.request is not None else []
    name = request_names.request_name(name_of(view.workload), check.name, attempt)
    key = Key(namespace, name)
    try:
        asked = need.asked_pod_sets(view.workload, config)
    except ProvisioningError as error:
        return [Order(check.name, key, error=str(error))]
    creations = []
    for entry in asked:
        place = Key(namespace, request_names.template_name(name, entry.name))
        creation = _template(view, rules, name, entry, place)
        if creation is not None:
            creations.append(creation)
    document = request_objects.request(view.workload, name, config, asked)
    return [Order(check.name, key, (*creations, Creation(PROVISIONING_REQUESTS, key, document)))]


def _next_attempt(view: ProvisioningView, check: Check) -> int | None:
    """The attempt to make now; None when the one that was made goes on."""
    if check.request is None:
        return check.retry_count + 1
    expired = check.says(names.REQUEST_BOOKING_EXPIRED) and not workload_status.is_true(view.workload, names.ADMITTED)
    over = check.says(names.REQUEST_FAILED) or expired
    return check.attempt + 1 if over and check.state == names.CHECK_PENDING else None


def _template(
    view: ProvisioningView, rules: ProvisioningRules, request: str, entry: need.AskedPodSet, key: Key
) -> Creation | None:
    """None where the template is there already."""
    try:
        document = request_objects.template(
            view.workload, request, entry, view.flavors, topology_aware=rules.topology_aware
        )
    except (FlavorMissing, InvalidPodSetInfo) as error:
        return None if view.template(key.name) else Creation(POD_TEMPLATES, key, error=str(error))
    present = view.template(key.name)
    if present is not None and not request_objects.is_leftover(present, document, view.workload):
        return None
    return Creation(POD_TEMPLATES, key, document, leftover=present)


# -- what comes of it ------------------------------------------------------------------------------------------------


def created(view: ProvisioningView, order: Order) -> list[Intent]:
    """The event that tells of a new request."""
    if not order.creations:
        return []
    message = f'Created ProvisioningRequest: "{order.request.name}"'
    return [_event(view, "ProvisioningRequestCreated", message)]


def handovers(view: ProvisioningView, request: Document) -> list[Intent]:
    """The templates that the request names become its own. Raises ProvisioningError."""
    patches: list[Intent] = []
    for entry in at(request, ("spec", "podSets"), []):
        template = view.template(at(entry, ("podTemplateRef", "name"), ""))
        patch = None if template is None else request_objects.handover(template, request, view.workload)
        if patch is not None:
            patches.append(patch)
    return patches


def refused(view: ProvisioningView, order: Order, creation: Creation, error: str, now: datetime) -> list[Intent]:
    """An object could not be made: an event, and the check says why; its state stays."""
    message = f'Error creating {creation.resource.kind} "{creation.key.name}": {error}'
    draft = StatusDraft(view.workload, now)
    entries = {
        entry["name"]: {**entry, "message": message}
        for entry in draft.status.get("admissionChecks") or ()
        if entry["name"] == order.check
    }
    check_states.write(draft, entries)
    return [*draft.intents(), _event(view, "FailedCreate", message, "Warning")]


def _event(view: ProvisioningView, reason: str, message: str, type_: str = "Normal") -> RecordEvent:
    return RecordEvent(resource=WORKLOADS, key=view.key, reason=reason, message=message, type=type_, uid=view.uid)
