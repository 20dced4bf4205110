"""The README's section *Install*, word for word, on three real control planes: install, connect, run, upgrade, remove.

What the reader types is read from the page. The programs run as the manifests say (``pod_processes`` stands in for
containers); webhooks and aggregated APIs are reached at their Services' endpoints.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub.local.apiserver import kubeconfig_files
from hub.local.simulation.shape import ClusterShape
from tests import secret_search
from tests.balancer import Balancer
from tests.local_federation import KUBECTL
from tests.realcluster import install_page, kueue
from tests.realcluster.install_page import Reader
from tests.realcluster.members import Member, Members
from tests.realcluster.pod_processes import PodProcesses, own_address

NODES = [{"name": "general", "count": 2, "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"}}]
NAMES = ("manager", "oregon", "berlin")
COMES_AND_GOES = ("events", "events.events.k8s.io", "leases.coordination.k8s.io", "pods", "componentstatuses")
"""Not counted among what an installation leaves: written by the control plane itself."""

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(kueue.may_run()), reason=f"pods as processes: {kueue.may_run()}"),
    pytest.mark.skipif(not own_address(), reason="endpoints need an address of this machine that is not loopback"),
]


class Walk:
    """A reader on the way down the page; each part is typed once, when the first test wants to have read it."""

    def __init__(self, folder: Path, members: list[Member], door: int) -> None:
        """``door`` is the port at which agents reach the Service of the hub."""
        self.members = {member.name: member for member in members}
        self.kubeconfig = folder / "kubeconfig"
        kubeconfig_files.write(self.kubeconfig, kubeconfig_files.merged([each.plane.kubeconfig for each in members]))
        self.reader = Reader(folder, {"KUBECONFIG": str(self.kubeconfig), "HUB": f"https://127.0.0.1:{door}"})
        self.reader.prepare()
        self.folder = folder
        self.secrets: set[str] = set()
        """Pieces of all that was secret at some time."""
        self._page = install_page.blocks()
        self._typed: dict[str, str] = {}
        for name in self.members:
            self.kubectl(name, "wait", "node", "general-0", "general-1", "--for=create", "--timeout=180s")
        self.before = {name: self.objects(name) for name in self.members}

    def through(self, *headings: str) -> str:
        """What these parts of the page printed."""
        for heading in headings:
            if heading not in self._typed:
                assert self._page[heading], f"the page has no commands under {heading!r}"
                self._typed[heading] = "".join(self._type(block) for block in self._page[heading])
        return "".join(self._typed[heading] for heading in headings)

    def _type(self, block: str) -> str:
        try:
            return self.reader.types(block)
        except AssertionError as error:
            logs = "\n".join(f"---- {name}\n{each.pods.logs()[-3000:]}" for name, each in self.members.items())
            raise AssertionError(f"{error}\n{logs}") from None

    def kubectl(self, cluster: str, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            [KUBECTL, "--context", cluster, *arguments],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout if done.returncode == 0 else done.stderr

    def documents(self, cluster: str, *arguments: str) -> list[dict]:
        return list(json.loads(self.kubectl(cluster, "get", *arguments, "-o", "json"))["items"])

    def objects(self, cluster: str) -> set[str]:
        """Everything there is, as ``kind/namespace/name``."""
        kinds = self.kubectl(cluster, "api-resources", "--verbs=list", "-o", "name").split()
        wanted = ",".join(kind for kind in kinds if kind not in COMES_AND_GOES)
        found = self.documents(cluster, wanted, "-A", "--ignore-not-found")
        return {f"{each['kind']}/{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in found}

    def note_secrets(self) -> None:
        """What is secret now: in the clusters, in the pods, and in the files and the terminal of the reader."""
        found = [path.read_text() for path in self.folder.glob("*.kubeconfig")]
        found += re.findall(r"--token[ =](\S+)", "".join(self._typed.values()))
        for name, member in self.members.items():
            found += secret_search.values(self.documents(name, "secrets", "-A"))
            found += member.pods.tokens()
        self.secrets.update(*map(secret_search.pieces, found))

    def logs(self) -> dict[str, str]:
        paths = self.folder.parent.rglob("*.log")
        return {str(path.relative_to(self.folder.parent)): path.read_text(errors="replace") for path in paths}

    def running(self, cluster: str) -> dict[str, str]:
        """UID -> phase of the pods of the long job."""
        pods = self.documents(cluster, "pods", "-n", "training", "-l", "batch.kubernetes.io/job-name=long")
        return {pod["metadata"]["uid"]: pod["status"]["phase"] for pod in pods}


class LoadBalancer(Balancer):
    """Leads to those of the cluster's pods at which agents are served, as the Service would from outside."""

    def __init__(self, pods: PodProcesses) -> None:
        super().__init__()
        self._pods = pods

    def endpoints(self) -> list[int]:
        return [each.ports["agents"] for each in self._pods.running.values() if each.ready]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    folder = tmp_path_factory.mktemp("install")
    with Members(folder / "clusters") as members:
        started = members.start({name: ClusterShape.from_documents(NODES) for name in NAMES})
        door = LoadBalancer(started[0].pods)
        members.do(door.start())
        try:
            yield Walk(folder / "reader", started, door.port)
        finally:
            members.do(door.stop())


