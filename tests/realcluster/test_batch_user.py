"""A batch user's hour at the command line: a transcript (``batch-user.yaml``), on the embedded server and a real one."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.cluster_choice import EMBEDDED
from tests.local_federation import KUBECTL
from tests.realcluster.clusters import Server
from tests.realcluster.test_kubectl import masked

ROOT = Path(__file__).parents[2]
ROLES = ROOT / "manifests" / "base" / "cluster" / "user-roles.yaml"
TRANSCRIPT = yaml.safe_load((Path(__file__).parent / "batch-user.yaml").read_text())
NAMESPACE, USER = "lab", "ada"
BATCH_USER = "rbac.kueue.x-k8s.io/batch-user"
TIME = "2026-01-01T00:00:00Z"


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
OBJECTS = (
    ("v1", "Namespace", NAMESPACE, {}, None),
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue", "research", {"spec": {"namespaceSelector": {}}}, None),
    (
        "kueue.x-k8s.io/v1beta2",
        "LocalQueue",
        "team",
        {"spec": {"clusterQueue": "research"}},
        {
            "pendingWorkloads": 1,
            "admittedWorkloads": 1,
            "conditions": [condition("Active", message="Can submit new workloads to localQueue")],
        },
    ),
    (
        "kueue.x-k8s.io/v1beta2",
        "Workload",
        "job-runs",
        {"spec": {"queueName": "team", "podSets": POD_SETS}},
        {"admission": ADMISSION, "conditions": [condition("QuotaReserved"), condition("Admitted")]},
    ),
    (
        "kueue.x-k8s.io/v1beta2",
        "Workload",
        "job-waits",
        {"spec": {"queueName": "team", "podSets": POD_SETS}},
        {"conditions": [condition("QuotaReserved", "False", "no room")]},
    ),
)
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

    def administrator(self, *arguments: str, stdin: str = "") -> str:
        done = self._run([KUBECTL, *arguments], stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ada(self, typed: str) -> "subprocess.CompletedProcess[str]":
        program, *arguments = shlex.split(typed)
        command = [KUBECTL] if program == "kubectl" else [sys.executable, "-m", "hub.cli"]
        who = ["--as", USER, "--as-group", "system:authenticated"]
        where = [] if "-n" in arguments else ["-n", NAMESPACE]
        return self._run([*command, *arguments, *who, *where])

    def _run(self, command: list[str], stdin: str = "") -> "subprocess.CompletedProcess[str]":
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
            input=stdin,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )


@pytest.fixture(scope="module")
def desks(servers: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Desk]]:
    made = [Desk(server, tmp_path_factory.mktemp(server.sort)) for server in servers]
    for desk in made:
        _furnish(desk)
    yield made
    for desk in made:
        desk.administrator("delete", "namespace", NAMESPACE, "--wait=false")
        desk.administrator("delete", "clusterqueue", "research")
        desk.administrator("delete", "-f", str(ROLES))


def _furnish(desk: Desk) -> None:
    for api_version, kind, name, fields, status in OBJECTS:
        metadata = {"name": name, "namespace": NAMESPACE}
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
        if kind in ("Namespace", "ClusterQueue"):
            del metadata["namespace"]
        desk.administrator("apply", "-f", "-", stdin=yaml.safe_dump(document))
        if status is not None:
            patch = yaml.safe_dump({"status": status})
            target = (f"{kind.lower()}.kueue.x-k8s.io", name, "-n", NAMESPACE)
            desk.administrator("patch", *target, "--subresource=status", "--type=merge", "--patch", patch)
    desk.administrator("apply", "--server-side", "-f", str(ROLES))
    for role in _batch_user_roles():
        # What the controller manager aggregates into kueue-batch-user-role; here it runs without that controller.
        desk.administrator("create", "rolebinding", role, "-n", NAMESPACE, f"--clusterrole={role}", f"--user={USER}")


@cache
def _batch_user_roles() -> list[str]:
    roles = [each for each in yaml.safe_load_all(ROLES.read_text()) if each]
    labelled = [each for each in roles if (each["metadata"].get("labels") or {}).get(BATCH_USER) == "true"]
    assert len(labelled) > 10
    return [each["metadata"]["name"] for each in labelled]


@pytest.mark.parametrize("entry", TRANSCRIPT, ids=lambda entry: entry["run"])
def test_what_a_batch_user_reads(entry: dict, desks: list[Desk]) -> None:
    for desk in desks:
        if entry.get("rights") and desk.server.sort == EMBEDDED:
            continue
        done = desk.ada(entry["run"])
        printed = [masked(line) for line in done.stdout.splitlines()]
        assert done.returncode == entry.get("exit", 0), f"{desk.server.sort}: {done.stderr}"
        if "says" in entry:
            told = [masked(line) for line in done.stderr.splitlines()] if done.stderr else []
            assert [*told, *printed] == entry["says"], desk.server.sort
        if "errors" in entry:
            assert done.stderr.splitlines() == entry["errors"], desk.server.sort
        for words in entry.get("has", ()):
            assert any(words.strip() in line for line in printed), f"{desk.server.sort}: {words}: {done.stdout}"
