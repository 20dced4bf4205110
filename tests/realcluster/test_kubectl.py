"""kubectl, unmodified, against both servers: it prints the same and ends the same, once times and UIDs are masked."""

import os
import re
import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from tests.cluster_choice import EMBEDDED, NEWEST
from tests.local_federation import KUBECTL
from tests.realcluster import table
from tests.realcluster.clusters import Server

LISTED = yaml.safe_load((Path(__file__).parent / "kubectl.yaml").read_text())
COMMANDS = [entry["run"] if isinstance(entry, dict) else entry for entry in LISTED]
KNOWN = {entry["run"]: entry["differs"] for entry in LISTED if isinstance(entry, dict)}

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: default-flavor
      resources:
      - {name: cpu, nominalQuota: 9}
      - {name: memory, nominalQuota: 36Gi}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: team, name: team-queue}
spec: {clusterQueue: cluster-queue}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team, labels: {kueue.x-k8s.io/queue-name: team-queue}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: registry.example/train:1
        args: ["--epochs", "3"]
        resources: {requests: {cpu: 1, memory: 1Gi}}
"""
WORKLOAD = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: train, namespace: team}
spec:
  queueName: team-queue
  podSets:
  - name: main
    count: 2
    template:
      spec:
        restartPolicy: Never
        containers: [{name: main, image: i, resources: {requests: {cpu: 1}}}]
"""
FILES = {
    "queues.yaml": QUEUES,
    "queues-changed.yaml": QUEUES.replace("nominalQuota: 9", "nominalQuota: 12"),
    "queues-invalid.yaml": QUEUES.replace("nominalQuota: 9", "nominalQuota: lots"),
    "queues-unknown-field.yaml": QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {}\n  namespaces: [a]"),
    "job.yaml": JOB,
    "job-replaced.yaml": JOB.replace("suspend: true", "suspend: false").replace("name: main", "name: other"),
    "workload.yaml": WORKLOAD,
}
MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(r'(resourceVersion\\?"?: ?\\?"?|Resource Version: +)\d+'), r"\1<version>"),
    (re.compile(r"X509SHA256=[0-9a-f]{64}"), "X509SHA256=<digest>"),
    (re.compile(r'("(?:gitVersion|gitCommit|gitTreeState|goVersion|compiler)": )"[^"]*"'), r'\1"<build>"'),
    (re.compile(r"\b\d+(s|m\d*s?)(?=\s|$)"), "<age>"),
    (re.compile(r" {2,}"), "  "),
    (re.compile(r"(?m) +$"), ""),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("manifests")
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


@pytest.fixture(scope="module")
def tally():
    found = {"same": 0, "typed": 0}
    started = time.monotonic()
    yield found
    told = f"{found['same']} of {found['typed']} commands the same, {len(KNOWN)} listed"
    for sort in (EMBEDDED, NEWEST):
        table.put("kubectl", sort, f"{told} in {time.monotonic() - started:.0f} s")


@pytest.mark.parametrize("command", COMMANDS)
def test_same_words(command, servers, folder, tally):
    tally["typed"] += 1
    with ThreadPoolExecutor(2) as both:
        embedded, real = both.map(lambda server: said(command, server, folder), servers)
    if command in KNOWN:
        assert embedded != real, f"no longer different, so say so in kubectl.yaml: {KNOWN[command]}"
        return
    assert embedded == real
    tally["same"] += 1


def said(command: str, server: Server, folder: Path) -> list[str]:
    """What kubectl printed, masked, line by line: standard output, standard error, exit code."""
    arguments = shlex.split(command) if "{" not in command else [part.replace("\\", "") for part in command.split(" ")]
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig_file), "HOME": str(folder), "EDITOR": "true"}
    done = subprocess.run(
        [KUBECTL, *arguments[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    name = re.compile(rf"\b{re.escape(server.sort)}\b")
    lines = [*done.stdout.splitlines(), "-- standard error", *done.stderr.splitlines(), f"-- exit {done.returncode}"]
    return [masked(name.sub("<cluster>", line)) for line in lines]


def masked(line: str) -> str:
    for pattern, mask in MASKS:
        line = pattern.sub(mask, line)
    return line
