"""Warnings about accepted writes, and metadata of custom resources, which is a Go struct even there."""

import pytest

from hub.local.apiserver.schema.go_decoding import DecodeError
from tests.unit.apiserver_schema.things import JOB, THING, job, thing, things


def test_a_finalizer_without_a_domain_is_warned_of():
    document = thing()
    document["metadata"]["finalizers"] = ["mine"]
    words = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
    assert things().warnings(THING, document, None) == [f'metadata.finalizers: "mine": {words}']
    assert things().warnings(THING, document, document) == []


def with_containers(*containers):
    return job(template={"spec": {"restartPolicy": "Never", "containers": list(containers)}})


def test_a_variable_that_hides_another_is_warned_of():
    variables = [{"name": "A", "value": "x"}, {"name": "A", "value": "y"}]
    document = with_containers({"name": "c", "image": "i", "env": variables})
    words = 'hides previous definition of "A", which may be dropped when using apply'
    assert things().warnings(JOB, document, None) == [f"spec.template.spec.containers[0].env[1]: {words}"]


def test_a_port_defined_twice_is_warned_of():
    ports = [{"containerPort": 80}]
    document = with_containers({"name": "a", "image": "i", "ports": ports}, {"name": "b", "image": "i", "ports": ports})
    path = "spec.template.spec.containers"
    assert things().warnings(JOB, document, None) == [
        f"{path}[1].ports[0]: duplicate port definition with {path}[0].ports[0]"
    ]


def test_a_job_whose_name_is_no_label_is_warned_of():
    document = job()
    document["metadata"]["name"] = "a.b"
    (warning,) = things().warnings(JOB, document, None)
    assert warning.endswith("a DNS label is recommended: [must not contain dots]")


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"labels": {"a": 1}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
        (
            {"labels": []},
            "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        (
            {"finalizers": "x"},
            "json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string",
        ),
    ],
)
def test_metadata_of_the_wrong_type(metadata, words):
    with pytest.raises(DecodeError) as caught:
        things().prune(THING, {**thing(), "metadata": {"name": "t", **metadata}})
    assert str(caught.value) == words
