"""A webhook that both servers call, for admission and for conversion: what it answers is told by the path.

It is an aggregated API server too: below ``/apis/`` it says what it was sent.
"""

import base64
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import trustme

Review = dict[str, Any]


def _allow(request: Review) -> Review:
    return {"allowed": True}


def _deny(request: Review) -> Review:
    return {"allowed": False, "status": {"message": "not today", "code": 403}}


def _deny_odd(request: Review) -> Review:
    """A refusal with a code and reason of its own."""
    return {"allowed": False, "status": {"message": "odd", "code": 422, "reason": "Invalid"}}


def _deny_silently(request: Review) -> Review:
    return {"allowed": False}


def _warn(request: Review) -> Review:
    return {"allowed": True, "warnings": ["mind the gap", 'with "quotes"']}


def _label(request: Review) -> Review:
    """Adds a label that tells operation, subresource and who asked."""
    metadata = request["object"]["metadata"]
    told = f"{request['operation']}-{request.get('subResource') or 'none'}"
    patch = [] if metadata.get("labels") else [{"op": "add", "path": "/metadata/labels", "value": {}}]
    patch.append({"op": "add", "path": "/metadata/labels/told", "value": told})
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}


def _break(request: Review) -> Review:
    """A patch that does not apply."""
    patch = [{"op": "remove", "path": "/nowhere/at/all"}]
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}


def _echo(request: Review) -> Review:
    """Refuses, and says what it was sent."""
    told = {name: request.get(name) for name in ("kind", "resource", "subResource", "name", "operation", "dryRun")}
    told["object"] = bool(request.get("object"))
    told["oldObject"] = bool(request.get("oldObject"))
    told["options"] = (request.get("options") or {}).get("kind")
    return {"allowed": False, "status": {"message": json.dumps(told, sort_keys=True)}}


ANSWERS: dict[str, Callable[[Review], Review]] = {
    "/allow": _allow,
    "/deny": _deny,
    "/deny-odd": _deny_odd,
    "/deny-silently": _deny_silently,
    "/warn": _warn,
    "/label": _label,
    "/break": _break,
    "/echo": _echo,
}


def _converted(document: Review, wanted: str) -> Review:
    """v1 says ``spec.size``; v2 says ``spec.dimensions.size``, and objects that have labels tell which it is."""
    spec = {name: value for name, value in (document.get("spec") or {}).items() if name not in ("one", "two")}
    if wanted.endswith("/v2") and "size" in spec:
        spec["dimensions"] = {"size": spec.pop("size")}
    elif not wanted.endswith("/v2") and "dimensions" in spec:
        spec["size"] = spec.pop("dimensions").get("size")
    converted = {**document, "apiVersion": wanted, **({"spec": spec} if spec else {})}
    metadata = document.get("metadata") or {}
    if metadata.get("labels"):
        labels = {**metadata["labels"], "shown-as": wanted.rpartition("/")[2]}
        converted["metadata"] = {**metadata, "labels": labels}
    return converted


def _changed(name: str, value: Any) -> Callable[[Review], Review]:
    """Every object converted, and one thing about it wrong."""

    def convert(request: Review) -> Review:
        objects = _convert(request)["convertedObjects"]
        for document in objects:
            place, _, field = name.rpartition(".")
            (document[place] if place else document)[field] = value
        return {"result": {"status": "Success"}, "convertedObjects": objects}

    return convert


def _convert(request: Review) -> Review:
    wanted = request["desiredAPIVersion"]
    objects = [_converted(document, wanted) for document in request["objects"]]
    return {"result": {"status": "Success"}, "convertedObjects": objects}


CONVERSIONS: dict[str, Callable[[Review], Review]] = {
    "/convert": _convert,
    "/convert-fails": lambda request: {"result": {"status": "Failure", "message": "cannot say that in v1"}},
    "/convert-fails-silently": lambda request: {"result": {"status": "Failure"}},
    "/convert-nothing": lambda request: {"result": {"status": "Success"}, "convertedObjects": []},
    "/convert-no-result": lambda request: {},
    "/convert-other-uid": lambda request: {**_convert(request), "uid": "another"},
    "/convert-kind": _changed("kind", "Other"),
    "/convert-version": _changed("apiVersion", "example.com/v9"),
    "/convert-name": _changed("metadata.name", "other"),
    "/convert-namespace": _changed("metadata.namespace", "other"),
    "/convert-object-uid": _changed("metadata.uid", "other"),
    "/convert-owners": _changed("metadata.generation", 77),
    "/convert-unknown": _changed("surprise", 1),
}


class Webhook:
    """Serves while the context lasts. Scripts write ``{webhook}`` for its URL and ``{ca}`` for its caBundle."""

    def __enter__(self) -> "Webhook":
        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, name="webhook", daemon=True)
        self._thread.start()
        self.variables = {
            "webhook": f"https://127.0.0.1:{self._server.server_port}",
            "port": str(self._server.server_port),
            "ca": base64.b64encode(authority.cert_pem.bytes()).decode(),
        }
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


_TOLD = frozenset(
    ["accept", "authorization", "content-type", "impersonate-user", "x-custom", "x-remote-group", "x-remote-user"]
)


def _resource_list(group_version: str) -> Review:
    echoes = {"name": "echoes", "singularName": "echo", "namespaced": True, "kind": "Echo", "verbs": ["get", "list"]}
    status = {"name": "echoes/status", "singularName": "", "namespaced": True, "kind": "Echo", "verbs": ["get"]}
    listed = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version}
    return {**listed, "resources": [{**echoes, "shortNames": ["ec"]}, status]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._aggregated(b"")

    def _aggregated(self, body: bytes) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[0] != "apis" or len(parts) < 3:
            self._answer(404, b"no such path")
        elif len(parts) == 3:
            self._answer(200, json.dumps(_resource_list("/".join(parts[1:]))).encode())
        elif parts[3] == "teapots":
            self._answer(418, json.dumps({"kind": "Status", "code": 418, "message": "short and stout"}).encode())
        else:
            told = {name.lower(): self.headers.get_all(name) for name in self.headers if name.lower() in _TOLD}
            echo = {"kind": "Echo", "method": self.command, "path": self.path, "headers": told, "body": body.decode()}
            self._answer(200, json.dumps(echo).encode())

    def do_POST(self) -> None:
        if self.path.startswith("/apis/"):
            self._aggregated(self.rfile.read(int(self.headers["content-length"])))
            return
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.partition("?")[0]
        if path in CONVERSIONS:
            response = {"uid": review["request"]["uid"], **CONVERSIONS[path](review["request"])}
            answer = {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}
            self._answer(200, json.dumps(answer).encode())
            return
        decide = ANSWERS.get(path)
        if decide is None:
            self._answer(500, b"no such answer")
            return
        response = {"uid": review["request"]["uid"], **decide(review["request"])}
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        self._answer(200, json.dumps(answer).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""
