"""The definitions of kinds that are converted are told where this agent answers."""

from collections.abc import Mapping
from types import MappingProxyType
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


class _Spec(msgspec.Struct, frozen=True):
    conversion: Document | None = None


class Definition(msgspec.Struct, frozen=True):
    """Of a definition only how its objects are converted: the largest has 150 kB."""

    spec: _Spec = _Spec()


decode = msgspec.json.Decoder(Definition).decode
NOTHING_KNOWN: Final[Mapping[str, Definition | None]] = MappingProxyType({})


async def convert_here(
    client: Client,
    endpoint: Endpoint,
    ca_bundle: bytes,
    known: Mapping[str, Definition | None] = NOTHING_KNOWN,
) -> None:
    """Have every definition with a conversion webhook ask this agent; those without one are left alone.

    Kueue's own definitions have one, so an agent that takes a cluster over from Kueue takes its conversion over too.
    ``known``: by name, what a watch shows; a definition that asks this agent already by that is not read.
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
        if name not in known or _has_to_be_told(known[name], wanted):
            await _told(client, name, wanted)


def _has_to_be_told(definition: Definition | None, wanted: Document) -> bool:
    conversion = (definition.spec.conversion if definition is not None else None) or {}
    return conversion.get("strategy") == "Webhook" and conversion != wanted


async def _told(client: Client, name: str, wanted: Document) -> None:
    try:
        present = decode(await client.get(CUSTOM_RESOURCE_DEFINITIONS, name))
    except NotFound:
        return
    if not _has_to_be_told(present, wanted):
        return
    conversion = present.spec.conversion or {}
    there = conversion["webhook"]["clientConfig"]
    here = wanted["webhook"]["clientConfig"]
    change = {**dict.fromkeys(there), **here}  # null takes away: a URL and a Service exclude each other
    body = {"spec": {"conversion": {**wanted, "webhook": {**wanted["webhook"], "clientConfig": change}}}}
    await client.patch(
        CUSTOM_RESOURCE_DEFINITIONS, name, "", body, patch_type=PatchType.MERGE, field_manager=FIELD_MANAGER
    )
