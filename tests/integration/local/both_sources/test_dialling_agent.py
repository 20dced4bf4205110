"""A federation of real processes in which the one worker that takes jobs is reached only by what its agent dialled."""

import asyncio
import json

import pytest
import typer

from hub.cli import app as hub_app
from hub.local import processes
from hub.local.federation import Federation
from tests.command_line import typed
from tests.local_federation import Kubectl
from worker_agent.cli import app as agent_app

pytestmark = pytest.mark.usefixtures("berlin_alone")

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {generateName: train-, namespace: training, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  template:
    metadata: {annotations: {fedhub.dev/run-seconds: "1"}}
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: registry.example/train, resources: {requests: {cpu: "2", memory: 1Gi}}}
"""


def command(federation: Federation, app: typer.Typer, cluster: str, *words: str, stdin: str = "") -> str:
    kubeconfig = federation.layout.cluster_kubeconfig(cluster)
    done = typed(app, *words, "--kubeconfig", str(kubeconfig), stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def invite(federation: Federation) -> dict:
    settings = str(federation.layout.configuration("hub"))
    return json.loads(command(federation, hub_app, "manager", "enroll", "berlin", "--config", settings, "-o", "json"))


def join(federation: Federation, invitation: dict, *more: str) -> dict:
    words = ["join", "berlin", "--hub", *invitation["hubs"], "--ca-pin", invitation["caPin"], "--token", "-"]
    token = f"{invitation['token']}\n"
    return json.loads(command(federation, agent_app, "berlin", *words, *more, "-o", "json", stdin=token))


def runs_a_job(federation: Federation) -> None:
    manager = Kubectl(federation, "manager")
    name = manager("create", "-f", "-", "-o", "name", stdin=JOB).strip()
    manager.wait(name, "condition=Complete", "-n", "training")


def test_job_runs_on_the_worker_that_dialled(federation):
    source = Kubectl(federation, "manager")("get", "multikueuecluster/berlin", "-o", "jsonpath={.spec.clusterSource}")
    assert json.loads(source) == {"agent": {"name": "berlin"}}
    secrets = Kubectl(federation, "manager")("get", "secrets", "-n", "kueue-system", "-o", "name").split()
    assert [name for name in secrets if "kubeconfig" in name] == ["secret/tokyo-kubeconfig"]
    runs_a_job(federation)


@pytest.mark.parametrize("program", ["agent-berlin", "hub"])
def test_killed_program_is_back_in_the_link_when_started_again(federation, program):
    federation.running[program].handle().kill()
    processes.stop([federation.running[program]])
    federation.restart(program)
    asyncio.run(federation.ready(program))
    runs_a_job(federation)


def test_commands_of_the_administrators(federation):
    invitation = invite(federation)
    again = join(federation, invitation)
    assert (again["cluster"], again["joined"]) == ("berlin", False)
    anew = join(federation, invitation, "--replace")
    assert anew["joined"]
    runs_a_job(federation)
    check_logs(federation, invitation)


def check_logs(federation: Federation, invitation: dict) -> None:
    """Neither token nor key nor certificate of an agent stands in a log."""
    query = "jsonpath={.data.tls\\.key}"
    key = Kubectl(federation, "berlin")("get", "secret/fedhub-agent-identity", "-n", "kueue-system", "-o", query)
    logs = [path.read_text(errors="replace") for path in federation.layout.logs.iterdir()]
    assert len(logs) == 6
    secret = invitation["token"].partition(".")[2]
    for text in (secret, key[:60], "PRIVATE KEY", "BEGIN CERTIFICATE"):
        assert not [log for log in logs if text in log], text


def test_cluster_commands(federation):
    rows = json.loads(command(federation, hub_app, "manager", "cluster", "list", "-o", "json"))
    row, other = sorted((row for row in rows if not row["name"].startswith("bad-")), key=lambda row: row["name"])
    assert (row["name"], row["source"], row["connected"], row["scheduling"]) == ("berlin", "agent", "yes", "open")
    assert (other["name"], other["source"], other["connected"]) == ("tokyo", "kubeConfig", "yes")
    assert row["message"].startswith('Connected by the link that agent "berlin" holds to ')
    manager = Kubectl(federation, "manager")
    long = JOB.replace('run-seconds: "1"', 'run-seconds: "600"')
    name = manager("create", "-f", "-", "-o", "name", stdin=long).strip()
    Kubectl(federation, "berlin").wait(name, "create", "-n", "training")
    drained = typed(hub_app, "cluster", "drain", "berlin", "--kubeconfig", str(federation.layout.kubeconfig))
    assert drained.returncode == 3
    assert name.removeprefix("job.batch/") in drained.stdout
    assert "1 of 1 workloads have nowhere else to go" in drained.stderr
    manager("delete", name, "-n", "training")


def test_withdrawn_worker_is_out_and_comes_back_by_a_new_invitation(federation):
    manager = Kubectl(federation, "manager")
    command(federation, hub_app, "manager", "unenroll", "berlin")
    reason = 'jsonpath={.status.conditions[?(@.type=="Active")].reason}'
    manager.wait("multikueuecluster/berlin", f"{reason}=AgentNotEnrolled")
    join(federation, invite(federation), "--replace")
    manager.wait("multikueuecluster/berlin", "condition=Active")


def test_deleted_cluster_is_withdrawn_and_comes_back_when_it_is_made_again(federation):
    manager = Kubectl(federation, "manager")
    found = json.loads(manager("get", "multikueuecluster/berlin", "-o", "json"))
    named = {"name": "berlin", "labels": found["metadata"].get("labels", {})}
    anew = {"apiVersion": found["apiVersion"], "kind": found["kind"], "metadata": named, "spec": found["spec"]}
    manager("delete", "multikueuecluster/berlin")
    manager.wait("secret/fedhub-enrolled-berlin", "delete", "-n", "kueue-system")
    manager("create", "-f", "-", stdin=json.dumps(anew))
    join(federation, invite(federation), "--replace")
    manager.wait("multikueuecluster/berlin", "condition=Active")
