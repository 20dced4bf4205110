"""What the objects on workers carry, how they are removed, and whose they are: reports of users, on virtual time."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from hub.engine.needs import CONFIG_MAPS
from hub.local.apiserver.in_process import InProcessTransport
from tests.faults.lines import Line
from tests.faults.manifests import submitted
from tests.faults.model import is_true
from tests.faults.test_kind_cases import WORKERS, checks, job_set, objects, only, pod, world
from tests.integration.federation.virtual_world import MANAGER, VirtualWorld, play
from tests.integration.federation.world import federation, node, queues
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.resource_type import JOB_SETS, JOBS, PODS, RAY_JOBS, WORKLOADS, ResourceType
from worker_agent.kube.faults import FaultPlan
from worker_agent.kube.transport import Request, Response

# A kind of somebody else (B17)

FOOS = ResourceType("example.com", "v1", "Foo", "foos")
FOO_STORE = "example.com/foos"


def definition() -> Document:
    anything: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": FOOS.group,
            "names": {"kind": FOOS.kind, "listKind": "FooList", "plural": FOOS.plural, "singular": "foo"},
            "scope": "Namespaced",
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def created_foo(made: VirtualWorld) -> Document:
    """As its users and programs have left it on the manager."""
    pipeline = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pipeline"}}
    await made.clients[MANAGER].create(CONFIG_MAPS, pipeline, "ns")
    (stored,) = made.objects(MANAGER, "/configmaps")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "pipeline", "uid": stored["metadata"]["uid"]}
    metadata = {
        "name": "train",
        "namespace": "ns",
        "labels": {"team": "a"},
        "annotations": {"note": "mine", names.LAST_APPLIED_ANNOTATION: '{"spec": {}}'},
        "ownerReferences": [owner],
        "finalizers": ["example.com/keep"],
    }
    spec = {"size": 3, "managedBy": names.MULTIKUEUE_CONTROLLER}
    document = {"apiVersion": FOOS.api_version, "kind": FOOS.kind, "metadata": metadata, "spec": spec}
    await made.clients[MANAGER].create(FOOS, document, "ns")
    (found,) = made.objects(MANAGER, FOO_STORE)
    return found


def workload_of(owner: Document) -> Document:
    """What the kind's own integration makes on the manager."""
    metadata = owner["metadata"]
    reference = {"apiVersion": FOOS.api_version, "kind": FOOS.kind, "name": metadata["name"]}
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": "foo-train",
            "namespace": "ns",
            "ownerReferences": [{**reference, "uid": metadata["uid"], "controller": True}],
        },
        "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }


def with_foos(*workers: str) -> VirtualWorld:
    """Foos are known on the manager and on these workers."""
    clusters = {MANAGER: [definition(), *queues(cpu=10, checks=["mk"]), *federation(*WORKERS)]}
    clusters |= {name: [*([definition()] if name in workers else []), *queues(cpu=5), node(cpu=5)] for name in WORKERS}
    stanza = {"external_frameworks": [{"name": "Foo.v1.example.com"}], "worker_lost_timeout": "60s"}
    return VirtualWorld(clusters, {"multi_kueue": stanza})


def test_a_foreign_kind_goes_without_what_binds_it_to_the_manager() -> None:
    async def story(made: VirtualWorld) -> None:
        owner = await created_foo(made)
        await made.create(MANAGER, workload_of(owner))
        await asyncio.sleep(10)
        (place,) = [name for name in WORKERS if made.objects(name, FOO_STORE)]
        (there,) = made.objects(place, FOO_STORE)
        await asyncio.sleep(30)
        assert made.objects(place, FOO_STORE) == [there]
        metadata = there["metadata"]
        assert not {"ownerReferences", "finalizers"} & metadata.keys()
        assert metadata["uid"] != owner["metadata"]["uid"]
        assert metadata["labels"] == {"team": "a", names.MULTIKUEUE_ORIGIN_LABEL: "multikueue"}
        ours = {names.PREBUILT_WORKLOAD: "foo-train", names.DISPATCH_TERM_ANNOTATION: "1"}
        assert metadata["annotations"] == {"note": "mine", **ours}
        assert there["spec"] == {"size": 3}
        commits = [event for _, cluster, event in made.commits if cluster == place and event.store == FOO_STORE]
        assert [event.old for event in commits] == [None]

    play(with_foos(*WORKERS), story)


