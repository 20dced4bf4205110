"""The definitions of kinds that are converted are told where this agent answers."""

from typing import Final

import msgspec

from worker_agent.api import need
from worker_agent.api.crds import CONVERT_PATH
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CUSTOM_RESOURCE_DEFINITIONS
from worker_agent.api.versions.kinds import CONVERTED, OLD_VERSIONS
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.errors import NotFound
from worker_agent.webhooks.configurations import FIELD_MANAGER, Endpoint

NAMES: Final = tuple(f"{kind.plural}.{kind.group}" for kind in (OLD_VERSIONS[name].resource for name in CONVERTED))
NEEDS = (need.of(CUSTOM_RESOURCE_DEFINITIONS, "get", "patch", names=NAMES),)


async def convert_here(client: Client, endpoint: Endpoint, ca_bundle: bytes) -> None:
    """Have every definition with a conversion webhook ask this agent; those without one are left alone.

    Kueue's own definitions have one, so an agent that takes a cluster over from Kueue takes its conversion over too.
    Raises ApiError, ConnectionError.
    """
    wanted = {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": endpoint.client_config(CONVERT_PATH, ca_bundle),
            "conversionReviewVersions": ["v1"],
        },
    }
    for name in NAMES:
        await _told(client, name, wanted)


async def _told(client: Client, name: str, wanted: Document) -> None:
    try:
        present: Document = msgspec.json.decode(await client.get(CUSTOM_RESOURCE_DEFINITIONS, name))
    except NotFound:
        return
    conversion = present["spec"].get("conversion") or {}
    if conversion.get("strategy") != "Webhook" or conversion == wanted:
        return
    there = conversion["webhook"]["clientConfig"]
    here = wanted["webhook"]["clientConfig"]
    change = {**dict.fromkeys(there), **here}  # null takes away: a URL and a Service exclude each other
    body = {"spec": {"conversion": {**wanted, "webhook": {**wanted["webhook"], "clientConfig": change}}}}
    await client.patch(
        CUSTOM_RESOURCE_DEFINITIONS, name, "", body, patch_type=PatchType.MERGE, field_manager=FIELD_MANAGER
    )
