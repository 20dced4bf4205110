"""What a new server holds before anyone writes: namespaces, the system priority classes, the API's own Service."""

from collections.abc import Sequence
from datetime import datetime

from hub.local.apiserver.answer import Answer
from hub.local.apiserver.call import Steps
from hub.local.apiserver.core import Core
from hub.local.apiserver.identity import AUTHENTICATED, MASTERS, Identity
from hub.local.apiserver.resources import CRDS
from hub.local.apiserver.store import encode
from worker_agent.api.document import Document
from worker_agent.kube.transport import Request

SELF = Identity("system:apiserver", (MASTERS, AUTHENTICATED))
_HEADERS = {"content-type": "application/json", "accept": "application/json", "user-agent": "kube-apiserver/v1.36.3"}
_CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FRONT_PROXY = "front-proxy-client"
AUTHENTICATION = "extension-apiserver-authentication"
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
PRIORITY_CLASSES = (
    ("system-cluster-critical", 2_000_000_000, "Used for system critical pods that must run in the cluster."),
    ("system-node-critical", 2_000_001_000, "Used for system critical pods that must not be moved from their node."),
)


def requests(crds: Sequence[Document]) -> list[Request]:
    """The writes of a first start, in order; ``crds`` are installed last."""
    namespaces = [_create("/api/v1/namespaces", _object("v1", "Namespace", name)) for name in NAMESPACES]
    classes = [
        _create(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {
                **_object("scheduling.k8s.io/v1", "PriorityClass", name),
                "value": value,
                "description": description,
            },
        )
        for name, value, description in PRIORITY_CLASSES
    ]
    service = {
        **_object("v1", "Service", "kubernetes"),
        "spec": {
            "clusterIP": "10.96.0.1",
            "clusterIPs": ["10.96.0.1"],
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            "type": "ClusterIP",
        },
    }
    return [
        *namespaces,
        *classes,
        _create("/api/v1/namespaces/default/services", service),
        *(_create(_CRD_PATH, crd) for crd in crds),
    ]


def _object(api_version: str, kind: str, name: str) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


def _create(path: str, document: Document) -> Request:
    return Request("POST", path, (), _HEADERS, encode(document))


def fill(core: Core, crds: Sequence[Document], now: datetime) -> None:
    """Carry out the first writes on a core that calls no webhooks yet. Raises ValueError when one is refused."""
    for request in requests(crds):
        finished = _finish(core.handle(request, SELF, now))
        if finished.status not in (201, 409):
            raise ValueError(f"cannot set up {request.path}: {finished.body.decode()}")


def renew(core: Core, crds: Sequence[Document], now: datetime) -> None:
    """Bring definitions kept on disk up to date with those of this program. Raises ValueError as ``fill`` does."""
    for crd in crds:
        name = crd["metadata"]["name"]
        stored = core.state.get(CRDS, "", name)
        if stored is None:
            request = _create(_CRD_PATH, crd)
        else:
            kept = stored.document()
            request = Request("PUT", f"{_CRD_PATH}/{name}", (), _HEADERS, encode({**crd, "metadata": kept["metadata"]}))
        finished = _finish(core.handle(request, SELF, now))
        if finished.status not in (200, 201):
            raise ValueError(f"cannot bring {name} up to date: {finished.body.decode()}")


def publish_authorities(core: Core, clients: bytes, front_proxy: bytes, now: datetime) -> None:
    """Say where aggregated servers find whom to trust: the CA of clients, and that of this server speaking for them."""
    data = {
        "client-ca-file": clients.decode(),
        "requestheader-allowed-names": f'["{FRONT_PROXY}"]',
        "requestheader-client-ca-file": front_proxy.decode(),
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-username-headers": '["X-Remote-User"]',
    }
    document = {**_object("v1", "ConfigMap", AUTHENTICATION), "data": data}
    path = "/api/v1/namespaces/kube-system/configmaps"
    made = _finish(core.handle(_create(path, document), SELF, now))
    if made.status == 409:
        made = _finish(
            core.handle(Request("PUT", f"{path}/{AUTHENTICATION}", (), _HEADERS, encode(document)), SELF, now)
        )
    if made.status not in (200, 201):
        raise ValueError(f"cannot publish {AUTHENTICATION}: {made.body.decode()}")


def _finish(steps: Steps) -> Answer:
    try:
        next(steps)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    raise ValueError("a webhook was called before the server was set up")
