"""The values in which a job kind tells its facts: pod sets and their templates, ends, stops, statuses brought home."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from worker_agent.api.document import Document, Path, at
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import ResourceType
from worker_agent.api.topology_request import PodIndex


@dataclass(frozen=True, slots=True)
class TemplateAt:
    """Where one pod set's template stands in the job's document, and how many pods it makes.

    ``annotations_at`` is where the template's annotations stand if not in its metadata, and ``annotations_field`` how
    messages name them where that is not simply their path. ``rendered`` is the template itself where the job's document
    does not hold it at all.
    """

    name: str
    path: Path
    count: int
    min_count: int | None = None
    index: PodIndex | None = None
    annotations_at: Path = ()
    annotations_field: str = ""
    rendered: Document | None = None

    def annotations(self, job: Document) -> dict[str, str]:
        """The annotations on this pod set's template as written in the job."""
        if self.rendered is not None:
            return value_at(self.rendered, "metadata.annotations", {})  # type: ignore[no-any-return]
        found: dict[str, str] = at(job, self.annotations_at or (*self.path, "metadata", "annotations"), {})
        return found


@dataclass(frozen=True, slots=True)
class JobPodSet:
    """One pod set as the job's document declares it; ``template`` is the PodTemplateSpec document."""

    name: str
    count: int
    template: Document
    min_count: int | None = None
    topology_request: Document | None = None

    def document(self) -> Document:
        """As it stands in a Workload's ``spec.podSets``."""
        document: Document = {"name": self.name, "count": self.count, "template": self.template}
        if self.min_count is not None:
            document["minCount"] = self.min_count
        if self.topology_request is not None:
            document["topologyRequest"] = self.topology_request
        return document


@dataclass(frozen=True, slots=True)
class Finish:
    """A job's end as its own status tells it."""

    success: bool
    message: str


@dataclass(frozen=True, slots=True)
class StopStep:
    """One write of a stop: the whole document after it; ``subresource`` says which half is written."""

    document: Document
    subresource: str = ""


class Cause(NamedTuple):
    """Why a job is stopped: a word for programs, a text for people, and when (RFC 3339).

    ``pods_first``: what cannot be written while pods are active is not tried before they have ended.
    """

    reason: str = ""
    message: str = ""
    at: str = ""
    pods_first: bool = False


NO_CAUSE: Final = Cause()


@dataclass(frozen=True, slots=True)
class Stop:
    """How to stop a job now. ``stopped`` tells that it was running, so that an event is due.

    ``complete`` is False while the templates cannot be put back because pods of the job still run elsewhere: what
    remembers the templates is kept until the job's status tells of their end. ``error`` is what stands in the way of
    the rest for now; it is retried. ``delete``: the job itself goes after the steps.
    """

    steps: tuple[StopStep, ...]
    stopped: bool
    complete: bool = True
    error: str = ""
    delete: bool = False


@dataclass(frozen=True, slots=True)
class StatusBack:
    """What a remote job's status means for the local one: the local status to write, or None to leave it as it is.

    ``deferred``: the rest must wait until the local job has started; look again in two seconds.
    """

    status: Document | None
    deferred: bool = False


class Remains(NamedTuple):
    """An object of a job's last run that the kind's own controller leaves standing while the job is held."""

    resource: ResourceType
    document: Document


class NotYetStartable(ValueError):
    """The job cannot be started as it is; unlike InvalidPodSetInfo this may pass, so it is retried."""
