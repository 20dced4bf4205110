"""What the autoscaler's answers mean for the Workload's checks (spec/tas 19.5 and 19.6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document, at
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig, ProvisioningRequestRetryStrategy
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import intent_effects, workload_status
from worker_agent.engine.intents import RecordEvent
from worker_agent.engine.provisioning import request_names
from worker_agent.engine.provisioning.view import holds, name_of
from worker_agent.engine.workload_status import StatusDraft

INACTIVE = "the check is not active"
NOT_NEEDED = "the provisioning request is not needed"


@dataclass(slots=True)
class Check:
    """One check of the Workload that our controller decides, and what was found for it."""

    name: str
    entry: Document
    """Its entry in the Workload's status, as it shall be."""
    config: ProvisioningRequestConfig | None = None
    """None: the check is not active, its configuration is missing."""
    needed: bool = False
    request: Document | None = None
    """The request of the latest attempt under this configuration."""
    attempt: int = 0
    before: Document = field(init=False)

    def __post_init__(self) -> None:
        self.before = self.entry

    @property
    def state(self) -> str:
        return str(self.entry.get("state", names.CHECK_PENDING))

    @property
    def retry_count(self) -> int:
        return int(self.entry.get("retryCount") or 0)

    def says(self, condition: str) -> bool:
        """Whether the autoscaler says so of the selected request."""
        return self.request is not None and holds(self.request, condition)

    def message_of(self, condition: str) -> str:
        found = intent_effects.find_condition(self.request or {}, condition)
        return str((found or {}).get("message", ""))

    def change(self, **fields: Any) -> None:
        """Fields of the entry by their JSON names; None removes one."""
        changed = {**self.entry, **fields}
        changed["message"] = intent_effects.truncated(
            changed.get("message", ""), intent_effects.CONDITION_MESSAGE_BYTES
        )
        self.entry = {name: value for name, value in changed.items() if value is not None}


def retry_strategy(config: ProvisioningRequestConfig) -> ProvisioningRequestRetryStrategy:
    return config.spec.retry_strategy or ProvisioningRequestRetryStrategy()


def backoff_seconds(strategy: ProvisioningRequestRetryStrategy, retry: int) -> int:
    """Wait before the ``retry``-th retry (from 1): the base, doubled each time, up to the longest."""
    doublings = min(retry - 1, 31)
    return min(strategy.backoff_base_seconds << doublings, strategy.backoff_max_seconds)


def sync(draft: StatusDraft, checks: Mapping[str, Check]) -> list[RecordEvent]:
    """Bring the checks' entries in ``draft`` to what their requests say; returns the events that tell of it.

    While any check waits for its first request nothing is written for any of them.
    """
    if any(check.config is not None and check.needed and check.request is None for check in checks.values()):
        return []
    for check in checks.values():
        _judge(check, draft)
    changed = {name: check for name, check in checks.items() if check.entry != check.before}
    if not changed:
        return []
    now = timestamps.rfc3339(draft.now)
    for check in changed.values():
        if check.state != check.before.get("state"):
            check.change(lastTransitionTime=now)
    write(draft, {name: check.entry for name, check in changed.items()})
    return [_event(draft, check) for check in changed.values() if check.state != check.before.get("state")]


def write(draft: StatusDraft, entries: Mapping[str, Document]) -> None:
    """Put these entries in the place of those of the same name."""
    present = draft.status.get("admissionChecks") or ()
    draft.put(admissionChecks=[entries.get(entry["name"], entry) for entry in present])


def _judge(check: Check, draft: StatusDraft) -> None:
    if check.config is None:
        check.change(state=names.CHECK_PENDING, message=INACTIVE)
    elif not check.needed:
        if check.state != names.CHECK_READY:
            check.change(state=names.CHECK_READY, message=NOT_NEEDED, podSetUpdates=None)
    else:
        _answered(check, check.config, draft)


def _answered(check: Check, config: ProvisioningRequestConfig, draft: StatusDraft) -> None:
    admitted = draft.is_true(names.ADMITTED)
    if check.says(names.REQUEST_FAILED):
        _failed(check, config, names.REQUEST_FAILED, "Retrying after failure")
    elif check.says(names.REQUEST_CAPACITY_REVOKED):
        if draft.spec.get("active") is not False:
            check.change(state=names.CHECK_REJECTED, message=check.message_of(names.REQUEST_CAPACITY_REVOKED))
    elif check.says(names.REQUEST_BOOKING_EXPIRED):
        if not admitted:
            _failed(check, config, names.REQUEST_BOOKING_EXPIRED, "Retrying after booking expired")
    elif check.says(names.REQUEST_PROVISIONED):
        if check.state != names.CHECK_READY:
            message = check.message_of(names.REQUEST_PROVISIONED)
            updates = pod_set_updates(check, config, draft.document)
            check.change(state=names.CHECK_READY, message=message, podSetUpdates=updates)
    elif check.says(names.REQUEST_ACCEPTED):
        if intent_effects.find_condition(check.request or {}, names.REQUEST_PROVISIONED) is not None:
            check.change(state=names.CHECK_PENDING, message=check.message_of(names.REQUEST_PROVISIONED))
    else:
        check.change(state=names.CHECK_PENDING, message="")


def _failed(check: Check, config: ProvisioningRequestConfig, condition: str, retrying: str) -> None:
    strategy = retry_strategy(config)
    message = check.message_of(condition)
    if check.attempt > strategy.backoff_limit_count:
        check.change(state=names.CHECK_REJECTED, message=message)
        return
    check.change(message=f"{retrying}: {message}")
    if check.attempt > check.retry_count:
        seconds = backoff_seconds(strategy, check.retry_count + 1)
        check.change(state=names.CHECK_RETRY, requeueAfterSeconds=seconds)


def pod_set_updates(check: Check, config: ProvisioningRequestConfig, workload: Document) -> list[Document]:
    """What the pods need in order to use the room: one entry per pod set of the request."""
    request = check.request or {}
    details = at(request, ("status", "provisioningClassDetails"), {})
    selectors = (config.spec.pod_set_updates and config.spec.pod_set_updates.node_selector) or ()
    selector = {
        wanted.key: details[wanted.value_from_provisioning_class_detail]
        for wanted in selectors
        if wanted.value_from_provisioning_class_detail in details
    }
    named = {
        request_names.template_name(name_of(request), name): name
        for name in (ps.get("name", names.DEFAULT_POD_SET_NAME) for ps in at(workload, ("spec", "podSets"), []))
    }
    annotations = {
        names.CONSUME_REQUEST_ANNOTATION: name_of(request),
        names.PROVISIONING_CLASS_ANNOTATION: at(request, ("spec", "provisioningClassName"), ""),
    }
    updates = []
    for entry in at(request, ("spec", "podSets"), []):
        pod_set = named.get(at(entry, ("podTemplateRef", "name"), ""))
        if pod_set is not None:
            update: Document = {"name": pod_set, "annotations": annotations}
            updates.append({**update, "nodeSelector": selector} if selector else update)
    return updates


def _event(draft: StatusDraft, check: Check) -> RecordEvent:
    text = f"Admission check {check.name} updated state from {check.before.get('state', '')} to {check.state}"
    message = check.entry.get("message", "")
    return RecordEvent(
        resource=WORKLOADS,
        key=workload_status.key_of(draft.original),
        reason="AdmissionCheckUpdated",
        message=f"{text} with message: {message}" if message else text,
    )
