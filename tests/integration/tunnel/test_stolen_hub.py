"""Somebody has all of the hub: its files, its Secrets, its rights, the running links. What can they do to a worker?

Nothing outside the allow-list: the attempts go through the link as raw requests, and the worker is compared with what
it was before.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tests.integration.federation.world import Cluster, job, runs_on, until
from tests.integration.tunnel.world import SYSTEM, DialledFederation, dialled
from worker_agent.api import resource_type
from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType
from worker_agent.api.workload import Workload
from worker_agent.kube.errors import NotFound
from worker_agent.kube.transport import Request
from worker_agent.tunnel.identity import SECRET_NAME

MARK = "bWFyay1vZi10aGUtc2VjcmV0"
JSON = {"content-type": "application/json"}
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
ORIGIN = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}
JOBS = "/apis/batch/v1/namespaces/ns/jobs"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads"
OURS = (("labelSelector", "kueue.x-k8s.io/multikueue-origin=multikueue"),)

COMPARED = [each for each in vars(resource_type).values() if isinstance(each, ResourceType)]
MOVING = {"leases", "events", "clustercapacities", "nodes"}


def body(document: Document) -> bytes:
    return msgspec.json.encode(document)


def local_job(name: str, labels: Document | None = None) -> Document:
    made = job(name)
    made["metadata"] = {"name": name, "namespace": "ns", "labels": labels or {}}
    made["spec"].pop("managedBy", None)
    return made


def queued_here() -> Document:
    """A job of the worker's own user, in a queue of the worker, with a secret in its environment."""
    made = job("queued-here")
    made["spec"].pop("managedBy")
    made["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": MARK}]
    return made


async def queued_workload(world: DialledFederation) -> Document | None:
    """The Workload of the worker's own user's job."""
    for found in await world.workers["east"].all(resource_type.WORKLOADS):
        if any(owner["name"] == "queued-here" for owner in found["metadata"].get("ownerReferences", ())):
            return found
    return None


@asynccontextmanager
async def stolen(**agent_changes: Any) -> AsyncIterator[DialledFederation]:
    """A worker with a secret and work of its own, linked to the hub."""
    async with dialled(agent_changes=agent_changes, east=4) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        east = world.workers["east"]
        for namespace in ("ns", "kube-system", "private"):
            await east.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            metadata = {"name": "credentials", "namespace": namespace}
            await east.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"key": MARK}})
        await east.create(local_job("local"))
        await east.create(queued_here())
        yield world


async def state(world: DialledFederation) -> dict[str, str]:
    found: dict[str, str] = {}
    for resource in COMPARED:
        if resource.plural in MOVING:
            continue
        try:
            page = await world.workers["east"].client.list(resource)
        except NotFound:
            continue  # not served there
        for raw in page.items:
            metadata = msgspec.json.decode(raw)["metadata"]
            found[f"{resource.plural}/{metadata.get('namespace')}/{metadata['name']}"] = metadata["resourceVersion"]
    return found


def get(path: str, *query: tuple[str, str], **headers: str) -> Request:
    return Request("GET", path, query, {name.replace("_", "-"): value for name, value in headers.items()})


def merge(path: str, document: Document) -> Request:
    return Request("PATCH", path, (("fieldManager", "x"),), MERGE, body(document))


