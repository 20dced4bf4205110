"""What a workload that holds quota is waiting for, check by check; of those that ask an autoscaler, how that stands."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from worker_agent.api import names, timestamps
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.document import Document, at
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.engine import admission_checks, intent_effects, workload_status
from worker_agent.engine.check_parameters import BadReference
from worker_agent.engine.provisioning import check_activity, check_states, request_names
from worker_agent.engine.provisioning.view import is_owned, name_of
from worker_agent.engine.story_shortage import Tale

ANSWERS = (
    names.REQUEST_FAILED,
    names.REQUEST_CAPACITY_REVOKED,
    names.REQUEST_BOOKING_EXPIRED,
    names.REQUEST_PROVISIONED,
    names.REQUEST_ACCEPTED,
)
"""Conditions of a ProvisioningRequest, those that settle it first."""


class CheckTale(Tale, frozen=True):
    """One check that is not Ready. Times are RFC 3339, empty where there is none."""

    name: str
    state: str
    since: str = ""
    message: str = ""
    request: str = ""
    """The ProvisioningRequest by which an autoscaler is asked; the rest is about that."""
    provisioning_class: str = ""
    requested: str = ""
    """When it was made."""
    attempt: int = 0
    attempts: int = 0
    """How many there can be, the first included."""
    answer: str = ""
    """What the autoscaler said last, and when."""
    retry_at: str = ""
    """When the quota is given back and the next attempt may begin; in state Retry."""


def waiting_for(
    workload: Document,
    checks: Mapping[str, AdmissionCheck],
    configs: Mapping[str, ProvisioningRequestConfig],
    requests: Sequence[Document],
) -> tuple[CheckTale, ...]:
    """The checks that are not Ready, by name. ``requests`` are those of the workload's namespace."""
    found = []
    for entry in sorted(at(workload, ("status", "admissionChecks"), []), key=lambda entry: str(entry["name"])):
        if entry.get("state") != names.CHECK_READY:
            check = checks.get(entry["name"])
            config = _config(check, configs)
            found.append(_tale(workload, entry, config, requests))
    return tuple(found)


def _config(
    check: AdmissionCheck | None, configs: Mapping[str, ProvisioningRequestConfig]
) -> ProvisioningRequestConfig | None:
    if check is None or not check_activity.is_ours(check):
        return None
    try:
        return configs.get(check_activity.config_name(check))
    except BadReference:
        return None


def _tale(
    workload: Document, entry: Document, config: ProvisioningRequestConfig | None, requests: Sequence[Document]
) -> CheckTale:
    retry = admission_checks.retry_time({"status": {"admissionChecks": [entry]}})
    state = str(entry.get("state", ""))
    tale = CheckTale(
        name=str(entry["name"]),
        state=state,
        since=str(entry.get("lastTransitionTime") or ""),
        message=str(entry.get("message", "")),
        retry_at=timestamps.rfc3339(retry) if retry and state == names.CHECK_RETRY else "",
        provisioning_class=config.spec.provisioning_class_name if config is not None else "",
    )
    if config is None:
        return tale
    limit = check_states.retry_strategy(config).backoff_limit_count
    latest = _latest(workload, entry, requests, limit)
    if latest is None:
        return tale
    attempt, request = latest
    return msgspec.structs.replace(
        tale,
        request=name_of(request),
        requested=str(request["metadata"].get("creationTimestamp") or ""),
        attempt=attempt,
        attempts=max(attempt, limit + 1),
        answer=_answer(request),
    )


def _latest(
    workload: Document, entry: Document, requests: Sequence[Document], limit: int
) -> tuple[int, Document] | None:
    highest = limit + int(entry.get("retryCount") or 0) + 1
    found = [
        (attempt, request)
        for request in requests
        if is_owned(request, workload)
        and (attempt := request_names.attempt_of(name_of(request), name_of(workload), str(entry["name"]), highest))
    ]
    return max(found, key=lambda pair: pair[0], default=None)


def _answer(request: Document) -> str:
    """``Provisioned=False since 2026-01-01T12:00:00Z: 2 node(s) are being added``; empty before any answer."""
    for type_ in ANSWERS:
        condition = intent_effects.find_condition(request, type_)
        if condition is None or (condition.get("status") != "True" and type_ != names.REQUEST_PROVISIONED):
            continue
        since = workload_status.since(request, type_)
        moment = f" since {timestamps.rfc3339(since)}" if since != timestamps.ZERO else ""
        told = condition.get("message") or condition.get("reason") or ""
        return f"{type_}={condition.get('status')}{moment}" + (f": {told}" if told else "")
    return ""


def lines(check: CheckTale, now: datetime) -> list[str]:
    """The check in words; what follows the first line belongs under it."""
    since = f" since {check.since}{_ago(check.since, now)}" if check.since else ""
    first = f"check {check.name}: {check.state}{since}" + (f": {check.message}" if check.message else "")
    found = [first]
    if check.request:
        made = f", made {check.requested}{_ago(check.requested, now)}" if check.requested else ""
        found.append(f"  ProvisioningRequest {check.request} (attempt {check.attempt} of {check.attempts}{made})")
        found.append(f"  the autoscaler says: {check.answer or 'nothing yet'}")
    elif check.provisioning_class:
        found.append(f"  no ProvisioningRequest of class {check.provisioning_class} was made yet")
    if check.retry_at:
        found.append(f"  its quota is given back and the next attempt may begin at {check.retry_at}")
    return found


def _ago(moment: str, now: datetime) -> str:
    seconds = int((now - timestamps.parse(moment)).total_seconds())
    if seconds < 0:
        return ""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f" ({hours} h {minutes} min)"
    return f" ({minutes} min {seconds} s)" if minutes else f" ({seconds} s)"
