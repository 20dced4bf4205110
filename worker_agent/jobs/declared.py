"""Kinds that users declare in the settings: the same facts as a built-in kind states, and no code.

A declaration becomes a ``JobKind`` when the program starts; from then on nothing tells it from a built-in one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Final, cast

from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_kind import Finish, JobKind, StatusBack, TemplateAt
from worker_agent.api.resource_type import ResourceType

NATIVE_SUSPENSION: Final = "spec.suspend"


@dataclass(frozen=True, slots=True)
class DeclaredPodSet:
    """Where pod sets stand. Paths are dotted.

    One pod set: ``template`` and ``count`` (a number, or a path) from the top of the job. Several: the same within each
    item of the list at ``each``, named by the item's field ``name``.
    """

    name: str
    template: str
    count: int | str = 1
    each: str = ""


@dataclass(frozen=True, slots=True)
class Sign:
    """What in a status tells something: the condition of that type being True, or one of ``values`` at ``path``."""

    condition: str = ""
    path: str = ""
    values: tuple[Any, ...] = ()

    def holds(self, job: Document) -> bool:
        if self.condition:
            return self._condition(job) is not None
        found = get(job, self.path)
        return found in self.values if self.values else bool(found)

    def message(self, job: Document) -> str:
        return str((self._condition(job) or {}).get("message", ""))

    def _condition(self, job: Document) -> Document | None:
        for each in get(job, "status.conditions", []):
            if each.get("type") == self.condition and each.get("status") == "True":
                return cast(Document, each)
        return None

    @property
    def status_field(self) -> str:
        """The field of the status that holds it."""
        return "conditions" if self.condition else self.path.split(".")[1]


@dataclass(frozen=True, slots=True)
class Declaration:
    """``held`` and ``running`` are the values at ``suspend_path``. no ``status_fields``: the whole status comes home.

    ``active`` None: pods of the job may run as long as it is ``ready``.
    """

    resource: ResourceType
    pod_sets: tuple[DeclaredPodSet, ...]
    succeeded: Sign | None = None
    failed: Sign | None = None
    ready: Sign | None = None
    active: Sign | None = None
    suspend_path: str = NATIVE_SUSPENSION
    held: Any = True
    running: Any = False
    managed_by_path: str = ""
    status_fields: tuple[str, ...] = field(default=())
    external: bool = False
    """Another program makes its Workloads."""

    @property
    def framework(self) -> str:
        return "" if self.external else f"{self.resource.group}/{self.resource.kind.lower()}"


class DeclaredKind(JobKind):
    """Reads and writes what its declaration says."""

    declaration: ClassVar[Declaration]

    def templates(self, job: Document) -> list[TemplateAt]:
        return [spot for declared in self.declaration.pod_sets for spot in _spots(declared, job)]

    def is_suspended(self, job: Document) -> bool:
        return bool(get(job, self.suspend_path, self.declaration.running) == self.declaration.held)

    def _with_suspend(self, job: Document, suspended: bool) -> Document:
        value = self.declaration.held if suspended else self.declaration.running
        document: Document = put(job, tuple(self.suspend_path.split(".")), value)
        return document

    def finished(self, job: Document) -> Finish | None:
        for sign, success in ((self.declaration.failed, False), (self.declaration.succeeded, True)):
            if sign is not None and sign.holds(job):
                return Finish(success, sign.message(job))
        return None

    def ended(self, job: Document, end: Finish, now: datetime) -> Document:
        sign = self.declaration.succeeded if end.success else self.declaration.failed
        if sign is None:
            return job
        if sign.condition:
            return self._with_end(job, sign.condition, end, now)
        idle = {**job, "status": self.idle_status(job)}
        ended: Document = put(idle, tuple(sign.path.split(".")), sign.values[0] if sign.values else True)
        return ended

    def is_active(self, job: Document) -> bool:
        sign = self.declaration.active or self.declaration.ready
        return sign is not None and sign.holds(job)

    def pods_ready(self, job: Document) -> bool:
        return self.declaration.ready is not None and self.declaration.ready.holds(job)

    def status_back(self, local: Document, remote: Document, now: datetime) -> StatusBack:
        wanted = self.declaration.status_fields
        if not wanted:
            return super().status_back(local, remote, now)
        before, there = local.get("status") or {}, remote.get("status") or {}
        brought = {name: there[name] for name in wanted if name in there}
        status = {**{name: value for name, value in before.items() if name not in wanted}, **brought}
        return StatusBack(None if status == before else status)


def kind_of(declaration: Declaration) -> JobKind:
    """The kind that a declaration describes."""
    signs = (declaration.active, declaration.ready)
    facts = {
        "__doc__": f"{declaration.resource.api_version} {declaration.resource.kind}, as declared in the settings.",
        "framework": declaration.framework,
        "resource": declaration.resource,
        "suspend_path": declaration.suspend_path,
        "managed_by_path": declaration.managed_by_path,
        "pod_counts": tuple(sign.status_field for sign in signs if sign is not None),
        "declaration": declaration,
    }
    made: JobKind = type(declaration.resource.kind, (DeclaredKind,), facts)()
    return made


def _spots(declared: DeclaredPodSet, job: Document) -> Iterator[TemplateAt]:
    path = tuple(declared.template.split("."))
    if not declared.each:
        yield TemplateAt(declared.name, path, _count(declared.count, job))
        return
    root = tuple(declared.each.split("."))
    for place, item in enumerate(at(job, root, [])):
        yield TemplateAt(str(get(item, declared.name, place)), (*root, place, *path), _count(declared.count, item))


def _count(count: int | str, document: Document) -> int:
    return count if isinstance(count, int) else int(get(document, count, 1))


def plural_of(kind: str) -> str:
    """The plural that a kind has where its definition follows the usual rule."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def external(name: str, plural: str = "") -> JobKind:
    """The kind ``Kind.version.group`` whose Workloads somebody else makes: all that MultiKueue needs of it."""
    kind, version, group = name.split(".", 2)
    resource = ResourceType(group, version, kind, plural or plural_of(kind))
    return kind_of(Declaration(resource, (), managed_by_path="spec.managedBy", external=True))


def kinds_of(declarations: Sequence[Declaration]) -> dict[str, JobKind]:
    """The kinds by framework name."""
    return {declaration.framework: kind_of(declaration) for declaration in declarations}
