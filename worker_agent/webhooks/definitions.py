"""The definitions of kinds that are converted are told where this agent answers."""

from typing import Final

import msgspec

from worker_agent.api import need
from worker_agent.api.crds import CONVERT_PATH
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CUSTOM_RESOURCE_DEFINITIONS
from worker_agent.api.versions.kinds import CONVERTED, OLD_VERSIONS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import Conflict, NotFound
from worker_agent.webhooks.configurations import FIELD_MANAGER, Endpoint

ATTEMPTS: Final = 5
NAMES: Final = tuple(f"{kind.plural}.{kind.group}" for kind in (OLD_VERSIONS[name].resource for name in CONVERTED))
NEEDS = (need.of(CUSTOM_RESOURCE_DEFINITIONS, "get", "update", names=NAMES),)


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
    for _ in range(ATTEMPTS):
        try:
            present: Document = msgspec.json.decode(await client.get(CUSTOM_RESOURCE_DEFINITIONS, name))
        except NotFound:
            return
        conversion = present["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook" or conversion == wanted:
            return
        changed = {**present, "spec": {**present["spec"], "conversion": wanted}}
        try:
            await client.update(CUSTOM_RESOURCE_DEFINITIONS, changed, field_manager=FIELD_MANAGER)
        except Conflict:
            continue  # the API server writes the status of definitions, and other replicas the same as this one
        return
    raise Conflict(409, "Conflict", f"definition {name} is being changed all the time")
