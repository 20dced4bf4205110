"""``--for TYPE[.GROUP]/NAME``: a job, whatever its kind is called."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from hub.cli import output
from worker_agent.api.document import Document

if TYPE_CHECKING:
    from worker_agent.api.resource_type import ResourceType
    from worker_agent.kube.client import Client


@dataclass(frozen=True, slots=True)
class Job:
    resource: "ResourceType"
    document: Document


async def read(client: "Client", namespace: str, text: str) -> Job | None:
    """The job; None where it is not there. Ends the command where the text names none. Raises ApiError."""
    from worker_agent.kube import discovery  # noqa: PLC0415 - slow imports wait
    from worker_agent.kube.discovery import UnknownTypeError  # noqa: PLC0415
    from worker_agent.kube.errors import NotFound  # noqa: PLC0415

    kind, separator, name = text.partition("/")
    if not separator or not kind or not name or "/" in name:
        output.fail(f"--for {text}: invalid value; it must be in the format TYPE[.API-GROUP]/NAME", 2)
    try:
        resource = await discovery.named(client, kind)
        found = await client.get(resource, name, namespace if resource.namespaced else "")
    except UnknownTypeError as error:
        output.fail(f"--for {text}: {error}")
    except NotFound:
        return None
    return Job(resource, msgspec.json.decode(found))
