"""What is taken off a real API server between two tests."""

import msgspec
import pytest

from tests import wiping
from worker_agent.kube.transport import Request, Response

HOW = (("gracePeriodSeconds", "0"), ("propagationPolicy", "Background"))
JOBS, NODES, NAMESPACES = ("batch", "jobs"), ("", "nodes"), ("", "namespaces")


class Server:
    """Answers lists from ``objects`` once, as if all that is deleted went; notes what else is asked.

    It turns the first ``busy`` requests away.
    """

    def __init__(self, busy=0, **objects):
        self.busy = busy
        self.objects = objects
        self.asked = []

    async def request(self, request: Request) -> Response:
        if self.busy:
            self.busy -= 1
            return Response(429, {}, _whole(b'{"kind": "Status"}'))
        plural = request.path.rpartition("/")[2]
        items = self.objects.pop(plural, []) if request.method == "GET" else []
        if request.method != "GET":
            self.asked.append((request.method, request.path, request.query == HOW))
        return Response(200, {}, _whole(msgspec.json.encode({"items": items})))

    async def close(self) -> None:
        pass


async def _whole(body):
    yield body


def found(name, namespace="", **more):
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {}), **more}}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/v1/nodes/n/status", ("", "nodes")),
        ("/api/v1/namespaces/ns", ("", "namespaces")),
        ("/api/v1/namespaces/ns/finalize", ("", "namespaces")),
        ("/api/v1/namespaces/ns/pods/p/status", ("", "pods")),
        ("/apis/batch/v1/namespaces/ns/jobs", ("batch", "jobs")),
        ("/api/v1/namespaces/ns/events", ("events.k8s.io", "events")),
    ],
)
def test_every_request_is_about_a_kind(path, kind):
    assert wiping.kind_of(path) == kind


async def test_what_was_written_is_noted_and_what_was_read_is_not():
    written = set()
    noting = wiping.Noting(Server(), written)
    await noting.request(Request("GET", "/api/v1/nodes"))
    await noting.request(Request("PATCH", "/apis/batch/v1/namespaces/ns/jobs/j/status"))
    assert written == {JOBS}


async def test_objects_of_a_namespace_go_together_once_nothing_holds_them():
    server = Server(jobs=[found("a", "ns", finalizers=["x"]), found("b", "ns"), found("c", "kube-system")])
    written = {JOBS}
    await wiping.wipe(server, written, [])
    jobs = "/apis/batch/v1/namespaces/ns/jobs"
    assert server.asked == [("PATCH", f"{jobs}/a", False), ("DELETE", jobs, True)]
    assert written == set()


async def test_a_question_that_was_turned_away_is_asked_again():
    server = Server(busy=3, jobs=[found("a", "ns")])
    await wiping.wipe(server, {JOBS}, [])
    assert server.asked == [("DELETE", "/apis/batch/v1/namespaces/ns/jobs", True)]


async def test_what_every_cluster_has_stays():
    server = Server(nodes=[found("n"), found("system-x")], namespaces=[found("default"), found("ns")])
    await wiping.wipe(server, {NODES, NAMESPACES}, [])
    assert [path for _, path, _ in server.asked] == [
        "/api/v1/nodes/n",
        "/api/v1/namespaces/ns",
        "/api/v1/namespaces/ns/finalize",
    ]


async def test_objects_of_our_kinds_go_from_every_namespace():
    server = Server(workloads=[found("w", "kube-system")])
    names = {"plural": "workloads"}
    workloads = {"spec": {"group": "kueue.x-k8s.io", "names": names, "versions": [{"name": "v1", "storage": True}]}}
    await wiping.wipe(server, {("kueue.x-k8s.io", "workloads")}, [workloads])
    assert server.asked == [("DELETE", "/apis/kueue.x-k8s.io/v1/namespaces/kube-system/workloads", True)]
