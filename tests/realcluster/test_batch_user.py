"""What a batch user types and reads: a transcript (``batch-user.yaml``), on the embedded server and a real one."""

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
import yaml

from tests.cluster_choice import EMBEDDED
from tests.local_federation import KUBECTL
from tests.realcluster.clusters import Server
from tests.realcluster.test_kubectl import masked
from worker_agent.api import timestamps
from worker_agent.api.resource_type import CLUSTER_QUEUES, LOCAL_QUEUES, NAMESPACES, WORKLOADS, ResourceType
from worker_agent.kube import kubeconfig, kubernetes_transport
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock

ROOT = Path(__file__).parents[2]
ROLES = ROOT / "manifests" / "base" / "cluster" / "user-roles.yaml"
TRANSCRIPT = yaml.safe_load((Path(__file__).parent / "batch-user.yaml").read_text())
NAMESPACE, USER = "lab", "ada"
BATCH_USER = "rbac.kueue.x-k8s.io/batch-user"
TIME = timestamps.rfc3339(datetime.now(UTC))


def condition(type_: str, status: str = "True", message: str = "") -> dict:
    return {"type": type_, "status": status, "reason": "R", "message": message, "lastTransitionTime": TIME}


POD_SETS = [
    {
        "name": "main",
        "count": 1,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
    }
]
ADMISSION = {"clusterQueue": "research", "podSetAssignments": [{"name": "main", "count": 1}]}
LOCAL_QUEUE_STATUS = {
    "pendingWorkloads": 1,
    "admittedWorkloads": 1,
    "conditions": [condition("Active", message="Can submit new workloads to localQueue")],
}
ADMITTED = {"admission": ADMISSION, "conditions": [condition("QuotaReserved"), condition("Admitted")]}
WAITING = {"conditions": [condition("QuotaReserved", "False", "no room")]}
QUEUED = {"queueName": "team", "podSets": POD_SETS}
OBJECTS = (
    (NAMESPACES, NAMESPACE, {}, None),
    (CLUSTER_QUEUES, "research", {"namespaceSelector": {}}, None),
    (LOCAL_QUEUES, "team", {"clusterQueue": "research"}, LOCAL_QUEUE_STATUS),
    (WORKLOADS, "job-runs", QUEUED, ADMITTED),
    (WORKLOADS, "job-waits", QUEUED, WAITING),
)
CLUSTER_ROLES = ResourceType("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)
ROLE_BINDINGS = ResourceType("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
pytestmark = pytest.mark.timeout(900)  # the first test waits for both servers
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
    "spec": {"suspend": True, "template": POD_SETS[0]["template"]},
}


class Desk:
    """Where Ada sits: a server, a folder, and who else she is."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self._folder = folder
        (folder / "job.yaml").write_text(yaml.safe_dump(JOB))

    def ada(self, typed: str) -> "subprocess.CompletedProcess[str]":
        program, *arguments = shlex.split(typed)
        command = [KUBECTL] if program == "kubectl" else [sys.executable, "-m", "hub.cli"]
        who = ["--as", USER, "--as-group", "system:authenticated"]
        where = [] if "-n" in arguments else ["-n", NAMESPACE]
        return self._run([*command, *arguments, *who, *where])

    def _run(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.server.kubeconfig_file),
            "HOME": str(self._folder),
            "PYTHONPATH": str(ROOT),
        }
        return subprocess.run(
            command,
            cwd=self._folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )


@pytest.fixture(scope="module")
def desks(servers: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Desk]]:
    made = [Desk(server, tmp_path_factory.mktemp(server.sort)) for server in servers]
    for server in servers:
        asyncio.run(_furnish(server))
    yield made
    for server in servers:
        asyncio.run(_clear(server))


async def _furnish(server: Server) -> None:
    client = Client(kubernetes_transport.connect(kubeconfig.load(server.kubeconfig_file)), SystemClock())
    try:
        for resource, name, spec, status in OBJECTS:
            namespace = NAMESPACE if resource.namespaced else ""
            metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
            made = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
            made = msgspec.json.decode(await client.create(resource, made, namespace))
            if status is not None:
                await client.update(resource, {**made, "status": status}, namespace, subresource="status")
        for role in _roles():
            await client.create(CLUSTER_ROLES, role)
            if (role["metadata"].get("labels") or {}).get(BATCH_USER) == "true":
                await client.create(ROLE_BINDINGS, _bound(role["metadata"]["name"]), NAMESPACE)
    finally:
        await client.close()


async def _clear(server: Server) -> None:
    client = Client(kubernetes_transport.connect(kubeconfig.load(server.kubeconfig_file)), SystemClock())
    try:
        await client.delete(NAMESPACES, NAMESPACE)
        await client.delete(CLUSTER_QUEUES, "research")
        for role in _roles():
            await client.delete(CLUSTER_ROLES, role["metadata"]["name"])
    finally:
        await client.close()


def _roles() -> list[dict]:
    return [each for each in yaml.safe_load_all(ROLES.read_text()) if each]


def _bound(role: str) -> dict:
    """To what the controller manager aggregates into kueue-batch-user-role: here that controller does not run."""
    return {
        "apiVersion": ROLE_BINDINGS.api_version,
        "kind": ROLE_BINDINGS.kind,
        "metadata": {"name": role, "namespace": NAMESPACE},
        "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": role},
        "subjects": [{"apiGroup": CLUSTER_ROLES.group, "kind": "User", "name": USER}],
    }


@pytest.mark.parametrize("entry", TRANSCRIPT, ids=lambda entry: entry["run"])
def test_what_a_batch_user_reads(entry: dict, desks: list[Desk]) -> None:
    asked = [desk for desk in desks if not (entry.get("rights") and desk.server.sort == EMBEDDED)]
    with ThreadPoolExecutor(len(asked)) as both:
        answers = list(both.map(lambda desk: desk.ada(entry["run"]), asked))
    for desk, done in zip(asked, answers, strict=True):
        printed = [masked(line) for line in done.stdout.splitlines()]
        assert done.returncode == entry.get("exit", 0), f"{desk.server.sort}: {done.stderr}"
        if "says" in entry:
            told = [masked(line) for line in done.stderr.splitlines()] if done.stderr else []
            assert [*told, *printed] == entry["says"], desk.server.sort
        if "errors" in entry:
            assert done.stderr.splitlines() == entry["errors"], desk.server.sort
        for words in entry.get("has", ()):
            assert any(words.strip() in line for line in printed), f"{desk.server.sort}: {words}: {done.stdout}"
