"""Which pods and events of a worker the hub may see: those of the jobs it sent."""

import msgspec
import pytest

from tests.unit.tunnel.test_objects import LABELS
from worker_agent.api.document import Document
from worker_agent.api.meta import ObjectMeta
from worker_agent.api.resource_type import PODS
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request, Response
from worker_agent.tunnel import allow_list, api_request
from worker_agent.tunnel.allow_list import AllowList
from worker_agent.tunnel.api_request import Refused
from worker_agent.tunnel.gatekeeper import Gatekeeper
from worker_agent.tunnel.objects import Head, ObjectRules
from worker_agent.tunnel.traces import OurTraces

KUEUE = "kueue.x-k8s.io"
KNOWN = {
    (KUEUE, "Workload", "ours"): Head(metadata=ObjectMeta(name="ours", labels=LABELS)),
    (KUEUE, "Workload", "theirs"): Head(metadata=ObjectMeta(name="theirs")),
    ("batch", "Job", "train"): Head(metadata=ObjectMeta(name="train", uid="1", labels=LABELS)),
    ("batch", "Job", "local"): Head(metadata=ObjectMeta(name="local", uid="2")),
    ("", "Pod", "p-1"): Head(
        metadata=ObjectMeta(name="p-1", namespace="ns", annotations={f"{KUEUE}/workload": "ours"})
    ),
    ("", "Pod", "q-1"): Head(metadata=ObjectMeta(name="q-1", namespace="ns")),
}
TRACES = OurTraces("mk", lambda group, kind, key: KNOWN.get((group, kind, key.name)) if key.namespace == "ns" else None)
ALLOWED = AllowList("mk", allow_list.default_rules([]), protected=("system",))


def encoded(document: Document) -> bytes:
    return msgspec.json.encode(document)


def pod(namespace: str = "ns", **metadata: Document) -> bytes:
    return encoded({"metadata": {"name": "p", "namespace": namespace, **metadata}, "spec": {}})


def owner(name: str, uid: str) -> Document:
    return {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}


def event(api_version: str, kind: str, name: str, namespace: str = "ns") -> bytes:
    about = {"apiVersion": api_version, "kind": kind, "name": name, "namespace": namespace}
    return encoded({"metadata": {"name": "e", "namespace": namespace}, "involvedObject": about})


@pytest.mark.parametrize(
    ("raw", "ours"),
    [
        (pod(labels=LABELS), True),
        (pod(annotations={f"{KUEUE}/workload": "ours"}), True),
        (pod(labels={f"{KUEUE}/pod-group-name": "ours"}), True),
        (pod(labels={f"{KUEUE}/prebuilt-workload-name": "ours"}), True),
        (pod(annotations={f"{KUEUE}/workload": "a slice that is gone"}, ownerReferences=[owner("train", "1")]), True),
        (pod(ownerReferences=[owner("train", "of another one")]), False),
        (pod(ownerReferences=[owner("local", "2")]), False),
        (pod("other", ownerReferences=[owner("train", "1")]), False),
        (pod(annotations={f"{KUEUE}/workload": "theirs"}), False),
        (pod(annotations={f"{KUEUE}/workload": "unknown"}), False),
        (pod("other", annotations={f"{KUEUE}/workload": "ours"}), False),
        (pod(labels={f"{KUEUE}/multikueue-origin": "another-hub"}), False),
        (pod(), False),
    ],
)
def test_pod_is_ours_when_its_workload_is(raw, ours):
    assert TRACES.has(raw) is ours


@pytest.mark.parametrize(
    ("raw", "ours"),
    [
        (event("kueue.x-k8s.io/v1beta2", "Workload", "ours"), True),
        (event("kueue.x-k8s.io/v1beta2", "Workload", "theirs"), False),
        (event("batch/v1", "Job", "train"), True),
        (event("batch/v1", "Job", "local"), False),
        (event("v1", "Pod", "p-1"), True),
        (event("v1", "Pod", "q-1"), False),
        (event("v1", "Pod", "gone"), False),
        (event("v1", "Secret", "credentials"), False),
        (event("batch/v1", "Job", "train", namespace="other"), False),
    ],
)
def test_event_is_ours_when_it_is_about_what_is(raw, ours):
    assert TRACES.has(raw) is ours


def test_list_keeps_what_is_ours():
    asked = api_request.parse(Request("GET", "/api/v1/namespaces/ns/pods", (("limit", "500"),)))
    raw = encoded({"kind": "PodList", "items": [msgspec.json.decode(pod(labels=LABELS)), msgspec.json.decode(pod())]})
    shown = msgspec.json.decode(ObjectRules(ALLOWED, TRACES.has).listed(ALLOWED.rule_for(asked), raw))
    assert [item["metadata"]["labels"] for item in shown["items"]] == [LABELS]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/api/v1/pods", "needs a namespace"),
        ("/api/v1/events", "needs a namespace"),
        ("/api/v1/namespaces/system/pods", "not open to the federation"),
        ("/api/v1/namespaces/kube-system/pods/p/log", "not open to the federation"),
        ("/api/v1/namespaces/ns/events/e", "get of events is not allowed"),
    ],
)
def test_reads_outside_one_open_namespace_are_refused(path, problem):
    with pytest.raises(Refused, match=problem):
        ALLOWED.rule_for(api_request.parse(Request("GET", path, (("limit", "500"),))))


PODS_ARE_JOBS = AllowList("mk", allow_list.default_rules([PODS]), protected=("system",))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (pod(labels=LABELS), True),
        (pod(annotations={f"{KUEUE}/workload": "ours"}), True),
        (pod(ownerReferences=[owner("train", "1")]), True),
        (pod(ownerReferences=[owner("local", "2")]), False),
        (pod(annotations={f"{KUEUE}/workload": "theirs"}), False),
        (pod(), False),
        (b"no pod", False),
    ],
)
async def test_a_pod_is_read_where_one_of_its_rules_opens_it(raw, shown):
    class Server:
        async def request(self, request):
            return Response(200, {}, _whole(raw))

    gatekeeper = Gatekeeper(Server(), ObjectRules(PODS_ARE_JOBS, TRACES.has), SystemClock())
    answer = await gatekeeper.request(Request("GET", "/api/v1/namespaces/ns/pods/p"))
    assert (answer.status, await answer.read() == raw) == ((200, True) if shown else (403, False))


async def _whole(raw):
    yield raw
