"""Injection and its exact undoing."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from worker_agent.api import names, pod_set_info
from worker_agent.api.pod_set_info import InvalidPodSetInfo, PodSetInfo

from .builders import pod_template

KEYS = st.sampled_from(["a", "b", "c", "d"])
MAPS = st.dictionaries(KEYS, st.sampled_from(["1", "2"]), max_size=3)
TOLERATIONS = st.lists(st.builds(lambda key: {"key": key, "operator": "Exists"}, KEYS), max_size=3, unique_by=str)
GATES = st.lists(st.builds(lambda key: {"name": key}, KEYS), max_size=2, unique_by=str)


@st.composite
def infos(draw: st.DrawFn) -> PodSetInfo:
    return PodSetInfo(
        "main",
        1,
        labels=draw(MAPS),
        annotations=draw(MAPS),
        node_selector=draw(MAPS),
        tolerations=tuple(draw(TOLERATIONS)),
        scheduling_gates=tuple(draw(GATES)),
    )


@st.composite
def templates(draw: st.DrawFn) -> dict[str, object]:
    """Templates as users write them: fields are there with content, or not at all."""
    written = {
        "metadata": {"labels": draw(MAPS), "annotations": draw(MAPS)},
        "spec": {"nodeSelector": draw(MAPS), "tolerations": draw(TOLERATIONS), "schedulingGates": draw(GATES)},
    }
    template = {part: {name: value for name, value in fields.items() if value} for part, fields in written.items()}
    template["spec"] |= {"containers": [{"name": "c"}], "affinity": {"unknown": 1}}
    return template


@given(templates(), infos())
def test_restore_undoes_injection(template, info):
    try:
        injected = pod_set_info.inject(template, info)
    except InvalidPodSetInfo:
        assume(False)
    original = PodSetInfo.of_pod_set({"name": "main", "template": template})
    assert pod_set_info.restore(injected, original) == template


@given(templates(), infos())
def test_injection_only_adds(template, info):
    try:
        injected = pod_set_info.inject(template, info)
    except InvalidPodSetInfo:
        assume(False)
    before, after = (PodSetInfo.of_pod_set({"template": t}) for t in (template, injected))
    assert before.labels.items() <= after.labels.items()
    assert info.labels.items() <= after.labels.items()
    assert after.tolerations[: len(before.tolerations)] == before.tolerations
    assert len(after.tolerations) == len({str(toleration) for toleration in after.tolerations})


@given(templates(), infos())
def test_injecting_twice_is_injecting_once(template, info):
    try:
        injected = pod_set_info.inject(template, info)
    except InvalidPodSetInfo:
        assume(False)
    assert pod_set_info.inject(injected, info) == injected


def test_restore_of_an_untouched_template_is_the_same_object():
    template = pod_template()
    assert pod_set_info.restore(template, PodSetInfo.of_pod_set({"template": template})) is template


@pytest.mark.parametrize(
    ("what", "info"),
    [
        ("annotations", PodSetInfo("m", annotations={"k": "new"})),
        ("labels", PodSetInfo("m", labels={"k": "new"})),
        ("nodeSelector", PodSetInfo("m", node_selector={"k": "new"})),
    ],
)
def test_conflict_names_the_key_and_both_values(what, info):
    template = {
        "metadata": {"annotations": {"k": "old"}, "labels": {"k": "old"}},
        "spec": {"nodeSelector": {"k": "old"}},
    }
    told = f"invalid admission check PodSetUpdate: conflict for {what}: conflict for key=k, value1=old, value2=new"
    with pytest.raises(InvalidPodSetInfo) as caught:
        pod_set_info.inject(template, info)
    assert str(caught.value) == told


def test_equal_values_are_no_conflict():
    template = {"metadata": {"labels": {"k": "v"}}, "spec": {}}
    assert pod_set_info.inject(template, PodSetInfo("m", labels={"k": "v"})) == template


def test_slice_annotation_is_replaced_for_elastic_jobs_only():
    template = {"metadata": {"annotations": {names.WORKLOAD_SLICE_NAME_ANNOTATION: "old"}}, "spec": {}}
    info = PodSetInfo("m", annotations={names.WORKLOAD_SLICE_NAME_ANNOTATION: "new"})
    replaced = pod_set_info.inject(template, info, elastic=True)
    assert replaced["metadata"]["annotations"] == info.annotations
    with pytest.raises(InvalidPodSetInfo):
        pod_set_info.inject(template, info)


def test_workload_annotation_is_replaced_only_together_with_the_slice():
    template = {"metadata": {"annotations": {names.WORKLOAD_ANNOTATION: "old"}}, "spec": {}}
    alone = PodSetInfo("m", annotations={names.WORKLOAD_ANNOTATION: "new"})
    with pytest.raises(InvalidPodSetInfo):
        pod_set_info.inject(template, alone, elastic=True)
    both = PodSetInfo("m", annotations={**alone.annotations, names.WORKLOAD_SLICE_NAME_ANNOTATION: "s"})
    assert pod_set_info.inject(template, both, elastic=True)["metadata"]["annotations"] == both.annotations
