"""Users ask the API server which workloads wait, with kubectl; it sends their questions on to the agent."""

import asyncio
import os
import re
from pathlib import Path

import msgspec
import pytest

from hub.local import layout
from hub.local.apiserver import kubeconfig_files
from tests import cluster_choice
from tests.integration.agent.world import world
from tests.integration.kubectl.conftest import kubectl_path
from worker_agent.aggregated.registration import API_SERVICES
from worker_agent.app import visibility_service
from worker_agent.kube.errors import ApiError, NotFound
from worker_agent.kube.transport import Request

GROUP = "/apis/visibility.kueue.x-k8s.io"
QUEUE = f"{GROUP}/v1beta2/clusterqueues/cluster-queue/pendingworkloads"


@pytest.fixture
async def cluster(tmp_path):
    """One job holds the queue's cpus, two wait."""
    async with world(tmp_path) as made:
        await start(made)
        await made.queue()
        await made.submit("runs")
        await made.started("runs")
        await made.submit("first")
        await made.condition("first", "QuotaReserved", "False", "WaitingForQuota")
        await made.submit("second")

        async def both_wait():
            return len((await asked(made, QUEUE))["items"]) == 2

        await made.until(both_wait, "two jobs wait")
        yield made
        await made.stop_agent()


async def start(made, **gates):
    (port,) = layout.free_ports(1)
    stanza = {"bind_address": "127.0.0.1", "bind_port": port, "external_host": "localhost"}
    await made.start_agent(attach=visibility_service.attach, visibility_server=stanza, feature_gates=gates)


async def asked(made, path, **headers):
    """The answer, once the API is there."""

    async def answered():
        try:
            return msgspec.json.decode(await made.user.raw(Request("GET", path, headers=headers)))
        except ApiError as error:
            if error.status != 503 and "could not find the requested resource" not in str(error):
                raise
            return None

    return await made.until(answered, f"{path} is answered")


def jobs(summary):
    return [item["metadata"]["ownerReferences"][0]["name"] for item in summary["items"]]


async def test_users_see_what_waits_in_both_kinds_of_queues(cluster):
    order = jobs(await asked(cluster, QUEUE))
    assert sorted(order) == ["first", "second"]
    path = f"{GROUP}/v1beta1/namespaces/default/localqueues/user-queue/pendingworkloads"
    found = await asked(cluster, f"{path}?limit=1&offset=1")
    assert found["apiVersion"] == "visibility.kueue.x-k8s.io/v1beta1"
    assert jobs(found) == order[1:]
    assert found["items"][0]["positionInLocalQueue"] == 1


async def test_an_unknown_queue_is_not_found(cluster):
    with pytest.raises(NotFound, match=re.escape('clusterqueue.visibility.kueue.x-k8s.io "none" not found')):
        await asked(cluster, f"{GROUP}/v1beta2/clusterqueues/none/pendingworkloads")


async def test_kubectl_reads_the_queue_and_discovers_the_api(cluster, tmp_path):
    path = kubeconfig(cluster.server, tmp_path)
    assert sorted(jobs(msgspec.json.decode(await kubectl(path, "get", "--raw", QUEUE)))) == ["first", "second"]
    versions = await kubectl(path, "api-versions")
    assert "visibility.kueue.x-k8s.io/v1beta2" in versions.decode().split()


async def test_who_has_no_right_is_refused(cluster):
    """Real API servers ask their roles; embedded ones refuse nobody."""
    if cluster_choice.chosen() == cluster_choice.EMBEDDED:
        return
    with pytest.raises(ApiError, match="eve") as caught:
        await asked(cluster, QUEUE, **{"Impersonate-User": "eve"})
    assert caught.value.status == 403


async def test_switched_off_the_registration_is_taken_back(cluster):
    await cluster.kill_agent()
    await start(cluster, VisibilityOnDemand=False)

    async def gone():
        return not [each for each in await cluster.all(API_SERVICES) if "visibility" in each["metadata"]["name"]]

    await cluster.until(gone, "the registration is gone")


async def test_a_stopping_program_outside_of_its_cluster_takes_its_registration_back(cluster):
    await cluster.stop_agent()
    assert not [each for each in await cluster.all(API_SERVICES) if "visibility" in each["metadata"]["name"]]


def kubeconfig(server, folder: Path) -> Path:
    inner = getattr(server, "server", None)
    found = getattr(inner, "kubeconfig_file", None)
    if found is not None:
        return found
    path = folder / "kubeconfig"
    kubeconfig_files.write(path, server.kubeconfig())
    return path


async def kubectl(path: Path, *arguments: str) -> bytes:
    command = [kubectl_path(), "--kubeconfig", str(path), "--cache-dir", str(path.parent / "cache"), *arguments]
    running = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={**os.environ, "HOME": "/"}
    )
    output, errors = await running.communicate()
    assert running.returncode == 0, errors.decode()
    return output