READS = {
    "secrets of the namespace": get("/api/v1/namespaces/ns/secrets"),
    "all secrets": get("/api/v1/secrets"),
    "one secret": get("/api/v1/namespaces/ns/secrets/credentials"),
    "watch of secrets": get("/api/v1/secrets", ("watch", "true")),
    "the agent's key": get(f"/api/v1/namespaces/{SYSTEM}/secrets/{SECRET_NAME}"),
    "config maps": get("/api/v1/configmaps"),
    "pods": get("/api/v1/namespaces/ns/pods"),
    "log of a pod": get("/api/v1/namespaces/ns/pods/p/log"),
    "exec into a pod": Request("POST", "/api/v1/namespaces/ns/pods/p/exec", (("command", "sh"),)),
    "exec by GET": get("/api/v1/namespaces/ns/pods/p/exec", ("command", "sh")),
    "proxy to a service": get("/api/v1/namespaces/ns/services/s/proxy/"),
    "proxy to a node": get("/api/v1/nodes/n/proxy/run"),
    "all jobs": get("/apis/batch/v1/jobs"),
    "jobs of the namespace": get(JOBS),
    "a job of somebody else": get(f"{JOBS}/local"),
    "jobs by another selector": get("/apis/batch/v1/jobs", ("labelSelector", "a=b")),
    "jobs by a selector that only looks like ours": get(
        "/apis/batch/v1/jobs", ("labelSelector", "kueue.x-k8s.io/multikueue-origin=multikueue2")
    ),
    "jobs by no selector after ours": get("/apis/batch/v1/jobs", *OURS, ("labelSelector", "")),
    "a namespace that is closed": get("/api/v1/namespaces/kube-system"),
    "the discovery": get("/apis"),
    "metrics": get("/metrics"),
    "version": get("/version"),
    "the old watch path": get("/api/v1/watch/namespaces/ns/secrets"),
    "another version of secrets": get("/api/v2/namespaces/ns/secrets"),
    "path with dots": get(f"{WORKLOADS}/../../../../../../api/v1/secrets"),
    "path with encoded dots": get(f"{WORKLOADS}/%2e%2e/%2e%2e/secrets"),
    "path with an encoded slash": get(f"{WORKLOADS}%2f..%2f..%2fsecrets"),
    "path with doubled slashes": get("//api/v1//secrets"),
    "path with a backslash": get("/api/v1\\secrets"),
    "path with a semicolon": get("/api/v1/namespaces;x=/ns/secrets"),
    "path with a fragment": get("/api/v1/secrets#/apis/batch/v1/jobs"),
    "path in capitals": get("/API/v1/secrets"),
    "path with a question mark inside": get("/api/v1/secrets?x=/apis/batch/v1/jobs"),
    "absolute URL": get("https://other/api/v1/secrets"),
    "name of a secret as a namespace": get("/api/v1/namespaces/ns%2fsecrets%2fcredentials"),
    "namespace subresource": get("/api/v1/namespaces/ns/finalize"),
    "impersonation": get("/api/v1/namespaces/ns/secrets", impersonate_user="system:admin"),
    "impersonation on an allowed path": get(WORKLOADS, impersonate_user="system:admin"),
    "another credential": get(WORKLOADS, authorization="Bearer token"),
    "front proxy headers": get(WORKLOADS, x_remote_user="admin", x_remote_group="system:masters"),
    "forwarded headers": get(WORKLOADS, x_forwarded_uri="/api/v1/secrets"),
    "method override": get(WORKLOADS, x_http_method_override="DELETE"),
    "protocol upgrade": get(WORKLOADS, connection_="upgrade"),
    "table of another kind": get(WORKLOADS, ("includeObject", "Object")),
    "watch by another word": get("/apis/batch/v1/jobs", ("watch", "1"), *OURS),
    "two selectors": get("/apis/batch/v1/jobs", *OURS, *OURS),
}

