"""The description of a local federation: the shipped one is right, a wrong one is told by field."""

import pytest

from hub.local import objects, spec
from hub.local.spec import SpecError


def test_shipped_federation_has_a_manager_and_three_workers():
    found = spec.load(spec.shipped())
    assert [cluster.name for cluster in found.clusters] == ["manager", "berlin", "oregon", "tokyo"]


def test_every_shipped_manifest_is_of_a_known_kind():
    folder = spec.shipped()
    found = [document for part in folder.rglob("*") if part.is_dir() for document in spec.documents(part)]
    assert len(found) > 20
    for document in found:
        objects.resource_of(document)


def test_tour_names_a_folder_of_objects_for_every_cluster():
    folder = spec.shipped().parent / "tour"
    found = spec.load(folder)
    assert found.job_kinds
    assert spec.documents(folder / "manager")
    assert all(spec.documents(folder / "workers" / worker.name) for worker in found.workers)


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "no workers": ("manager: {name: a}\nworkers: []", "workers: List should have at least 1 item"),
        "cluster name": ("manager: {name: A_b}\nworkers: [{name: w}]", "manager.name: String should match pattern"),
        "node count": (
            "manager: {name: a}\nworkers: [{name: w, nodeGroups: [{name: n, count: -1, capacity: {}}]}]",
            "workers.0.nodeGroups.0.count: Input should be greater than or equal to 0",
        ),
        "unknown field": ("manager: {name: a, nodes: 3}\nworkers: [{name: w}]", "manager.nodes: Extra inputs"),
        "autoscaler": (
            "workers: [{name: w, autoscaler: {idleSeconds: -1}}]",
            "workers.0.autoscaler.idleSeconds: Input should be greater than or equal to 0",
        ),
        "not YAML": ("manager: [", "not YAML"),
    }.values(),
    ids=lambda value: value[:20],
)
def test_wrong_description_names_file_and_field(tmp_path, text, message):
    (tmp_path / "federation.yaml").write_text(text)
    with pytest.raises(SpecError) as caught:
        spec.load(tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "federation.yaml"))
    assert message in str(caught.value)


def test_missing_description_says_what_a_folder_holds(tmp_path):
    with pytest.raises(SpecError, match=r"a federation folder holds federation\.yaml"):
        spec.load(tmp_path)
