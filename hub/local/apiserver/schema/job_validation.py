"""Jobs and CronJobs checked as the real server checks them, on creation, on change and on change of status.

Source: kubernetes pkg/apis/batch/validation/validation.go and pkg/registry/batch/job/strategy.go.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from hub.local.apiserver.schema import (
    cron_schedule,
    field_errors,
    job_status_validation,
    name_rules,
    object_meta,
    pod_failure_validation,
    pod_validation,
)
from hub.local.apiserver.schema.field_errors import FieldError
from worker_agent.api import selectors
from worker_agent.api.document import Document, get
from worker_agent.api.meta import LabelSelector

CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
JOB_NAME: Final = "batch.kubernetes.io/job-name"
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
MOST_PARALLEL_INDEXED: Final = 100_000
COUNTS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def errors(job: Document, old: Document | None, subresource: str) -> Iterator[FieldError]:
    """All complaints about a Job; metadata's come from elsewhere."""
    if subresource == "status":
        yield from job_status_validation.errors(job, old or {})
        return
    spec = job.get("spec") or {}
    yield from _generated_errors(job)
    yield from spec_errors(spec, "spec")
    yield from _selector_errors(spec)
    yield from _hostname_errors(job)
    if old is not None:
        yield from update_errors(spec, old)


def _generated_errors(job: Document) -> Iterator[FieldError]:
    spec, metadata = job.get("spec") or {}, job["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    labels = get(spec, "template.metadata.labels", {})
    expected = {
        "controller-uid": metadata.get("uid", ""),
        "job-name": metadata.get("name", ""),
        CONTROLLER_UID: metadata.get("uid", ""),
        JOB_NAME: metadata.get("name", ""),
    }
    for label, value in expected.items():
        if labels.get(label) is None:
            words = f"must be '{value}'"
            yield field_errors.required(f"spec.template.metadata.labels[{label}]", words)
        elif labels[label] != value:
            yield field_errors.invalid(f"spec.template.metadata.labels[{label}]", labels, f"must be '{value}'")
    wanted = spec["selector"].get("matchLabels") or {}
    if any(expected.get(label) != value for label, value in wanted.items()):
        yield field_errors.invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def spec_errors(spec: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """Complaints about a JobSpec, in a Job or a CronJob's template."""
    for field in COUNTS:
        if spec.get(field) is not None and spec[field] < 0:
            yield field_errors.invalid(f"{path}.{field}", spec[field], NOT_NEGATIVE)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield field_errors.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.get("managedBy") is not None:
        yield from _managed_by_errors(spec["managedBy"], f"{path}.managedBy")
    yield from _mode_errors(spec, path)
    yield from pod_failure_validation.errors(spec, path)
    yield from _replacement_errors(spec, path)
    yield from pod_validation.template_errors(spec.get("template") or {}, f"{path}.template")
    yield from _restart_errors(spec, f"{path}.template.spec.restartPolicy")


def _managed_by_errors(name: str, path: str) -> Iterator[FieldError]:
    host, slash, rest = name.partition("/")
    if not name:
        yield field_errors.required(path)
    elif not slash or not host or not rest:
        yield field_errors.invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        for complaint in name_rules.dns1123_subdomain(host):
            yield field_errors.invalid(path, host, complaint)
        if not re.fullmatch(HTTP_PATH, rest):
            yield field_errors.invalid(path, rest, name_rules.described("Invalid path", HTTP_PATH))
    if len(name) > 63:
        yield field_errors.too_long(path, 63)


def _mode_errors(spec: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    mode = spec.get("completionMode")
    if mode == "Indexed":
        yield from _indexed_errors(spec, path)
        return
    if mode not in {None, "NonIndexed"}:
        yield field_errors.not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
        return
    for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(field) is not None:
            yield field_errors.invalid(f"{path}.{field}", spec[field], "requires indexed completion mode")


def _indexed_errors(spec: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        yield field_errors.required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > MOST_PARALLEL_INDEXED:
        words = f"must be less than or equal to {MOST_PARALLEL_INDEXED} when completion mode is Indexed"
        yield field_errors.invalid(f"{path}.parallelism", parallelism, words)
    if failed is not None:
        if completions is not None and failed > completions:
            words = "must be less than or equal to completions"
            yield field_errors.invalid(f"{path}.maxFailedIndexes", failed, words)
        if failed > MOST_PARALLEL_INDEXED:
            words = f"must be less than or equal to {MOST_PARALLEL_INDEXED}"
            yield field_errors.invalid(f"{path}.maxFailedIndexes", failed, words)


def _replacement_errors(spec: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    policy = spec.get("podReplacementPolicy")
    allowed = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    if policy is not None and policy not in allowed:
        yield field_errors.not_supported(f"{path}.podReplacementPolicy", policy, allowed)


def _restart_errors(spec: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    policy = get(spec, "template.spec.restartPolicy", "")
    if policy in {"", "Always"}:
        yield field_errors.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in {"OnFailure", "Never"}:
        yield field_errors.not_supported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        words = 'only "Never" is supported when podFailurePolicy is specified'
        yield field_errors.invalid(path, policy, words)


def _selector_errors(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        yield field_errors.required("spec.selector")
    else:
        yield from object_meta.label_errors(selector.get("matchLabels"), "spec.selector.matchLabels")
    labels = get(spec, "template.metadata.labels", {})
    if selector is None or not matches(selector, labels):
        words = "`selector` does not match template `labels`"
        yield field_errors.invalid("spec.template.metadata.labels", labels or None, words)


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects these labels; a malformed one is complained about elsewhere."""
    try:
        return selectors.matches(msgspec.convert(selector, LabelSelector), labels)
    except (ValueError, msgspec.MsgspecError):
        return True


def _hostname_errors(job: Document) -> Iterator[FieldError]:
    completions = get(job, "spec.completions", 0)
    if get(job, "spec.completionMode") == "Indexed" and completions > 0:
        name = job["metadata"].get("name", "")
        host = f"{name}-{completions - 1}"
        if name_rules.dns1123_label(host):
            words = f"will not able to create pod with invalid DNS label: {host}"
            yield field_errors.invalid("metadata.name", name, words)


def update_errors(spec: Mapping[str, Any], old: Document) -> Iterator[FieldError]:
    """What may not change in a Job's spec; a suspended Job that does not run may change where its pods go."""
    before = old.get("spec") or {}
    yield from _completions_errors(spec, before)
    yield from _immutable(spec, before, "selector")
    yield from _template_errors(spec, before, old)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        yield from _immutable(spec, before, field)


def _immutable(spec: Mapping[str, Any], before: Mapping[str, Any], field: str) -> Iterator[FieldError]:
    if spec.get(field) != before.get(field):
        yield field_errors.invalid(f"spec.{field}", spec.get(field), object_meta.IMMUTABLE)


def _completions_errors(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[FieldError]:
    new, old = spec.get("completions"), before.get("completions")
    if new == old:
        return
    if spec.get("completionMode") != "Indexed":
        yield field_errors.invalid("spec.completions", new, object_meta.IMMUTABLE)
    elif new is not None and new != spec.get("parallelism"):
        words = "can only be modified in tandem with spec.parallelism"
        yield field_errors.invalid("spec.completions", new, words)


def _template_errors(spec: Mapping[str, Any], before: Mapping[str, Any], old: Document) -> Iterator[FieldError]:
    new_template, old_template = spec.get("template") or {}, before.get("template") or {}
    status = old.get("status") or {}
    suspended = bool(before.get("suspend"))
    idle = not status.get("startTime") or job_status_validation.is_true(status, "Suspended")
    free = suspended and idle and not status.get("active")
    comparable = _without_directives if free else _kept
    if comparable(new_template) == comparable(old_template):
        return
    if not free:
        yield field_errors.invalid("spec.template", new_template, object_meta.IMMUTABLE)
    elif _without_resources(comparable(new_template)) != _without_resources(comparable(old_template)):
        yield field_errors.invalid("spec.template.spec", new_template.get("spec"), object_meta.IMMUTABLE)


def _kept(template: Mapping[str, Any]) -> dict[str, Any]:
    return dict(template)


def _without_directives(template: Mapping[str, Any]) -> dict[str, Any]:
    """A template without what says where its pods go: labels, selectors, tolerations, node affinity, gates."""
    spec = dict(template.get("spec") or {})
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        spec.pop(field, None)
    affinity = {key: value for key, value in (spec.pop("affinity", None) or {}).items() if key != "nodeAffinity"}
    return {"spec": {**spec, "affinity": affinity}}


def _without_resources(template: Mapping[str, Any]) -> dict[str, Any]:
    spec = dict(template.get("spec") or {})
    for field in ("containers", "initContainers"):
        spec[field] = [{key: value for key, value in c.items() if key != "resources"} for c in spec.get(field) or ()]
    return {**template, "spec": spec}


def _schedule_errors(schedule: str) -> Iterator[FieldError]:
    if not schedule:
        yield field_errors.required("spec.schedule")
    elif "TZ" in schedule:
        words = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield field_errors.invalid("spec.schedule", schedule, words)
    else:
        try:
            cron_schedule.check(schedule)
        except cron_schedule.ScheduleError as problem:
            yield field_errors.invalid("spec.schedule", schedule, str(problem))


def cron_errors(job: Document, old: Document | None) -> Iterator[FieldError]:
    """Complaints about a CronJob."""
    spec, name = job.get("spec") or {}, job["metadata"].get("name", "")
    yield from _schedule_errors(spec.get("schedule") or "")
    if spec.get("concurrencyPolicy") not in {"Allow", "Forbid", "Replace"}:
        allowed = ("Allow", "Forbid", "Replace")
        yield field_errors.not_supported("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), allowed)
    for field in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        if (spec.get(field) or 0) < 0:
            yield field_errors.invalid(f"spec.{field}", spec[field], NOT_NEGATIVE)
    template = get(spec, "jobTemplate.spec", {})
    yield from spec_errors(template, "spec.jobTemplate.spec")
    if template.get("selector") is not None:
        words = "`selector` will be auto-generated"
        yield field_errors.invalid("spec.jobTemplate.spec.selector", template["selector"], words)
    if old is None and len(name) > 52:
        yield field_errors.invalid("metadata.name", name, "must be no more than 52 characters")
