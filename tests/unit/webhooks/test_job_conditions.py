"""The API server leaves Jobs and pods unasked about only where the webhook would have let them through."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker_agent.api import cel_engine, names
from worker_agent.api.document import put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.jobs import KINDS
from worker_agent.validation import jobs
from worker_agent.validation.jobs import JobRefused, JobSurroundings
from worker_agent.webhooks import job_conditions

cel = cel_engine.engine()
PROGRAMS = {
    framework: [cel.compile(text) for text in conditions.values()]
    for framework, conditions in job_conditions.VALIDATED_IF.items()
}
QUEUED = {names.QUEUE_NAME_LABEL: "q"}
JOB: dict[str, Any] = {
    "metadata": {"name": "j", "namespace": "ns", "labels": QUEUED},
    "spec": {
        "suspend": True,
        "parallelism": 2,
        "completions": 2,
        "template": {"spec": {"containers": [{"name": "c"}]}},
    },
}
POD: dict[str, Any] = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "c"}]}}


def asked(framework: str, new: Any, old: Any = None) -> bool:
    request = {"operation": "UPDATE" if old else "CREATE"}
    found = {"object": new, "oldObject": old, "request": request}
    return all(bool(program.execute(found)) for program in PROGRAMS[framework])


def told(framework: str, new: Any, old: Any, around: JobSurroundings) -> list[str]:
    """What the webhook has to say."""
    kind = KINDS[framework]
    try:
        if old is None:
            errors = jobs.validate_create(kind, new, around)
        else:
            errors = jobs.validate_update(kind, new, old, around)
    except JobRefused as refusal:
        return [str(refusal)]
    return [*map(str, errors), *jobs.warnings(kind, new, old, around)]


SURROUNDINGS = [
    JobSurroundings(
        policy=JobPolicy(frameworks=frozenset({"batch/job", "pod"}), **switches), default_queue=default_queue
    )
    for default_queue in (False, True)
    for switches in (
        {},
        {"manage_without_queue_name": True},
        {"topology_aware": False, "elastic_jobs": False},
        {"identifier_annotations": False, "admission_gated_by": False},
    )
]
OURS = sorted(
    value
    for name, value in vars(names).items()
    if name.endswith(("_LABEL", "_ANNOTATION", "_WORKLOAD")) and isinstance(value, str)
)
texts = st.sampled_from(["", "true", "false", "0", "1", "2", "q", "other", "Not a name", "a/b", "fedhub.dev/gate"])
entries = st.one_of(st.none(), st.dictionaries(st.sampled_from([*OURS, "app"]), texts, max_size=3))
counts = st.one_of(st.none(), st.integers(0, 3))


def _metadata(draw: st.DrawFn, of: Mapping[str, Any]) -> Any:
    for field in ("labels", "annotations"):
        if draw(st.booleans()):
            of = put(of, ("metadata", field), draw(entries))
    return of


@st.composite
def some_job(draw: st.DrawFn, of: Any = JOB) -> Any:
    of = _metadata(draw, of)
    for field in ("parallelism", "completions"):
        if draw(st.booleans()):
            of = put(of, ("spec", field), draw(counts))
    if draw(st.booleans()):
        of = put(of, ("spec", "completionMode"), draw(st.sampled_from([None, "Indexed", "NonIndexed"])))
    if draw(st.booleans()):
        of = put(of, ("spec", "template", "metadata", "annotations"), draw(entries))
    of = put(of, ("spec", "suspend"), draw(st.booleans()))
    of = put(of, ("spec", "template", "spec", "nodeSelector"), draw(st.sampled_from([None, {"a": "b"}])))
    return put(of, ("spec", "template", "metadata", "labels"), draw(st.sampled_from([None, {"l": "m"}])))


@st.composite
def some_pod(draw: st.DrawFn, of: Any = POD) -> Any:
    of = _metadata(draw, of)
    of = put(
        of, ("spec", "schedulingGates"), draw(st.sampled_from([None, [{"name": names.ADMISSION_SCHEDULING_GATE}]]))
    )
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    of = put(of, ("metadata", "ownerReferences"), draw(st.sampled_from([None, [owner]])))
    return put(of, ("status", "phase"), draw(st.sampled_from(["Pending", "Running", "Succeeded"])))


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, Any, Any]:
    """A framework, the new object, and the old one (None: a creation)."""
    framework, made = draw(st.sampled_from([("batch/job", some_job), ("pod", some_pod)]))
    old = draw(made())
    return framework, *draw(
        st.one_of(st.just((old, None)), st.tuples(made(old), st.just(old)), st.tuples(made(), st.just(old)))
    )


@settings(max_examples=600, deadline=None)
@given(changes(), st.sampled_from(SURROUNDINGS))
def test_whoever_is_left_unasked_had_nothing_to_say(change: tuple[str, Any, Any], around: JobSurroundings) -> None:
    framework, new, old = change
    if asked(framework, new, old):
        return
    sound_before = old is None or not told(framework, old, None, around)
    assert not sound_before or not told(framework, new, old, around)


def test_starting_a_job_is_not_asked_about():
    started = put(put(JOB, ("spec", "suspend"), False), ("spec", "template", "spec", "nodeSelector"), {"zone": "a"})
    started = put(started, ("spec", "template", "metadata", "labels"), {names.POD_SET_LABEL: "main"})
    started = put(started, ("spec", "template", "metadata", "annotations"), {names.WORKLOAD_ANNOTATION: "job-j"})
    assert not asked("batch/job", started, JOB)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("metadata", "labels"), {names.QUEUE_NAME_LABEL: "other"}),
        (("metadata", "annotations"), {names.ELASTIC_JOB_ANNOTATION: "true"}),
        (("spec", "parallelism"), 3),
        (("spec", "completions"), None),
        (("spec", "template", "metadata"), {"annotations": {names.REQUIRED_TOPOLOGY_ANNOTATION: "rack"}}),
    ],
)
def test_what_the_rules_of_jobs_read_is_asked_about(path, value):
    assert asked("batch/job", put(JOB, path, value), JOB)


def test_creations_of_jobs_are_asked_about():
    assert asked("batch/job", JOB)


def test_the_pods_of_a_started_job_are_not_asked_about():
    mine = put(POD, ("metadata", "labels"), {names.POD_SET_LABEL: "main", names.LOCAL_QUEUE_NAME_LABEL: "q", "a": "b"})
    mine = put(mine, ("metadata", "annotations"), {names.WORKLOAD_ANNOTATION: "job-j"})
    assert not asked("pod", mine)
    assert not asked("pod", put(mine, ("metadata", "finalizers"), []), mine)


@pytest.mark.parametrize(
    ("field", "name"), [("labels", names.MANAGED_LABEL), ("annotations", names.POD_GROUP_TOTAL_COUNT_ANNOTATION)]
)
def test_pods_that_bear_what_rules_read_are_asked_about(field, name):
    marked = put(POD, ("metadata", field), {name: "true"})
    assert asked("pod", marked)
    assert asked("pod", marked, POD)
    assert asked("pod", POD, marked)
    assert not asked("pod", put(marked, ("status", "phase"), "Running"), marked)
