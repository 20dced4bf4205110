"""The programs of a local federation: their command lines, settings files and readiness.

Ports are chosen once per program and written into its settings, so that a program that is started again keeps them.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from hub.app import roles
from hub.local import layout
from hub.local.layout import Layout
from hub.local.real import accounts
from hub.local.real.files import Files
from hub.local.spec import Cluster, FederationSpec
from worker_agent.api.frameworks import FRAMEWORKS

CLUSTER = "cluster"
AGENT = "agent"
HUB = "hub"


@dataclass(frozen=True, slots=True)
class Program:
    """``argv`` follows the Python interpreter; ``ready`` asks whether it serves."""

    name: str
    argv: list[str]
    ready: Callable[[], Awaitable[bool]]


EMBEDDED_CLUSTER = "hub.local.cluster_process"
REAL_CLUSTER = "hub.local.real.cluster_process"


@dataclass(frozen=True, slots=True)
class Clusters:
    """How clusters run: ``module`` runs one; both that there are read the same configuration and keep the promise."""

    module: str = EMBEDDED_CLUSTER
    persistent: bool = False
    audit: bool = False
    audit_programs: bool = False

    def kubeconfig(self, where: Layout, cluster: str, account: str) -> Path:
        """By which a program connects: real clusters know each by an account of its own."""
        if self.module == REAL_CLUSTER:
            return where.account_kubeconfig(cluster, account)
        return where.cluster_kubeconfig(cluster)


_ALL_KINDS: Final[Mapping[str, Any]] = {
    "integrations": {"frameworks": list(FRAMEWORKS)},
    "featureGates": {"SparkApplicationIntegration": True},
}


def of(spec: FederationSpec, where: Layout, clusters: Clusters) -> Iterator[Program]:
    """Every program of the federation, clusters first; writes their settings files on the way."""
    kinds = _ALL_KINDS if spec.job_kinds else {}
    for cluster in spec.clusters:
        yield _cluster(cluster, where, clusters, job_kinds=spec.job_kinds)
    if spec.manager:
        federation = {**_door(spec), "jobViews": _views()}
        kubeconfig = clusters.kubeconfig(where, spec.manager.name, roles.HUB)
        yield _controller(HUB, "hub.cli", kubeconfig, where, {"federation": federation, **kinds})
    for worker in spec.workers:
        account = accounts.MEMBER if worker.source == "agent" else roles.AGENT
        kubeconfig = clusters.kubeconfig(where, worker.name, account)
        yield _controller(f"{AGENT}-{worker.name}", "worker_agent.cli", kubeconfig, where, kinds)


def _cluster(cluster: Cluster, where: Layout, how: Clusters, *, job_kinds: bool) -> Program:
    path = where.cluster_configuration(cluster.name)
    (port,) = layout.free_ports(1)
    folder = where.cluster(cluster.name)
    _forget(folder, how)
    _write(
        path,
        msgspec.json.format(
            msgspec.json.encode(
                {
                    "name": cluster.name,
                    "port": port,
                    "dataDirectory": str(folder),
                    "persistent": how.persistent,
                    "audit": how.audit,
                    "auditPrograms": how.audit_programs,
                    "jobKinds": job_kinds,
                    "nodeGroups": [group.model_dump(by_alias=True) for group in cluster.node_groups],
                    "autoscaler": cluster.autoscaler.model_dump(by_alias=True) if cluster.autoscaler else None,
                }
            )
        ),
    )

    async def ready() -> bool:
        return where.cluster_kubeconfig(cluster.name).exists() and await _listens(port)

    return Program(f"{CLUSTER}-{cluster.name}", ["-m", how.module, str(path)], ready)


def _forget(folder: Path, how: Clusters) -> None:
    """Take away what a federation that was in ``folder`` before has left, perhaps one of the other sort.

    A kubeconfig is the sign that a cluster serves; and objects stay only where that was asked for.
    """
    for left in folder.glob("*kubeconfig"):
        left.unlink()
    if not how.persistent:
        shutil.rmtree(Files(folder).etcd, ignore_errors=True)


def _door(spec: FederationSpec) -> dict[str, Any]:
    """Where the hub serves agents that dial in, if the federation has any."""
    if all(worker.source != "agent" for worker in spec.workers):
        return {}
    (port,) = layout.free_ports(1)
    agents = {"bindAddress": f"127.0.0.1:{port}", "addresses": [f"https://127.0.0.1:{port}"]}
    return {"agents": agents}


def _views() -> dict[str, Any]:
    """Where the manager's API server finds the hub when users ask for pods and logs of their jobs."""
    (port,) = layout.free_ports(1)
    return {"bindAddress": f"127.0.0.1:{port}", "externalHost": "localhost"}


def door_address(where: Layout) -> str:
    """The address under which agents reach the hub."""
    settings = yaml.safe_load(where.configuration(HUB).read_text())
    return str(settings["federation"]["agents"]["addresses"][0])


def _controller(name: str, module: str, kubeconfig: Path, where: Layout, more: Mapping[str, Any]) -> Program:
    health, metrics, webhook, visibility = layout.free_ports(4)
    path = where.configuration(name)
    settings: dict[str, Any] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}", "secureServing": False},
        "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": visibility, "externalHost": "localhost"},
        "webhook": {"host": "127.0.0.1", "port": webhook, "url": f"https://127.0.0.1:{webhook}"},
        "leaderElection": {"leaderElect": False},
    }
    settings |= more
    _write(path, yaml.safe_dump(settings, sort_keys=False).encode())
    argv = ["-m", module, "run", "--config", str(path), "--kubeconfig", str(kubeconfig)]
    argv += ["--zap-encoder", "console"]

    async def ready() -> bool:
        return await answers(health, "/readyz")

    return Program(name, argv, ready)


def write_kubeconfig(spec: FederationSpec, where: Layout) -> None:
    """One kubeconfig with a context per cluster, the manager's as the current one."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
    for cluster in spec.clusters:
        own = yaml.safe_load(where.cluster_kubeconfig(cluster.name).read_text())
        merged["clusters"].append({"name": cluster.name, "cluster": own["clusters"][0]["cluster"]})
        merged["users"].append({"name": cluster.name, "user": own["users"][0]["user"]})
        context = {"cluster": cluster.name, "user": cluster.name}
        merged["contexts"].append({"name": cluster.name, "context": context})
    merged["current-context"] = spec.clusters[0].name
    _write(where.kubeconfig, yaml.safe_dump(merged, sort_keys=False).encode())


def _write(path: Path, content: bytes) -> None:
    """Readable by this user alone: kubeconfigs hold credentials."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def answers(port: int, path: str) -> bool:
    """True when a plain HTTP GET is answered with 200."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        await writer.drain()
        return b" 200 " in await reader.readline()
    except OSError:
        return False
    finally:
        writer.close()
