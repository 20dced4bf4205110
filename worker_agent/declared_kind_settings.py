"""The settings' ``integrations.declaredKinds``: job kinds of one's own, described by the paths of their fields."""

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from worker_agent.api.frameworks import FRAMEWORKS
from worker_agent.api.names import MAX_POD_SETS
from worker_agent.api.resource_type import ResourceType
from worker_agent.jobs.declared import Declaration, DeclaredPodSet, Sign, plural_of
from worker_agent.setting_values import Stanza

_STEPS = r"[A-Za-z][-A-Za-z0-9_]*(\.[A-Za-z][-A-Za-z0-9_]*)*"
_ONE_OF_US = frozenset(FRAMEWORKS.values())


def _under(root: str) -> AfterValidator:
    def check(path: str) -> str:
        if not path.startswith(f"{root}."):
            raise ValueError(f"must be a path that begins with {root}.")
        return path

    return AfterValidator(check)


Steps = Annotated[str, StringConstraints(pattern=rf"^{_STEPS}$")]
SpecPath = Annotated[Steps, _under("spec")]
StatusPath = Annotated[Steps, _under("status")]
PodSetName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
StatusField = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9]*$")]


class PodSet(Stanza):
    """Either one pod set with a ``name``, or one for each item of the list at ``each``, named by its ``nameField``."""

    name: PodSetName = ""
    each: SpecPath | None = None
    name_field: Steps = "name"
    template: Steps
    """Path of the pod template: from the top of the job, within ``each`` from the item."""
    count: Annotated[int, Field(ge=0)] | Steps = 1
    """How many pods: a number, or the path of one; 1 where nothing stands there."""

    @model_validator(mode="after")
    def _placed(self) -> Self:
        if bool(self.name) == (self.each is not None):
            raise ValueError("exactly one of name and each must be set")
        if self.each is None:
            for field, path in (("template", self.template), ("count", self.count)):
                if isinstance(path, str) and not path.startswith("spec."):
                    raise ValueError(f"{field}: {path!r} must be a path that begins with spec.")
        return self

    def declared(self) -> DeclaredPodSet:
        return DeclaredPodSet(self.name or self.name_field, self.template, self.count, self.each or "")


class StatusSign(Stanza):
    """Either a condition that is True, or a field of the status that has one of the values (any at all without)."""

    condition: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$")] = ""
    path: StatusPath | None = None
    values: list[str | int | bool] = []

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.condition) == (self.path is not None):
            raise ValueError("exactly one of condition and path must be set")
        if self.condition and self.values:
            raise ValueError("values go with path")
        return self

    def declared(self) -> Sign:
        return Sign(self.condition, self.path or "", tuple(self.values))


def _declared(sign: StatusSign | None) -> Sign | None:
    return None if sign is None else sign.declared()


class Suspension(Stanza):
    """Where the kind is held back, and by which value; most have a truth value at ``spec.suspend``."""

    path: SpecPath = "spec.suspend"
    held: str | int | bool = True
    running: str | int | bool = False

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.held == self.running:
            raise ValueError("held and running must differ")
        return self


class DeclaredKindStanza(Stanza):
    """A job kind of one's own. Its operator must make no pods while the job is held."""

    api_version: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/v[0-9][a-z0-9]*$")]
    kind: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9]*$")]
    plural: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*$")] = ""
    suspend: Suspension = Suspension()
    pod_sets: Annotated[list[PodSet], Field(min_length=1, max_length=MAX_POD_SETS)]
    succeeded: StatusSign | None = None
    failed: StatusSign | None = None
    ready: StatusSign | None = None
    active: StatusSign | None = None
    """Pods of the job may run; without it as long as it is ``ready``."""
    managed_by_path: SpecPath | None = None
    """Where the job names who runs it; without it the kind is not sent to other clusters."""
    status_fields: list[StatusField] = []
    """What of the status comes home from another cluster; empty: all."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.api_version, self.kind) in _ONE_OF_US:
            raise ValueError(f"kind: {self.kind!r} of {self.api_version} is built in: see integrations.frameworks")
        names = [pod_set.name for pod_set in self.pod_sets if pod_set.name]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ValueError(f"podSets: name {name!r} is there twice")
        if self.ready is None and self.active is None:
            raise ValueError("one of ready and active must be set: nothing else tells when the job's pods are gone")
        return self

    def declaration(self) -> Declaration:
        """The facts as the job kinds take them."""
        group, _, version = self.api_version.rpartition("/")
        facts: dict[str, Any] = {
            name: _declared(getattr(self, name)) for name in ("succeeded", "failed", "ready", "active")
        }
        return Declaration(
            ResourceType(group, version, self.kind, self.plural or plural_of(self.kind)),
            tuple(pod_set.declared() for pod_set in self.pod_sets),
            suspend_path=self.suspend.path,
            held=self.suspend.held,
            running=self.suspend.running,
            managed_by_path=self.managed_by_path or "",
            status_fields=tuple(self.status_fields),
            **facts,
        )