INSTALLED = ("With kubectl", "Connect a worker")
RUN = (*INSTALLED, "A first job")


def test_both_workers_are_connected(walk: Walk):
    printed = walk.through(*INSTALLED)
    assert "multikueuecluster.kueue.x-k8s.io/oregon condition met" in printed
    assert "multikueuecluster.kueue.x-k8s.io/berlin condition met" in printed


def test_every_replica_is_ready(walk: Walk):
    walk.through(*INSTALLED)
    for cluster, replicas in (("manager", 2), ("oregon", 2), ("berlin", 2)):
        [deployment] = walk.documents(cluster, "deployments", "-n", "fedhub-system")
        assert deployment["status"]["readyReplicas"] == replicas


def test_doctor_finds_nothing_wrong_and_names_what_is_taken_away(walk: Walk):
    walk.through(*INSTALLED)
    doctor = "fedhub doctor --context manager --worker oregon=oregon --worker berlin=berlin"
    assert "nothing is wrong on 3 clusters" in walk.reader.types(doctor)
    walk.kubectl("oregon", "delete", "clusterrole", "fedhub-agent")
    assert "may not list, watch nodes" in walk.reader.types(f"{doctor} -o json || test $? = 1")
    walk.reader.types("kubectl --context oregon apply --server-side -k manifests/overlays/agent")
    assert "nothing is wrong on 3 clusters" in walk.reader.types(doctor)


def test_jobs_run_on_the_workers(walk: Walk):
    walk.through(*RUN)
    pods = [walk.running(worker) for worker in ("oregon", "berlin")]
    assert sorted(list(each.values()) for each in pods) == [[], ["Running", "Running"]]
    assert walk.running("manager") == {}


def test_batch_users_may_submit_and_see(walk: Walk):
    walk.through(*INSTALLED)
    rights = ["auth", "can-i", "--as", "ada", "-n", "default"]
    walk.kubectl(
        "oregon", "create", "rolebinding", "ada", "-n", "default", "--clusterrole=kueue-batch-user-role", "--user=ada"
    )
    assert walk.kubectl("oregon", *rights, "create", "jobs.batch").strip() == "yes"
    assert walk.kubectl("oregon", *rights, "list", "workloads.kueue.x-k8s.io").strip() == "yes"
    assert walk.kubectl("oregon", *rights, "delete", "workloads.kueue.x-k8s.io", check=False).strip() != "yes"
    walk.kubectl("oregon", "delete", "rolebinding", "ada", "-n", "default")


def test_an_upgrade_touches_no_job(walk: Walk):
    walk.through(*RUN)
    before = [walk.running(worker) for worker in ("oregon", "berlin")]
    walk.note_secrets()
    walk.through("Upgrade")
    assert [walk.running(worker) for worker in ("oregon", "berlin")] == before


def test_a_lock_out_is_ended_as_the_page_says(walk: Walk):
    walk.through(*RUN)
    walk.kubectl("manager", "scale", "-n", "fedhub-system", "deployment/fedhub-hub", "--replicas=0")
    walk.kubectl("manager", "wait", "-n", "fedhub-system", "pods", "--all", "--for=delete", "--timeout=180s")
    create = ["create", "job", "locked", "-n", "default", "--image=none"]
    assert "failed calling webhook" in walk.kubectl("manager", *create, check=False)
    walk.through("When a webhook locks you out")
    walk.kubectl("manager", *create)
    walk.kubectl("manager", "delete", "job", "locked", "-n", "default")


def test_removal_leaves_nothing_and_touches_no_job(walk: Walk):
    walk.through(*RUN)
    before = {worker: walk.running(worker) for worker in ("oregon", "berlin")}
    walk.note_secrets()
    walk.through("Removal")
    for cluster in NAMES:
        left = {each for each in walk.objects(cluster) - walk.before[cluster] if not _of_the_user(each)}
        assert left == set()
    assert {worker: walk.running(worker) for worker in ("oregon", "berlin")} == before
    held = [each for cluster in NAMES for each in walk.documents(cluster, "jobs,pods", "-n", "training")]
    assert not [each["metadata"]["name"] for each in held if each["metadata"].get("finalizers") and _ours(each)]


def test_no_secret_of_all_this_is_in_a_log(walk: Walk):
    """Of the programs, at level debug, and of the control planes."""
    walk.through(*RUN)
    walk.note_secrets()
    logs = walk.logs()
    for program in ("manager/pods/fedhub-hub", "oregon/pods/fedhub-agent", "berlin/pods/fedhub-agent"):
        assert any(program in name and log for name, log in logs.items()), program
    assert any('"level":"debug"' in log.replace(" ", "") for log in logs.values()), "agents have little to say at debug"
    assert any(text.startswith("eyJ") for text in walk.secrets), "no token of a service account is looked for"
    assert len(walk.secrets) > 30
    assert secret_search.seen(walk.secrets, logs) == {}


def _of_the_user(named: str) -> bool:
    """The namespace of the first job, and that job."""
    return named == "Namespace//training" or "/training/" in named


def _ours(document: dict) -> bool:
    return any("kueue" in finalizer or "fedhub" in finalizer for finalizer in document["metadata"]["finalizers"])
