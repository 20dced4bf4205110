"""What the documents of scenarios look like: checked before they are read, so that whoever wrote one is told where."""

from typing import Any, TypedDict

import msgspec

from worker_agent.engine.story_objects import StoryError

Amount = str | int | float
Names = list[str | int] | dict[str, Any] | str | None
"""Names of workloads, or each with what is expected of it."""


class _Submission(TypedDict, total=False):
    name: str | int
    queue: str | int
    pods: int
    minPods: int
    requests: dict[str, Amount] | None
    priority: int
    pod: dict[str, Any] | None


class _Expectation(TypedDict, total=False):
    running: Names
    waiting: Names
    finished: Names
    preempted: Names
    undisturbed: Names
    pods: dict[str, int] | None
    queues: dict[str, list[str | int] | None]
    usage: dict[str, dict[str, dict[str, Amount]]]
    admittedAt: dict[str, Amount]


class _Entry(TypedDict, total=False):
    submit: _Submission | list[_Submission]
    finish: str | int | list[str | int]
    delete: str | int | list[str | int]
    change: dict[str, dict[str, dict[str, Any]]]
    expect: _Expectation | None


class _Crowd(TypedDict, total=False):
    """A cohort or a queue."""

    quota: dict[str, Any] | None
    cohort: str | int
    parent: str | int


class _Cluster(TypedDict, total=False):
    flavors: dict[str, dict[str, Any] | None] | None
    cohorts: dict[str, _Crowd | None] | None
    queues: dict[str, _Crowd | None] | None
    objects: list[dict[str, Any]] | None


class Scenario(TypedDict, total=False):
    """The file that people write."""

    settings: dict[str, Any] | None
    featureGates: dict[str, bool] | None
    cluster: _Cluster | None
    timeline: list[_Entry] | None


class _Object(TypedDict, total=False):
    kind: str


class _Step(TypedDict, total=False):
    object: _Object


class _Outcome(TypedDict, total=False):
    pass


class Recorded(TypedDict, total=False):
    """A line of the recorded format."""

    objects: list[_Object]
    steps: list[_Step]
    configuration: dict[str, Any] | None
    featureGates: dict[str, bool] | None
    preemptionStrategies: list[str] | None
    trace: list[_Outcome] | None


def check(document: Any, shape: Any) -> None:
    """Raises StoryError that names the first place where ``document`` is not of this shape; more fields are fine."""
    try:
        msgspec.convert(document, shape)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        path = place.strip("`").removeprefix("$").removeprefix(".")
        raise StoryError(f"{path or 'scenario'}: {problem}") from None