WRITES = {
    "create a secret": Request("POST", "/api/v1/namespaces/ns/secrets", (), JSON, body({"metadata": {"name": "x"}})),
    "create a pod": Request("POST", "/api/v1/namespaces/ns/pods", (), JSON, body({"metadata": {"labels": ORIGIN}})),
    "create a role": Request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", (), JSON, b"{}"),
    "create a queue": Request("POST", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", (), JSON, b"{}"),
    "raise a quota": merge("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", {"spec": {"cohortName": "x"}}),
    "create a job without our origin": Request("POST", JOBS, (), JSON, body(local_job("x"))),
    "create a job in a closed namespace": Request(
        "POST", "/apis/batch/v1/namespaces/kube-system/jobs", (), JSON, body(local_job("x", ORIGIN))
    ),
    "create a job in the agent's namespace": Request(
        "POST", f"/apis/batch/v1/namespaces/{SYSTEM}/jobs", (), JSON, body(local_job("x", ORIGIN))
    ),
    "create in another namespace by the body": Request(
        "POST", JOBS, (), JSON, body(local_job("x", ORIGIN) | {"metadata": {"namespace": "kube-system"}})
    ),
    "create by a body in YAML": Request("POST", JOBS, (), {"content-type": "application/yaml"}, b"metadata: {}"),
    "create by a body in protobuf": Request(
        "POST", JOBS, (), {"content-type": "application/vnd.kubernetes.protobuf"}, b"k8s\0"
    ),
    "create with the label given twice": Request(
        "POST",
        JOBS,
        (),
        JSON,
        body(local_job("x", ORIGIN))[:-1] + b',"metadata":{"name":"x","labels":{}}}',
    ),
    "change a job of somebody else": merge(f"{JOBS}/local", {"spec": {"suspend": False}}),
    "adopt a job of somebody else": merge(f"{JOBS}/local", {"metadata": {"labels": ORIGIN}}),
    "apply over a job of somebody else": Request(
        "PATCH", f"{JOBS}/local", (("fieldManager", "x"), ("force", "true")), APPLY, body(local_job("local", ORIGIN))
    ),
    "apply in YAML": Request("PATCH", f"{JOBS}/new", (("fieldManager", "x"),), APPLY, b"metadata: {name: new}"),
    "replace a job of somebody else": Request("PUT", f"{JOBS}/local", (), JSON, body(local_job("local", ORIGIN))),
    "delete a job of somebody else": Request("DELETE", f"{JOBS}/local"),
    "delete all jobs": Request("DELETE", JOBS),
    "delete all jobs of our origin": Request("DELETE", JOBS, OURS),
    "delete a namespace": Request("DELETE", "/api/v1/namespaces/ns"),
    "delete the agent's identity": Request("DELETE", f"/api/v1/namespaces/{SYSTEM}/secrets/{SECRET_NAME}"),
    "scale of a job": merge(f"{JOBS}/local/scale", {"spec": {"replicas": 3}}),
    "status of a job": merge(f"{JOBS}/local/status", {"status": {}}),
    "another lease": Request(
        "POST",
        f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases",
        (),
        JSON,
        body(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "c1f6bfd2.kueue.x-k8s.io"}}
        ),
    ),
    "the agent's own lease": merge(
        f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/c1f6bfd2.kueue.x-k8s.io", {"spec": {}}
    ),
    "trace": Request("TRACE", WORKLOADS),
    "connect": Request("CONNECT", WORKLOADS),
    "invented method": Request("PROPFIND", WORKLOADS),
}


async def test_nothing_outside_the_allow_list_is_read_or_written():
    async with stolen() as world:
        await until(lambda: counted(world.workers["east"]), "the worker's queues tell of its own job")
        tunnel = world.hub.door.transport("east")
        before = await settled(world)
        let_through = []
        for name, attempt in (READS | WRITES).items():
            try:
                answer = await tunnel.request(attempt)
                content = await answer.read()
            except ConnectionError:
                continue  # not even sent: h2 knows no such header
            if answer.status < 400 or MARK.encode() in content:
                let_through.append((name, answer.status, content[:200]))
        assert let_through == []
        assert await state(world) == before


async def counted(worker: Cluster) -> bool:
    """Whether the Workloads stand in the status of the queues, which is written later than theirs."""
    workloads = [
        msgspec.json.decode(raw, type=Workload) for raw in (await worker.client.list(resource_type.WORKLOADS)).items
    ]
    admitted = sum(workload.is_true("Admitted") for workload in workloads)
    told = {"admittedWorkloads": admitted, "pendingWorkloads": len(workloads) - admitted}
    queues = await worker.all(resource_type.CLUSTER_QUEUES) + await worker.all(resource_type.LOCAL_QUEUES)
    return bool(workloads) and all(queue.get("status", {}).items() >= told.items() for queue in queues)


async def settled(world: DialledFederation) -> dict[str, str]:
    """The worker's state once its own controllers have nothing left to write."""
    seen: list[dict[str, str]] = [{}]

    async def unchanged() -> bool:
        seen.append(await state(world))
        return seen[-1] == seen[-2] and len(seen) > 10

    await until(unchanged, "the worker is at rest")
    return seen[-1]


