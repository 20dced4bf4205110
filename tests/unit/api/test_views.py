"""Views read whatever a server holds: what the definitions say is never enforced on decoding."""

import msgspec
import pytest

from worker_agent.api import crds
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.pod import Pod
from worker_agent.api.workload import Workload


def test_limits_patterns_and_enums_are_not_enforced():
    queue = msgspec.json.decode(
        b'{"metadata":{"name":"q"},"spec":{"cohortName":"NOT a name","queueingStrategy":"Odd",'
        b'"fairSharing":{"weight":"x"},"resourceGroups":[{"coveredResources":[],"flavors":[]}],"unknown":{"a":[1]}}}',
        type=ClusterQueue,
    )
    assert (queue.spec.cohort_name, queue.spec.queueing_strategy) == ("NOT a name", "Odd")


def test_defaults_of_the_definition_do_not_appear_out_of_nothing():
    workload = msgspec.json.decode(b'{"spec":{"podSets":[{}]}}', type=Workload)
    assert workload.spec.active is None
    assert workload.spec.pod_sets[0].name == "main"


@pytest.mark.parametrize("kind", crds.KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_decodes_from_next_to_nothing(kind):
    assert msgspec.json.decode(b'{"metadata":{"name":"x"}}', type=kind).metadata.name == "x"


def test_every_definition_says_what_each_of_our_fields_means():
    def undocumented(schema, path):
        for name, child in schema.get("properties", {}).items():
            if name not in ("template", "metadata") and not child.get("description"):
                yield f"{path}.{name}"
            yield from [] if name == "template" else undocumented(child.get("items", child), f"{path}.{name}")

    missing = [
        place
        for crd in crds.documents()
        for place in undocumented(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], crd["spec"]["names"]["kind"])
    ]
    assert missing == []


def test_pod_fields_that_nobody_interprets_are_read_in_any_form():
    spec = {
        "containers": [
            {"ports": [{"containerPort": 80}], "resources": {"claims": [{"name": "gpu"}]}},
        ],
        "affinity": {"podAffinity": {"x": []}, "podAntiAffinity": {"y": []}},
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        "topologySpreadConstraints": [{"maxSkew": 1}],
        "schedulingGates": [{"name": "g"}],
    }
    pod = msgspec.json.decode(msgspec.json.encode({"metadata": {"name": "p"}, "spec": spec}), type=Pod)
    assert msgspec.to_builtins(pod.spec) == spec
