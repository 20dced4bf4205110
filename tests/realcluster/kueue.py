"""Real Kueue beside ours: its program, settings and definitions on the control planes of a local federation.

It runs without its webhooks where ``kueue_webhooks`` does not register them: Jobs then come with ``suspend: true`` and,
on a manager, ``managedBy: kueue.x-k8s.io/multikueue``, as those would leave them. Client limits are as shipped.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from hub.local import layout as local_layout
from hub.local import programs
from hub.local.apiserver.certificates import Authority, write_private
from hub.local.layout import Layout
from hub.local.programs import Program
from hub.local.spec import Cluster
from worker_agent.api.resource_type import (
    CLUSTER_CAPACITIES,
    CUSTOM_RESOURCE_DEFINITIONS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    ResourceType,
)
from worker_agent.kube.client import Client
from worker_agent.kube.errors import NotFound

SCRIPT = Path(__file__).parents[2] / "scripts" / "build-test-cluster"
LAUNCHER = "tests.realcluster.kueue_process"
USER_AGENT = "kueue"
CONFIGURATION = "kueue.yaml"
CERTIFICATES = "certificates"
AUTHORITY = "ca.crt"
"""Its certificate lies beside that of the webhooks."""
NOT_DOWNLOADED = 75
"""What the script ends with where the network did not give what it asked for."""


class KueueError(RuntimeError):
    """Kueue could not be built or downloaded; the text says why."""


@dataclass(frozen=True, slots=True)
class Kueue:
    """``program``, and the folders of its CustomResourceDefinitions and its webhook configurations."""

    program: Path
    crds: Path
    webhooks: Path


def build() -> Kueue:
    """Kueue from the cache, built the first time (six CPU minutes or more). Raises KueueError."""
    done = subprocess.run([sys.executable, str(SCRIPT), "--kueue"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise KueueError(done.stdout.strip() or f"{SCRIPT.name} --kueue ended with {done.returncode}, see above")
    folder = Path(done.stdout.strip())
    return Kueue(folder / "kueue", folder / "crds", folder / "webhooks")


async def install(kueue: Kueue, client: Client) -> None:
    """Kueue's definitions in place of ours, and none of our webhooks. Objects of Kueue's kinds stay as they are."""
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        await _remove_all(client, resource)
    with contextlib.suppress(NotFound):
        # A cluster that serves this kind is taken to have an agent, whose report of its nodes is waited for.
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"{CLUSTER_CAPACITIES.plural}.{CLUSTER_CAPACITIES.group}")
    for path in sorted(kueue.crds.glob("*.yaml")):
        wanted = yaml.safe_load(path.read_text())
        name = wanted["metadata"]["name"]
        present = msgspec.json.decode(await client.get(CUSTOM_RESOURCE_DEFINITIONS, name))
        present["spec"] = wanted["spec"] | {"conversion": {"strategy": "None"}}
        await client.update(CUSTOM_RESOURCE_DEFINITIONS, present)


async def _remove_all(client: Client, resource: ResourceType) -> None:
    for item in (await client.list(resource)).items:
        await client.delete(resource, msgspec.json.decode(item)["metadata"]["name"])


def program(kueue: Kueue, name: str, cluster: Cluster, where: Layout, settings: Mapping[str, Any]) -> Program:
    """Kueue at ``cluster`` as the process ``name`` of a federation; ``settings`` beside those it needs to run here."""
    health, metrics, webhook = local_layout.free_ports(3)
    own = folder(where, name)
    certificates = own / CERTIFICATES
    certificates.mkdir(parents=True, exist_ok=True)
    authority = Authority.create()
    pair = authority.server(["localhost", "127.0.0.1"])
    (certificates / AUTHORITY).write_bytes(authority.pair.certificate)
    (certificates / "tls.crt").write_bytes(pair.certificate)
    write_private(certificates / "tls.key", pair.key)
    configuration = own / CONFIGURATION
    wanted: dict[str, Any] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
        "webhook": {"port": webhook, "certDir": str(certificates)},
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "featureGates": {"VisibilityOnDemand": False},
        "integrations": {"frameworks": ["batch/job"]},
        "controller": {"groupKindConcurrency": CONCURRENCY},
        "clientConnection": {"qps": 50, "burst": 100},
    }
    configuration.write_text(yaml.safe_dump(wanted | dict(settings), sort_keys=False))
    kubeconfig = where.cluster_kubeconfig(cluster.name)
    argv = ["-m", LAUNCHER, str(kueue.program), str(configuration), str(kubeconfig), str(certificates)]

    async def ready() -> bool:
        return await programs.answers(health, "/readyz")

    return Program(name, argv, ready)


def folder(where: Layout, name: str) -> Path:
    """What the process ``name`` of a federation reads: CONFIGURATION and the folder CERTIFICATES."""
    return where.root / "kueue" / name


CONCURRENCY: Mapping[str, int] = {
    "Job.batch": 5,
    "Pod": 5,
    "Workload.kueue.x-k8s.io": 5,
    "LocalQueue.kueue.x-k8s.io": 1,
    "Cohort.kueue.x-k8s.io": 1,
    "ClusterQueue.kueue.x-k8s.io": 1,
    "ResourceFlavor.kueue.x-k8s.io": 1,
}
"""As in the configuration that Kueue is shipped with."""


def may_run() -> str:
    """Why Kueue cannot run on this machine, empty where it can: it reads a fixed path that only a mount gives it."""
    if not sys.platform.startswith("linux"):
        return "a private mount namespace needs Linux"
    options = "-m" if os.geteuid() == 0 else "-rm"
    tried = subprocess.run(["unshare", options, "true"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"unshare {options} is not allowed: {tried.stderr.strip()}"
