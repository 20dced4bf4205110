"""Output formats that are kubectl's own languages, printed by kubectl: it is shown the objects on a local port.

The port answers one reader on this machine, whose requests bear a secret, with the object and nothing else.
"""

import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any, Final

from hub.cli import output
from hub.cli.kueue import kubectl
from worker_agent.api.document import Document

if TYPE_CHECKING:
    from hub.cli.kueue.printing import Printing

_GROUP, _VERSION, _PLURAL = "shown.fedhub.dev", "v1", "objects"
_DISCOVERY: Final[dict[str, Document]] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {
                "name": _GROUP,
                "versions": [{"groupVersion": f"{_GROUP}/{_VERSION}", "version": _VERSION}],
                "preferredVersion": {"groupVersion": f"{_GROUP}/{_VERSION}", "version": _VERSION},
            }
        ],
    },
    f"/apis/{_GROUP}/{_VERSION}": {
        "kind": "APIResourceList",
        "groupVersion": f"{_GROUP}/{_VERSION}",
        "resources": [
            {"name": _PLURAL, "singularName": "object", "namespaced": False, "kind": "Object", "verbs": ["get"]}
        ],
    },
}


def show(document: Document, printing: "Printing") -> None:
    """Prints ``document`` as kubectl would; ends the command with kubectl's exit code where that fails."""
    program = kubectl.found("this output format is printed by kubectl")
    secret = secrets.token_urlsafe(32)
    server = HTTPServer(("127.0.0.1", 0), _handler(document, secret))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with tempfile.TemporaryDirectory() as cache:
            # One user's files only: the token is not seen among the arguments of processes.
            config = os.path.join(cache, "kubeconfig")
            with open(os.open(config, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                json.dump(_kubeconfig(server.server_port, secret), file)
            command = [program, "--kubeconfig", config, "--cache-dir", cache, "get", _PLURAL, "this", *_flags(printing)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    sys.stdout.write(done.stdout)
    if done.returncode:
        output.fail("kubectl could not print it; see above", done.returncode)


def _flags(printing: "Printing") -> list[str]:
    flags = [f"--allow-missing-template-keys={str(printing.allow_missing_template_keys).lower()}"]
    flags += [f"--output={printing.format}"] if printing.format else []
    flags += [f"--template={printing.template}"] if printing.template else []
    return [*flags, *(["--show-managed-fields"] if printing.show_managed_fields else [])]


def _kubeconfig(port: int, secret: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "shown",
        "contexts": [{"name": "shown", "context": {"cluster": "shown", "user": "shown"}}],
        "clusters": [{"name": "shown", "cluster": {"server": f"http://127.0.0.1:{port}/{secret}"}}],
        "users": [{"name": "shown", "user": {}}],
    }


def _handler(document: Document, secret: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            answer: Any = None
            if path.startswith(f"/{secret}/"):
                path = path.removeprefix(f"/{secret}")
                shown = f"/apis/{_GROUP}/{_VERSION}/{_PLURAL}/this"
                answer = document if path == shown else _DISCOVERY.get(path)
            body = json.dumps(answer if answer is not None else {"kind": "Status", "code": 404}).encode()
            self.send_response(200 if answer is not None else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Says nothing: standard error is the user's."""

    return Handler
