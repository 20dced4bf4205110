"""Where the programs of a real control plane are looked for, and what is said when they are not there."""

import pytest

from hub.local.real import binaries
from hub.local.real.binaries import BinariesError

ALL = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


def filled(folder, *names):
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


def test_all_programs_of_the_folder(tmp_path):
    found = binaries.find({"KUBEBUILDER_ASSETS": str(filled(tmp_path, *ALL))})
    assert (found.etcd, found.scheduler) == (tmp_path / "etcd", tmp_path / "kube-scheduler")


def test_folder_of_envtest_has_no_controllers(tmp_path):
    assert binaries.in_folder(filled(tmp_path, *ALL[:2])).controller_manager is None


def test_half_of_the_controllers_count_as_none(tmp_path):
    found = binaries.in_folder(filled(tmp_path, *ALL[:3]))
    assert (found.controller_manager, found.scheduler) == (None, None)


def test_missing_program_is_named_with_what_to_do(tmp_path):
    with pytest.raises(BinariesError, match=r"holds no kube-apiserver; build them with: .*scripts/build-test-cluster"):
        binaries.in_folder(filled(tmp_path, "etcd"))


def test_program_that_may_not_be_run_is_missing(tmp_path):
    filled(tmp_path, *ALL)
    (tmp_path / "etcd").chmod(0o644)
    with pytest.raises(BinariesError, match="holds no etcd"):
        binaries.in_folder(tmp_path)


def test_variable_that_is_not_set_is_named():
    with pytest.raises(BinariesError, match="KUBEBUILDER_ASSETS is not set"):
        binaries.find({})