async def test_work_of_somebody_else_cannot_be_changed_through_its_workload():
    async with stolen() as world:
        tunnel = world.hub.door.transport("east")
        found = await until(lambda: queued_workload(world), "the local job is queued")
        path = f"{WORKLOADS}/{found['metadata']['name']}"
        for attempt in (
            Request("DELETE", path),
            merge(path, {"spec": {"active": False}}),
            merge(f"{path}/status", {"status": {"conditions": []}}),
            Request("PATCH", path, (), {"content-type": "application/json-patch+json"}, b"[]"),
        ):
            answer = await tunnel.request(attempt)
            assert (answer.status, b"does not belong" in await answer.read()) == (403, True), attempt.method


@pytest.mark.parametrize("collection", ["/apis/kueue.x-k8s.io/v1beta2/workloads", "/api/v1/namespaces"])
async def test_lists_and_watches_show_no_closed_namespace(collection):
    async with stolen() as world:
        hidden = job("hidden") | {"metadata": {**job("hidden")["metadata"], "namespace": "kube-system"}}
        workload = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "hidden", "namespace": "kube-system"},
            "spec": {"podSets": [{"name": "main", "count": 1, "template": hidden["spec"]["template"]}]},
        }
        await world.workers["east"].create(workload)
        await until(lambda: queued_workload(world), "the local job is queued")
        tunnel = world.hub.door.transport("east")
        listed = await (await tunnel.request(get(collection, ("limit", "500")))).read()
        assert b'"kube-system"' not in listed
        assert MARK.encode() not in listed
        assert b'"ns"' in listed
        watch = await tunnel.request(get(collection, ("watch", "true"), ("timeoutSeconds", "1")))
        seen = await watch.read()
        assert b'"kube-system"' not in seen
        assert MARK.encode() not in seen


PODS_ARE_JOBS = {"integrations": {"frameworks": ["batch/job", "pod"]}}


@pytest.mark.parametrize("changes", [{}, PODS_ARE_JOBS], ids=["jobs", "pods are jobs too"])
async def test_pods_logs_and_events_of_others_are_not_shown(changes):
    async with stolen(**changes) as world:
        env = [{"name": "PASSWORD", "value": MARK}]
        spec = {"containers": [{"name": "c", "image": "i", "env": env}]}
        # It names the Workload of the worker's own user, which is not of our origin.
        queued = await until(lambda: queued_workload(world), "the local job is queued")
        marks = {"kueue.x-k8s.io/workload": queued["metadata"]["name"]}
        metadata = {"name": "p", "namespace": "ns", "annotations": marks}
        await world.workers["east"].create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        tunnel = world.hub.door.transport("east")
        for collection in ("pods", "events"):
            answer = await tunnel.request(get(f"/api/v1/namespaces/ns/{collection}", ("limit", "500")))
            assert (answer.status, msgspec.json.decode(await answer.read())["items"]) == (200, []), collection
        for path in ("/api/v1/namespaces/ns/pods/p", "/api/v1/namespaces/ns/pods/p/log"):
            answer = await tunnel.request(get(path))
            assert (answer.status, b"does not belong" in await answer.read()) == (403, True), path


async def test_refusals_are_counted_logged_and_say_what_is_not_allowed(caplog):
    async with stolen() as world:
        answer = await world.hub.door.transport("east").request(get("/api/v1/secrets"))
        status = msgspec.json.decode(await answer.read())
        assert status["reason"] == "Forbidden"
        assert status["message"] == "fedhub-agent refused: secrets is not on the allow-list of this cluster's agent"
        registry, labels = world.agents["east"].metrics.registry, {"outcome": "refused: resource"}
        assert registry.get_sample_value("fedhub_agent_hub_requests_total", labels) == 1
        assert "the hub was refused: secrets is not on the allow-list" in caplog.text


async def test_what_the_hub_needs_goes_on_working():
    async with stolen() as world:
        await world.manager.create(job("train"))
        await until(lambda: runs_on(world, "train"), "the hub's own job runs beside the attempts")
