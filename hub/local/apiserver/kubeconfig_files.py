"""kubeconfig files for a running server: with a client certificate or a bearer token, everything inside the file."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from hub.local.apiserver.certificates import KeyPair, write_private
from worker_agent.api.document import Document


@dataclass(frozen=True, slots=True)
class Login:
    """How a user proves who they are: either of the two."""

    user: str
    certificate: KeyPair | None = None
    token: str = ""


def document(cluster: str, server: str, ca: bytes, login: Login) -> Document:
    """A kubeconfig with one context, named as the cluster."""
    credentials: Document = {}
    if login.certificate is not None:
        credentials["client-certificate-data"] = _coded(login.certificate.certificate)
        credentials["client-key-data"] = _coded(login.certificate.key)
    if login.token:
        credentials["token"] = login.token
    user = f"{login.user}@{cluster}"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": _coded(ca)}}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
        "current-context": cluster,
    }


def merged(documents: list[Document]) -> Document:
    """One file with the contexts of all; the first one's is current."""
    together: Document = {"apiVersion": "v1", "kind": "Config"}
    for part in ("clusters", "users", "contexts"):
        together[part] = [entry for document in documents for entry in document[part]]
    together["current-context"] = documents[0]["current-context"]
    return together


def write(path: Path, content: Document) -> None:
    """JSON is YAML: kubectl reads it. Readable by the owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, json.dumps(content, indent=1).encode())


def _coded(data: bytes) -> str:
    return base64.b64encode(data).decode()
