"""Nodes of a simulated cluster as objects: made, and kept as their group says."""

import msgspec

from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node
from worker_agent.api.resource_type import NODES
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.errors import AlreadyExists, NotFound
from worker_agent.kube.informer import Informer


async def settle(client: Client, nodes: Informer[Node], wanted: Document) -> None:
    """Makes the node, or brings what there is of it to ``wanted``."""
    name = wanted["metadata"]["name"]
    key = Key("", name)
    if key not in nodes:
        try:
            made: Document = msgspec.json.decode(await client.create(NODES, wanted, field_manager="kubelet"))
        except AlreadyExists:
            made = msgspec.json.decode(await client.get(NODES, name))
    else:
        made = msgspec.json.decode(nodes.raw(key))
    await _settle_taints_and_labels(client, made, wanted)
    capacity = {name: wanted["status"][name] for name in ("capacity", "allocatable")}
    status = made.get("status") or {}
    if {name: status.get(name) for name in capacity} != capacity:
        # Replaces the maps: a resource that the shape no longer names goes.
        gone = {part: {r: None for r in status.get(part) or {} if r not in capacity[part]} for part in capacity}
        merged = {part: gone[part] | capacity[part] for part in capacity}
        body = {"status": merged if status.get("conditions") else wanted["status"] | merged}
        await client.patch(
            NODES, name, "", body, patch_type=PatchType.MERGE, subresource="status", field_manager="kubelet"
        )


async def remove(client: Client, name: str) -> None:
    """Deletes the node; that it is gone already is fine."""
    try:
        await client.delete(NODES, name)
    except NotFound:
        return


async def _settle_taints_and_labels(client: Client, made: Document, wanted: Document) -> None:
    labels = made["metadata"].get("labels") or {}
    missing = {name: value for name, value in wanted["metadata"]["labels"].items() if labels.get(name) != value}
    taints = wanted["spec"].get("taints")
    body: Document = {}
    if missing:
        body["metadata"] = {"labels": missing}
    if (made.get("spec") or {}).get("taints") != taints:
        body["spec"] = {"taints": taints}
    if body:
        await client.patch(
            NODES, made["metadata"]["name"], "", body, patch_type=PatchType.MERGE, field_manager="kubelet"
        )