def test_a_foreign_kind_goes_where_it_is_known() -> None:
    async def story(made: VirtualWorld) -> None:
        await made.create(MANAGER, workload_of(await created_foo(made)))
        await asyncio.sleep(10)
        assert value_at(only(made, MANAGER, "workloads"), "status.clusterName") == "w2"
        assert len(made.objects("w2", FOO_STORE)) == 1
        (told,) = value_at(only(made, MANAGER, "workloads"), "status.conditions", [])[-1:]
        assert told["type"] == names.DISPATCHED
        assert 'w1: namespace ns there has no kind "foos.example.com"' in told["message"]

    play(with_foos("w2"), story)


def test_a_foreign_kind_is_evicted_where_the_hub_is_lost_before_it_goes_on_elsewhere() -> None:
    """What its own program heeds at every other eviction there: agents do not know its jobs."""

    async def story(made: VirtualWorld) -> None:
        stop = {"metadata": {"name": "default"}, "spec": {"onContactLost": "Stop"}}
        await made.create(MANAGER, {"apiVersion": "fedhub.dev/v1alpha1", "kind": "DispatchPolicy", **stop})
        await made.create(MANAGER, workload_of(await created_foo(made)))
        await asyncio.sleep(10)
        (place,) = [name for name in WORKERS if made.objects(name, FOO_STORE)]
        (there,) = made.objects(place, FOO_STORE)
        owner = workload_of(there)["metadata"]["ownerReferences"]
        await made.patch(place, WORKLOADS, "foo-train", {"metadata": {"ownerReferences": owner}})
        made.lines[place].cut()
        await asyncio.sleep(30)
        evicted = {each["type"]: each for each in value_at(only(made, place, "workloads"), "status.conditions", [])}
        assert evicted["Evicted"]["reason"] == "DeactivatedDueToHubContactLost"
        assert not is_true(only(made, MANAGER, "workloads"), names.EVICTED)
        await asyncio.sleep(60)
        assert is_true(only(made, MANAGER, "workloads"), names.EVICTED)

    play(with_foos(*WORKERS), story)


# The end of a job that its user deletes (B26)


def ray_job() -> Document:
    containers = [{"name": "c", "image": "ray", "resources": {"requests": {"cpu": "1"}}}]
    group = {"template": {"spec": {"containers": containers}}, "rayStartParams": {}}
    cluster = {"headGroupSpec": group, "workerGroupSpecs": [{**group, "groupName": "gpu", "replicas": 1}]}
    spec = {"suspend": True, "managedBy": names.MULTIKUEUE_CONTROLLER, "shutdownAfterJobFinishes": True}
    metadata = {"name": "ray", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
    spec |= {"submissionMode": "HTTPMode", "rayClusterSpec": cluster}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": spec}


def job() -> Document:
    return submitted("train", cpu=1, seconds=10_000, priority=0)


DELETED = {
    "Job": (job, JOBS, "batch/jobs"),
    "JobSet": (job_set, JOB_SETS, "jobset.x-k8s.io/jobsets"),
    "RayJob": (ray_job, RAY_JOBS, "ray.io/rayjobs"),
    "Pod": (pod, PODS, "/pods"),
}


@pytest.mark.parametrize("kind", DELETED)
def test_what_a_deleted_job_has_made_on_its_worker_goes_with_it(kind: str) -> None:
    make, resource, store = DELETED[kind]
    document = make()
    name = document["metadata"]["name"]

    async def story(made: VirtualWorld) -> None:
        await made.create(MANAGER, document)
        await asyncio.sleep(10)
        (place,) = [each for each in WORKERS if made.objects(each, store)]
        (there,) = made.objects(place, store)
        if resource != PODS:
            assert not value_at(there, "spec.suspend", False)
            for number in range(2):
                await made.create(place, child(resource, there, f"child-{number}"))
        asked = deletions(made.lines[place], resource)
        await made.clients[MANAGER].delete(resource, name, "ns")
        await asyncio.sleep(30)
        assert asked[name] in ("Background", "Foreground")
        assert made.objects(place, store) == []
        assert objects(made, place, "pods") == []
        assert objects(made, place, "workloads") == []

    play(world("batch/job", "jobset.x-k8s.io/jobset", "ray.io/rayjob", "pod"), story)


def child(kind: ResourceType, owner: Document, name: str) -> Document:
    """A pod as the job's own controller makes it."""
    reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": owner["metadata"]["name"]}
    owners = [{**reference, "uid": owner["metadata"]["uid"], "controller": True}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "ownerReferences": owners},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }


