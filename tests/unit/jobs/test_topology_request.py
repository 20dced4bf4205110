"""The topology request of a pod template."""

import pytest

from worker_agent.api import names, topology_request
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.topology_request import PodIndex, TopologyRequestError

POLICY = JobPolicy()


def derive(annotations: dict[str, str], index: PodIndex | None = None, policy: JobPolicy = POLICY):
    return topology_request.derive({"metadata": {"annotations": annotations}}, index or PodIndex(), policy)


def test_template_without_annotations_asks_for_nothing():
    assert derive({}) is None


def test_index_of_the_kind_alone_makes_a_request():
    assert derive({}, PodIndex("idx")) == {"podIndexLabel": "idx"}


def test_required_wins_over_preferred():
    annotations = {names.REQUIRED_TOPOLOGY_ANNOTATION: "rack", names.PREFERRED_TOPOLOGY_ANNOTATION: "block"}
    assert derive(annotations) == {"required": "rack"}


def test_slice_pair_counts_only_when_complete():
    assert derive({names.SLICE_SIZE_ANNOTATION: "2"}) is None
    both = {names.SLICE_SIZE_ANNOTATION: "2", names.SLICE_REQUIRED_TOPOLOGY_ANNOTATION: "rack"}
    assert derive(both) == {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}


def test_layers_win_over_the_pair():
    annotations = {
        names.SLICE_SIZE_ANNOTATION: "2",
        names.SLICE_REQUIRED_TOPOLOGY_ANNOTATION: "rack",
        names.SLICE_CONSTRAINTS_ANNOTATION: '[{"topology": "block", "size": 4}]',
    }
    assert derive(annotations) == {"podsetSliceRequiredTopologyConstraints": [{"topology": "block", "size": 4}]}


def test_group_goes_only_with_a_level():
    group = {names.POD_SET_GROUP_NAME_ANNOTATION: "g"}
    assert derive({**group, names.UNCONSTRAINED_TOPOLOGY_ANNOTATION: "true"}) == {"unconstrained": True}
    assert derive({**group, names.REQUIRED_TOPOLOGY_ANNOTATION: "r"}) == {"required": "r", "podSetGroupName": "g"}


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        ({names.UNCONSTRAINED_TOPOLOGY_ANNOTATION: "maybe"}, "invalid syntax"),
        ({names.SLICE_CONSTRAINTS_ANNOTATION: "[]"}, "must contain between 1 and 3 entries: got 0"),
        ({names.SLICE_CONSTRAINTS_ANNOTATION: "{"}, "failed to parse multi-layer topology constraints annotation"),
    ],
)
def test_unreadable_annotations_are_errors(annotations, told):
    with pytest.raises(TopologyRequestError, match=told):
        derive(annotations)


def test_nothing_is_asked_for_without_topology_awareness():
    annotations = {names.REQUIRED_TOPOLOGY_ANNOTATION: "rack"}
    assert derive(annotations, policy=JobPolicy(topology_aware=False)) is None


@pytest.mark.parametrize("text", ["", "1.5", "x", "0x10", " 1", "99999999999999999999"])
def test_integers_are_read_as_in_go(text):
    with pytest.raises(ValueError, match=r"strconv\.Atoi"):
        topology_request.parse_int(text)
