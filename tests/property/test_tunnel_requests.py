"""Whatever is asked through the tunnel: what reaches the API server is, as that server reads it, on the allow-list."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hub.local.apiserver import bootstrap, request_path
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.resources import ResourceTable
from hub.local.apiserver.schema.registry import SchemaRegistry
from worker_agent.api import crds, names
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOBS
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request, Response
from worker_agent.tunnel import allow_list
from worker_agent.tunnel.allow_list import KNOWLEDGE, AllowList
from worker_agent.tunnel.gatekeeper import Gatekeeper
from worker_agent.tunnel.objects import ObjectRules

LEASE = Key("kueue-system", "fedhub-hub-multikueue")
RULES = (*allow_list.default_rules([JOBS]), allow_list.leases([LEASE]))
ALLOWED = AllowList("multikueue", RULES, namespaces=("team-*", "kube-system"), protected=("kueue-system",))


def served() -> ResourceTable:
    core = Core(new_state(lambda size: b"x" * size), SchemaRegistry())
    bootstrap.fill(core, crds.documents(), SystemClock().now())
    return core.state.resources


TABLE = served()

READABLE = {resource.plural for resource in KNOWLEDGE} | {"workloads", "jobs", "leases"}
WRITABLE = {"workloads", "jobs", "leases"}

NAMES = (
    "api apis v1 batch kueue.x-k8s.io v1beta2 namespaces team-a kube-system kueue-system other jobs workloads secrets"
    " pods exec log status scale proxy x .. . %2e%2e %2f watch leases coordination.k8s.io fedhub-hub-multikueue"
)
words = st.sampled_from([*NAMES.split(), "", "a b", "ä", "a\\b", "a;b", "?", "#"])
plain = st.sampled_from(
    [
        "/apis/batch/v1/namespaces/team-a/jobs",
        "/apis/batch/v1/namespaces/team-a/jobs/x",
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads/x/status",
        "/apis/kueue.x-k8s.io/v1beta2/workloads",
        "/api/v1/namespaces/team-a",
        "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/fedhub-hub-multikueue",
    ]
)
edits = st.tuples(st.integers(0, 9), words)
queries = st.lists(
    st.sampled_from(
        [
            ("watch", "true"),
            ("watch", "1"),
            ("labelSelector", f"{names.MULTIKUEUE_ORIGIN_LABEL}=multikueue"),
            ("labelSelector", "a"),
            ("limit", "500"),
            ("force", "true"),
            ("pretty", "true"),
        ]
    ),
    max_size=3,
)
headers = st.dictionaries(
    st.sampled_from(["content-type", "accept", "Impersonate-User", "authorization", "X-Remote-User"]),
    st.sampled_from(["application/json", "application/merge-patch+json", "application/apply-patch+yaml", "admin"]),
    max_size=2,
)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    segments = draw(plain).split("/")
    for place, word in draw(st.lists(edits, max_size=2)):
        segments[place % len(segments)] = word
    label = {names.MULTIKUEUE_ORIGIN_LABEL: draw(st.sampled_from(["multikueue", "other"]))}
    body = {"metadata": {"name": draw(st.sampled_from(["x", LEASE.name])), "labels": label}}
    method = draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "CONNECT"]))
    content = msgspec.json.encode(body) if method in ("POST", "PUT", "PATCH") else b""
    return Request(method, "/".join(segments), tuple(draw(queries)), draw(headers), content)


class ApiServer:
    """Keeps what reaches it; every object is there, and ``ours`` says whose."""

    def __init__(self, ours: bool) -> None:
        self.reached: list[Request] = []
        labels = {names.MULTIKUEUE_ORIGIN_LABEL: "multikueue"} if ours else {}
        self._body = msgspec.json.encode({"metadata": {"name": "x", "uid": "u", "labels": labels}, "items": []})

    async def request(self, request: Request) -> Response:
        self.reached.append(request)

        async def stream() -> AsyncIterator[bytes]:
            yield self._body

        return Response(200, {"content-type": "application/json"}, stream())

    async def close(self) -> None: ...


@given(requests(), st.booleans())
def test_what_reaches_the_server_is_on_the_allow_list(request, ours):
    server = ApiServer(ours)

    async def ask() -> int:
        answer = await Gatekeeper(server, ObjectRules(ALLOWED), SystemClock()).request(request)
        return answer.status

    status = asyncio.run(ask())
    for reached in server.reached:
        target = request_path.read(TABLE, reached, dict(reached.query))
        assert target is not None
        plural = target.resource.plural
        assert set(reached.headers) <= {"accept", "user-agent", "content-type"}
        assert plural in (READABLE if reached.method == "GET" else WRITABLE)
        if plural == "leases":
            assert (target.namespace, target.verb in ("get", "create", "update", "patch")) == ("kueue-system", True)
            continue
        assert target.subresource in ("", "status")
        assert not (target.namespace and not target.namespace.startswith("team-"))
        assert reached.method == "GET" or target.namespace
        assert reached.method in ("GET", "POST") or ours
        assert target.verb != "deletecollection"
        if reached.method in ("PUT", "PATCH") and ours:
            assert msgspec.json.decode(reached.body)["metadata"]["uid"] == "u"
    assert status in (200, 403)