def deletions(line: Line, resource: ResourceType) -> dict[str, str]:
    """How the hub wants dependents of the deleted objects to be treated, by name, from now on."""
    asked: dict[str, str] = {}
    send = line.request

    async def request(sent: Request) -> Response:
        if sent.method == "DELETE" and f"/{resource.plural}/" in sent.path:
            asked[sent.path.rpartition("/")[2]] = json.loads(sent.body).get("propagationPolicy", "")
        return await send(sent)

    line.request = request  # type: ignore[method-assign]
    return asked


# Two managers on one worker (B30)


class SecondManager(VirtualWorld):
    """Another hub with a cluster of its own, over a worker of the first."""

    def __init__(self, first: VirtualWorld, worker: str, settings: Document) -> None:
        super().__init__({MANAGER: [*queues(cpu=5, checks=["mk"]), *federation(worker)]}, settings)
        self.servers[worker] = first.servers[worker]
        self.lines[worker] = Line(InProcessTransport(first.servers[worker]), self.clock, FaultPlan({}))


def two_managers(story: Callable[[VirtualWorld, VirtualWorld], Awaitable[None]]) -> None:
    """``story(a, b)``: both managers have the one worker ``w1``."""

    def origin(name: str) -> Document:
        return {"multi_kueue": {"origin": name, "gc_interval": "3s"}}

    clusters = {MANAGER: [*queues(cpu=5, checks=["mk"]), *federation("w1")], "w1": [*queues(cpu=5), node(cpu=5)]}
    a = VirtualWorld(clusters, origin("mgr-a"))

    async def with_second(made: VirtualWorld) -> None:
        b = SecondManager(made, "w1", origin("mgr-b"))
        await b.start()
        try:
            await asyncio.sleep(10)
            await story(made, b)
        finally:
            await b.close()

    play(a, with_second)


def origins(made: VirtualWorld, kind: str) -> dict[str, str]:
    """Of the objects on the worker, the UID by the manager that sent it."""
    return {
        each["metadata"]["labels"][names.MULTIKUEUE_ORIGIN_LABEL]: each["metadata"]["uid"]
        for each in objects(made, "w1", kind)
    }


def named(name: str) -> Document:
    return submitted(name, cpu=1, seconds=10_000, priority=0)


def test_a_manager_leaves_alone_what_another_has_sent_to_the_same_worker() -> None:
    async def story(a: VirtualWorld, b: VirtualWorld) -> None:
        await a.create(MANAGER, named("of-a"))
        await b.create(MANAGER, named("of-b"))
        await asyncio.sleep(10)
        before = {kind: origins(a, kind) for kind in ("jobs", "workloads")}
        assert [sorted(found) for found in before.values()] == [["mgr-a", "mgr-b"]] * 2
        await asyncio.sleep(15)
        assert {kind: origins(a, kind) for kind in before} == before
        await a.clients[MANAGER].delete(JOBS, "of-a", "ns")
        await asyncio.sleep(15)
        assert {kind: origins(a, kind) for kind in before} == {
            kind: {"mgr-b": found["mgr-b"]} for kind, found in before.items()
        }

    two_managers(story)


def test_a_name_that_another_manager_uses_on_the_worker_is_refused_there() -> None:
    async def story(a: VirtualWorld, b: VirtualWorld) -> None:
        await a.create(MANAGER, named("train"))
        await asyncio.sleep(10)
        before = origins(a, "jobs")
        assert [*before] == ["mgr-a"]
        await b.create(MANAGER, named("train"))
        await asyncio.sleep(60)
        assert origins(a, "jobs") == before
        assert origins(a, "workloads")["mgr-a"]
        assert not value_at(only(b, MANAGER, "jobs"), "status.active", 0)
        assert checks(a) == {"mk": "Ready"}

    two_managers(story)
