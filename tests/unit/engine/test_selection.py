"""Which pods a flavor's nodes take (spec/engine 8.3)."""

from typing import Any

import pytest

from tests.builders import flavor, pod_set
from tests.conformance.engine_objects import decode
from worker_agent.api.document import Document
from worker_agent.api.pod import PodSpec, Taint, Toleration
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.workload import PodSet
from worker_agent.engine import selection
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.pod_shape import ShapeSource
from worker_agent.engine.policy import DEFAULT


def mismatch(of_flavor: Document, **spec: Any) -> str:
    found = decode(pod_set(spec=spec), PodSet)
    shape = ShapeSource(DEFAULT).shape(found.template, "ns")
    return FlavorRow(decode(of_flavor, ResourceFlavor)).mismatch(shape)


def required(*terms: list[Document]) -> Document:
    selector = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def within(key: str, *values: str) -> Document:
    return {"key": key, "operator": "In", "values": list(values)}


LABELLED = flavor("f", labels={"type": "a"})


def test_selector_keys_the_flavor_does_not_define_are_dropped() -> None:
    assert mismatch(LABELLED, nodeSelector={"type": "a", "zone": "z"}) == ""
    assert mismatch(LABELLED, nodeSelector={"type": "b", "zone": "z"}) == "flavor f doesn't match node affinity"


def test_one_emptied_term_satisfies_the_whole_affinity() -> None:
    assert mismatch(LABELLED, affinity=required([within("zone", "z")], [within("type", "b")])) == ""


def test_affinity_terms_are_alternatives() -> None:
    assert mismatch(LABELLED, affinity=required([within("type", "b")], [within("type", "a")])) == ""
    assert mismatch(LABELLED, affinity=required([within("type", "b")])) != ""


def test_a_flavor_without_labels_takes_every_selector() -> None:
    assert mismatch(flavor("f"), nodeSelector={"type": "b"}, affinity=required([within("type", "b")])) == ""


def test_absence_of_an_unknown_key_is_no_demand() -> None:
    assert mismatch(LABELLED, affinity=required([{"key": "zone", "operator": "DoesNotExist"}])) == ""


TAINTED = flavor("f", nodeTaints=[{"key": "instance", "value": "spot", "effect": "NoSchedule"}])


def test_an_untolerated_taint_is_named_as_the_reference_prints_it() -> None:
    assert mismatch(TAINTED) == "untolerated taint {instance spot NoSchedule <nil>} in flavor f"


def test_the_pod_or_the_flavor_may_tolerate_a_taint() -> None:
    toleration = {"key": "instance", "operator": "Exists"}
    assert mismatch(TAINTED, tolerations=[toleration]) == ""
    own = flavor("f", nodeTaints=TAINTED["spec"]["nodeTaints"], tolerations=[toleration])
    assert mismatch(own) == ""


def test_a_taint_that_only_prefers_is_ignored() -> None:
    assert mismatch(flavor("f", nodeTaints=[{"key": "a", "effect": "PreferNoSchedule"}])) == ""


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="k", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="k", value="v"), True),
        (Toleration(key="k", value="other"), False),
    ],
)
def test_tolerations_match_by_key_value_and_effect(toleration: Toleration, expected: bool) -> None:
    assert selection.tolerates(toleration, Taint(key="k", value="v", effect="NoSchedule")) is expected


def test_real_nodes_are_judged_by_all_their_labels() -> None:
    spec = PodSpec(node_selector={"zone": "z"})
    assert not selection.matches_nodes(spec, {"type": "a"})
    assert selection.matches_nodes(spec, {"zone": "z"})
