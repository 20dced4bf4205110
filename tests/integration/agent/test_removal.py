"""``fedhub-agent uninstall``: what goes, what stays, in which order, and that it may be repeated."""

import asyncio

import msgspec
import pytest

from tests.api_servers import served
from worker_agent.aggregated.registration import API_SERVICES
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    CLUSTER_ROLES,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    RESOURCE_FLAVORS,
    VALIDATING_WEBHOOKS,
    ResourceType,
)
from worker_agent.app import removal
from worker_agent.app.removal import RemovalError
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.errors import NotFound

NAMESPACE = "fedhub-system"
OURS = {"app.kubernetes.io/part-of": "fedhub"}
TEMPLATE = {"metadata": {"labels": OURS}, "spec": {"containers": [{"name": "program", "image": "fedhub:0"}]}}
LEADS_HERE = {"service": {"namespace": NAMESPACE, "name": "fedhub-agent-webhook"}}
ELSEWHERE = {"service": {"namespace": "other", "name": "other"}}


@pytest.fixture
async def client(tmp_path):
    async with served(tmp_path) as server:
        made = Client(server.transport, SystemClock())
        await create(made, NAMESPACES, {"name": NAMESPACE})
        yield made
        await made.close()


async def create(client: Client, resource: ResourceType, metadata: dict, namespace: str = "", **fields) -> dict:
    document = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}
    return msgspec.json.decode(await client.create(resource, document, namespace))


async def read(client: Client, resource: ResourceType, name: str, namespace: str = "") -> dict:
    return msgspec.json.decode(await client.get(resource, name, namespace))


async def is_there(client: Client, resource: ResourceType, name: str) -> bool:
    try:
        await client.get(resource, name)
    except NotFound:
        return False
    return True


def webhook(client_config: dict) -> list[dict]:
    return [
        {
            "name": "v.kb.io",
            "clientConfig": client_config,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": [{"apiGroups": ["x"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["y"]}],
        }
    ]


async def test_programs_are_stopped_and_waited_for(client):
    selector = {"matchLabels": OURS}
    spec = {"replicas": 2, "selector": selector, "template": TEMPLATE}
    await create(client, DEPLOYMENTS, {"name": "fedhub-agent", "labels": OURS}, NAMESPACE, spec=spec)
    await create(client, PODS, {"name": "one", "labels": OURS}, NAMESPACE, spec=TEMPLATE["spec"])
    removing = asyncio.create_task(removal.remove(client, NAMESPACE, lambda line: None))
    async with asyncio.timeout(90):
        while (await read(client, DEPLOYMENTS, "fedhub-agent", NAMESPACE))["spec"]["replicas"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        assert not removing.done()
        await client.delete(PODS, "one", NAMESPACE, grace_seconds=0)
        await removing


async def test_nobody_is_asked_any_more(client):
    await create(client, VALIDATING_WEBHOOKS, {"name": "ours"}, webhooks=webhook(LEADS_HERE))
    await create(client, VALIDATING_WEBHOOKS, {"name": "others"}, webhooks=webhook(ELSEWHERE))
    await removal.remove(client, NAMESPACE, lambda line: None)
    assert not await is_there(client, VALIDATING_WEBHOOKS, "ours")
    assert await is_there(client, VALIDATING_WEBHOOKS, "others")


async def test_aggregated_apis_of_ours_go(client):
    spec = {"group": "g.example", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100}
    await create(
        client, API_SERVICES, {"name": "v1.g.example"}, spec={**spec, **LEADS_HERE, "insecureSkipTLSVerify": True}
    )
    await removal.remove(client, NAMESPACE, lambda line: None)
    assert not await is_there(client, API_SERVICES, "v1.g.example")


async def test_aggregated_roles_of_ours_go_before_their_parts(client):
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"rbac.example/part": "true"}}]}
    for name, labels, rule in (("whole", OURS, gathers), ("others", {}, gathers), ("part", OURS, None)):
        await create(client, CLUSTER_ROLES, {"name": name, "labels": labels}, aggregationRule=rule, rules=[])
    await removal.remove(client, NAMESPACE, lambda line: None)
    assert [await is_there(client, CLUSTER_ROLES, name) for name in ("whole", "others", "part")] == [False, True, True]


async def test_our_finalizers_go_and_others_stay(client):
    held = ["kueue.x-k8s.io/resource-in-use", "example.com/theirs"]
    await create(client, RESOURCE_FLAVORS, {"name": "any", "finalizers": held}, spec={})
    await removal.remove(client, NAMESPACE, lambda line: None)
    assert (await read(client, RESOURCE_FLAVORS, "any"))["metadata"]["finalizers"] == ["example.com/theirs"]


async def test_a_deletion_that_hangs_is_ended(client):
    metadata = {"name": "q", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    await create(client, CLUSTER_QUEUES, metadata, spec={})
    await client.delete(CLUSTER_QUEUES, "q")
    assert await is_there(client, CLUSTER_QUEUES, "q")
    await removal.remove(client, NAMESPACE, lambda line: None)
    assert not await is_there(client, CLUSTER_QUEUES, "q")


@pytest.mark.embedded  # the definitions of real servers are those of the tests to come, too
async def test_manifests_that_were_deleted_first_go_in_the_end(client):
    """With their namespace; the definitions hang, as no program lets go of the queue."""
    definition = f"{CLUSTER_QUEUES.plural}.{CLUSTER_QUEUES.group}"
    await create(client, CLUSTER_QUEUES, {"name": "q", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}, spec={})
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, definition)
    await client.delete(NAMESPACES, NAMESPACE)
    async with asyncio.timeout(90):
        while await is_there(client, NAMESPACES, NAMESPACE):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert await is_there(client, CUSTOM_RESOURCE_DEFINITIONS, definition)
    await removal.remove(client, NAMESPACE, lambda line: None)
    async with asyncio.timeout(90):
        while await is_there(client, CUSTOM_RESOURCE_DEFINITIONS, definition):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_repeating_it_writes_nothing(client):
    await create(client, RESOURCE_FLAVORS, {"name": "any", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}, spec={})
    await removal.remove(client, NAMESPACE, lambda line: None)
    client.writes.clear()
    await removal.remove(client, NAMESPACE, lambda line: None)
    assert not client.writes


async def test_a_mistyped_namespace_is_told(client):
    with pytest.raises(RemovalError, match="there is no namespace fedhub-sytem"):
        await removal.remove(client, "fedhub-sytem", lambda line: None)


async def test_another_namespace_than_that_of_the_programs_is_told(client):
    await create(client, NAMESPACES, {"name": "typo"})
    spec = {"replicas": 1, "selector": {"matchLabels": OURS}, "template": TEMPLATE}
    await create(client, DEPLOYMENTS, {"name": "fedhub-agent", "labels": OURS}, NAMESPACE, spec=spec)
    with pytest.raises(RemovalError, match="nothing is installed in namespace typo: the programs are in fedhub-system"):
        await removal.remove(client, "typo", lambda line: None)
