"""Real Kueue's own webhooks at the address of its process, registered as its installation registers them.

Only the way there differs: a URL in place of a Service, and the authority of the certificate that ``kueue.program``
made for the process.
"""

import base64
from pathlib import Path
from typing import Any

import yaml

from hub.local.layout import Layout
from tests.realcluster import kueue
from tests.realcluster.kueue import Kueue
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CUSTOM_RESOURCE_DEFINITIONS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from worker_agent.kube.client import Client, PatchType

PREFIX = "kueue-"
"""What the installation puts before the names of all objects."""


async def register(peer: Kueue, client: Client, name: str, where: Layout) -> None:
    """The webhooks of the running process ``name``, those that convert too. From now on its cluster needs it."""
    folder = kueue.folder(where, name)
    port = yaml.safe_load((folder / kueue.CONFIGURATION).read_text())["webhook"]["port"]
    authority = (folder / kueue.CERTIFICATES / kueue.AUTHORITY).read_bytes()
    url = f"https://127.0.0.1:{port}"
    for definition, conversion in conversions(peer.webhooks, url, authority).items():
        await client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            definition,
            "",
            {"spec": {"conversion": conversion}},
            patch_type=PatchType.MERGE,
            field_manager=kueue.USER_AGENT,
        )
    for document in configurations(peer.webhooks, url, authority):
        resource = next(kind for kind in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS) if kind.kind == document["kind"])
        await client.create(resource, document)


def conversions(published: Path, url: str, authority: bytes) -> dict[str, Document]:
    """By the name of the definition, how its objects are converted."""
    found: dict[str, Document] = {}
    for path in sorted((published / "conversion").glob("*.yaml")):
        patch = yaml.safe_load(path.read_text())
        conversion = patch["spec"]["conversion"]
        conversion["webhook"]["clientConfig"] = _client(conversion["webhook"]["clientConfig"], url, authority)
        found[patch["metadata"]["name"]] = conversion
    return found


def configurations(published: Path, url: str, authority: bytes) -> list[Document]:
    """Both configurations in the folder ``published``, with the namespaces that the installation leaves out."""
    patches = _patches(published)
    found: list[Document] = []
    for document in yaml.safe_load_all((published / "manifests.yaml").read_text()):
        patched = patches.get(document["kind"], {})
        hooks = []
        for hook in document["webhooks"]:
            there = {"clientConfig": _client(hook["clientConfig"], url, authority)}
            hooks.append(hook | patched.get(hook["name"], {}) | there)
        metadata = document["metadata"] | {"name": f"{PREFIX}{document['metadata']['name']}"}
        found.append(document | {"metadata": metadata, "webhooks": hooks})
    return found


def _client(published: Document, url: str, authority: bytes) -> Document:
    return {"url": f"{url}{published['service']['path']}", "caBundle": base64.b64encode(authority).decode()}


def _patches(published: Path) -> dict[str, dict[str, Any]]:
    """What the installation lays over the webhooks, by the kind of the configuration and the name of the webhook."""
    entries = yaml.safe_load((published / "kustomization.yaml").read_text())["patches"]
    documents = [yaml.safe_load(entry["patch"]) for entry in entries]
    return {document["kind"]: {hook["name"]: hook for hook in document["webhooks"]} for document in documents}
