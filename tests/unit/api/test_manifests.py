"""manifests/crds holds what the views say, as files that kubectl and kustomize read."""

from pathlib import Path

import pytest
import yaml

from worker_agent.api import crds

FOLDER = Path(__file__).parents[3] / "manifests" / "crds"


@pytest.mark.parametrize("crd", crds.documents(), ids=lambda crd: crd["metadata"]["name"])
def test_file_is_up_to_date(crd):
    group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
    assert yaml.load((FOLDER / f"{group}_{plural}.yaml").read_text(), Loader=yaml.CSafeLoader) == crd


def test_kustomization_lists_every_file_and_no_other():
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert sorted(path.name for path in FOLDER.glob("*_*.yaml")) == listed
    assert len(listed) == len(crds.KINDS)


def test_definitions_fit_into_the_annotation_of_a_client_side_apply():
    assert all(len(yaml.dump(crd).encode()) < 262_144 for crd in crds.documents())
