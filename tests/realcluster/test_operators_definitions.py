"""What the manifests and charts bring for the Prometheus operator and for cert-manager, held against the definitions
that these publish (in their Go modules, which are not kept here) on a real API server."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster_choice import NEWEST
from tests.local_federation import KUBECTL
from tests.realcluster import helm
from tests.realcluster.clusters import Clusters, Server

DEFINITIONS = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
    ),
    "github.com/cert-manager/cert-manager@v1.18.2": (
        "deploy/crds/crd-certificates.yaml",
        "deploy/crds/crd-issuers.yaml",
    ),
}
"""Files by module and version."""
DOWNLOAD_SECONDS = 180
KINDS = {"ServiceMonitor", "PrometheusRule", "Certificate", "Issuer"}
PROGRAMS = ("agent", "hub")
pytestmark = pytest.mark.timeout(600)


def module(name: str, folder: Path) -> Path:
    """The module's files; skips the test, with the reason, where they cannot be had."""
    go = shutil.which("go") or shutil.which("go", path=str(Path(sys.executable).parent))
    if go is None:
        pytest.skip(f"no go command, which downloads {name}")
    try:
        done = subprocess.run(
            [go, "mod", "download", "-json", name],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{name} was not downloaded within {DOWNLOAD_SECONDS} s")
    if done.returncode:
        pytest.skip(f"{name} was not downloaded: {(done.stdout + done.stderr)[-300:]}")
    return Path(json.loads(done.stdout)["Dir"])


def definition(text: str) -> dict[str, Any]:
    """Without labels, which cert-manager leaves to its chart."""
    found: dict[str, Any] = yaml.load(text, Loader=helm.LOADER)
    return {**found, "metadata": {"name": found["metadata"]["name"]}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real API server that knows the operators' kinds, and the programs' namespace."""
    folder = tmp_path_factory.mktemp("definitions")
    known = [
        definition((module(name, folder) / path).read_text()) for name, paths in DEFINITIONS.items() for path in paths
    ]
    with Clusters(folder) as clusters:
        [started] = clusters.start(NEWEST, crds=known)
        created = kubectl(started, "create", "namespace", "fedhub-system")
        assert created.returncode == 0, created.stderr
        yield started


def kubectl(server: Server, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    command = [KUBECTL, "--kubeconfig", str(server.kubeconfig_file), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def apply(server: Server, objects: list[dict[str, Any]]) -> "subprocess.CompletedProcess[str]":
    """A field that the definition does not know is an error."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    how = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"]
    return kubectl(server, *how, stdin=text)


def foreign(made: helm.Objects) -> list[dict[str, Any]]:
    return [found for found in made.values() if found["kind"] in KINDS]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_overlay_is_what_the_prometheus_operator_defines(program: str, server: Server):
    overlay = helm.CHECKOUT / "manifests" / "overlays" / f"{program}-monitoring"
    made = subprocess.run([KUBECTL, "kustomize", str(overlay)], capture_output=True, text=True, check=True)
    objects = foreign(helm.objects(made.stdout))
    assert {found["kind"] for found in objects} == {"ServiceMonitor", "PrometheusRule"}
    done = apply(server, objects)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_chart_is_what_both_define(program: str, server: Server):
    values = {"enablePrometheus": True, "enableCertManager": True, "crds": {"enabled": False}}
    objects = foreign(helm.rendered(f"fedhub-{program}", values))
    assert {found["kind"] for found in objects} == KINDS
    done = apply(server, objects)
    assert done.returncode == 0, done.stderr


def test_a_field_that_is_not_defined_is_found(server: Server):
    """So that the tests above would see one."""
    wrong = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "wrong", "namespace": "fedhub-system"},
        "spec": {"selector": {}, "endpoints": [{"port": "https", "pathe": "/metrics"}]},
    }
    done = apply(server, [wrong])
    assert done.returncode != 0
    assert "pathe" in done.stderr
