"""What stands behind each path: the validation package's rules for the kind and operation that the path names."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from worker_agent.api import frameworks
from worker_agent.api import resource_type as kinds
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.resource_type import ResourceType
from worker_agent.validation import ValidationPolicy, Validator, registry
from worker_agent.validation.jobs import (
    JobRefused,
    JobSurroundings,
    default_job,
    validate_create,
    validate_update,
    warnings,
)
from worker_agent.webhooks import job_conditions, workload_conditions
from worker_agent.webhooks.configurations import CREATE, CREATE_UPDATE, Served
from worker_agent.webhooks.review import Hook, Review, Verdict

Surroundings = Callable[[Document], Awaitable[JobSurroundings]]
"""What the caches say about a job's namespace and its owners."""

Start = Callable[[JobKind, Document], Awaitable[Document]]
"""The defaulted job as it shall be created: running where it may run at once."""


async def held(kind: JobKind, job: Document) -> Document:
    """No job runs at once."""
    return job


KUEUE_KINDS: Final = (
    Served(kinds.CLUSTER_QUEUES),
    Served(kinds.COHORTS, mutate=()),
    Served(kinds.RESOURCE_FLAVORS),
    Served(
        kinds.WORKLOADS,
        status=True,
        mutated_if={"names-least-counts": workload_conditions.NAMES_LEAST_COUNTS},
        validated_if={"changes-what-rules-say": workload_conditions.CHANGES_WHAT_RULES_SAY},
    ),
)
"""The rest of Kueue's kinds rely on their schemas alone."""


@dataclass(frozen=True, slots=True)
class HookTable:
    """Hooks by path, and the kinds that the webhook configurations have to name."""

    hooks: Mapping[str, Hook]
    served: tuple[Served, ...]


def table(
    policy: ValidationPolicy, job_kinds: Iterable[JobKind], surroundings: Surroundings, start: Start = held
) -> HookTable:
    """Hooks of all Kueue kinds and enabled job kinds; known kinds that are not enabled are let through."""
    hooks: dict[str, Hook] = {path: allow for path in _known_paths()}
    for kind in KUEUE_KINDS:
        validator = registry[kind.resource.group, kind.resource.kind]
        hooks[kind.path("mutate")] = _defaulting(validator, policy)
        hooks[kind.path("validate")] = _validating(validator, policy)
    jobs = []
    for job_kind in job_kinds:
        mutate = CREATE_UPDATE if job_kind.serving else CREATE
        conditions = job_conditions.VALIDATED_IF.get(job_kind.framework, {})
        served = Served(job_kind.resource, of_jobs=True, mutate=mutate, validated_if=conditions)
        jobs.append(served)
        hooks[served.path("mutate")] = _job_defaulting(job_kind, surroundings, start)
        hooks[served.path("validate")] = _job_validating(job_kind, surroundings)
    return HookTable(hooks, (*KUEUE_KINDS, *jobs))


async def allow(review: Review) -> Verdict:
    """Configurations may name kinds whose integration is switched off; those jobs are nobody's business here."""
    return Verdict()


def _known_paths() -> Iterable[str]:
    for api_version, kind in frameworks.FRAMEWORKS.values():
        group, _, version = api_version.rpartition("/")
        served = Served(ResourceType(group, version, kind, f"{kind.lower()}s"))
        yield served.path("mutate")
        yield served.path("validate")


def _defaulting(validator: Validator, policy: ValidationPolicy) -> Hook:
    default = validator.default

    async def hook(review: Review) -> Verdict:
        if default is None or review.object is None:
            return Verdict()
        return Verdict(object=default(review.object, policy))

    return hook


def _validating(validator: Validator, policy: ValidationPolicy) -> Hook:
    async def hook(review: Review) -> Verdict:
        if review.object is None:
            return Verdict()
        errors = validator.validate(review.object, review.old_object, policy)
        return Verdict(errors=[str(error) for error in errors])

    return hook


def _job_defaulting(kind: JobKind, surroundings: Surroundings, start: Start) -> Hook:
    async def hook(review: Review) -> Verdict:
        wanted = CREATE_UPDATE if kind.serving else CREATE
        if review.object is None or review.operation not in wanted:
            return Verdict()
        job = _in_namespace(review.object, review)
        try:
            defaulted = default_job(kind, job, await surroundings(job))
        except JobRefused as refusal:
            return Verdict(errors=[str(refusal)])
        if review.operation == "CREATE":
            defaulted = await start(kind, defaulted)
        return Verdict(object=_as_written(defaulted, review.object))

    return hook


def _job_validating(kind: JobKind, surroundings: Surroundings) -> Hook:
    async def hook(review: Review) -> Verdict:
        if review.object is None or review.operation not in CREATE_UPDATE:
            return Verdict()
        job = _in_namespace(review.object, review)
        around = await surroundings(job)
        old = None if review.old_object is None else _in_namespace(review.old_object, review)
        try:
            errors = validate_create(kind, job, around) if old is None else validate_update(kind, job, old, around)
        except JobRefused as refusal:
            return Verdict(errors=[str(refusal)])
        told = warnings(kind, job, old, around)
        return Verdict(errors=[str(error) for error in errors], warnings=told)

    return hook


def _in_namespace(job: Document, review: Review) -> Document:
    """The job with the namespace of the request, which a new object need not repeat."""
    metadata = job.get("metadata") or {}
    if metadata.get("namespace") or not review.namespace:
        return job
    return {**job, "metadata": {**metadata, "namespace": review.namespace}}


def _as_written(job: Document, original: Document) -> Document:
    """The namespace again left as the user wrote it, so that the patch holds defaults only."""
    if (original.get("metadata") or {}).get("namespace") or "namespace" not in (job.get("metadata") or {}):
        return job
    metadata = {name: value for name, value in job["metadata"].items() if name != "namespace"}
    return {**job, "metadata": metadata}
