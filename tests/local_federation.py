"""Whole federations of real processes for tests: started, used through kubectl or a client, always stopped."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from hub.local.federation import Federation
from hub.local.layout import Layout
from hub.local.spec import Cluster, FederationSpec, NodeGroup
from tests import cluster_choice
from tests.realcluster import rights_log

KUBECTL = shutil.which("kubectl", path=str(Path(sys.prefix) / "bin")) or "kubectl"

BIG_NODES = NodeGroup(name="general", count=2, capacity={"cpu": "8", "memory": "32Gi", "pods": "110"})


def cluster(name: str, *groups: NodeGroup) -> Cluster:
    return Cluster(name=name, node_groups=list(groups or [BIG_NODES]))


@contextlib.contextmanager
def running(
    spec: FederationSpec, folder: Path, manifests: Path | None = None, persistent: bool = False
) -> Iterator[Federation]:
    """The federation of ``spec`` with its files in ``folder``; no manifests: clusters start empty.

    Its clusters are of the sort that ``--cluster`` names: embedded, or real control planes.
    """
    layout = Layout(folder / "state")
    real = cluster_choice.use()
    federation = Federation(
        spec, manifests or folder / "none", layout, persistent=persistent, real=real, audit_programs=rights_log.wanted()
    )
    try:
        asyncio.run(federation.up(lambda text: None))
        yield federation
    finally:
        federation.down()
        for each in spec.clusters:
            rights_log.keep(layout.cluster(each.name) / "audit.log")


class Kubectl:
    """kubectl against one cluster of a federation."""

    def __init__(self, federation: Federation, context: str) -> None:
        self._arguments = [KUBECTL, "--context", context]
        self._environment = {
            **os.environ,
            "KUBECONFIG": str(federation.layout.kubeconfig),
            "HOME": str(federation.layout.root),
        }

    def __call__(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Standard output of ``kubectl ARGUMENTS``; a failure is an AssertionError with what it said."""
        done = subprocess.run(
            [*self._arguments, *arguments],
            input=stdin,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout if done.returncode == 0 else done.stderr

    def wait(self, target: str, condition: str, *arguments: str, seconds: int = 120) -> str:
        return self("wait", target, f"--for={condition}", f"--timeout={seconds}s", *arguments)
