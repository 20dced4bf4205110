"""The writes of these commands: one request each, or none on a dry run of the client."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from hub.cli import output
from hub.cli.kueue.connection import Connection
from hub.cli.kueue.printing import DryRun, Printing
from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType

if TYPE_CHECKING:
    from worker_agent.kube.client import Client

FIELD_MANAGER: Final = "kubectl-fedhub"


@dataclass
class Creation:
    """A new object; ``precondition`` is asked before, and raises ApiError."""

    resource: ResourceType
    name: str
    spec: Document
    precondition: "Callable[[Client], Awaitable[None]] | None" = None

    def run(self, connection: Connection, printing: Printing, dry_run: DryRun) -> None:
        printing.check()

        async def work(client: "Client", namespace: str) -> None:
            if self.precondition is not None:
                await self.precondition(client)
            namespace = namespace if self.resource.namespaced else ""
            made = await create(client, self._document(namespace), self.resource, dry_run)
            printing.one(made, dry_run.told("created"))

        connection.run(work)

    def _document(self, namespace: str) -> Document:
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": self.name, **({"namespace": namespace} if namespace else {})},
            "spec": self.spec,
        }


@dataclass(frozen=True)
class SpecChange:
    """Fields of an object's spec that are set; ``operation`` is what is then told of it."""

    resource: ResourceType
    name: str
    fields: Document
    operation: str = ""

    def run(self, connection: Connection, printing: Printing, dry_run: DryRun) -> None:
        printing.check()
        check_name(self.name)

        async def work(client: "Client", namespace: str) -> None:
            namespace = namespace if self.resource.namespaced else ""
            target = (self.resource, namespace, self.name)
            printing.one(await set_spec(client, target, self.fields, dry_run), dry_run.told(self.operation).strip())

        connection.run(work)


def check_name(name: str) -> None:
    """Ends the command for an empty name: the server would take the request for one about all objects of the kind."""
    if not name:
        output.fail("NAME: must not be empty (is a variable of the shell unset?)", 2)


async def create(client: "Client", document: Document, resource: ResourceType, dry_run: DryRun) -> Document:
    """The object as the server has it, or would have it. Raises ApiError, ConnectionError."""
    from worker_agent.kube import verbs  # noqa: PLC0415 - slow imports wait

    namespace = document["metadata"].get("namespace", "")
    if dry_run is DryRun.CLIENT:
        return document
    if dry_run is DryRun.SERVER:
        request = verbs.create(verbs.Target(resource, namespace), document, FIELD_MANAGER)
        return _document(await client.raw(verbs.dry_run(request)))
    return _document(await client.create(resource, document, namespace, field_manager=FIELD_MANAGER))


async def set_spec(
    client: "Client", target: tuple[ResourceType, str, str], fields: Document, dry_run: DryRun
) -> Document:
    """The object with these fields of its spec, written only where they differ. Raises ApiError, ConnectionError."""
    resource, namespace, name = target
    from worker_agent.kube import verbs  # noqa: PLC0415
    from worker_agent.kube.verbs import PatchType  # noqa: PLC0415

    present = _document(await client.get(resource, name, namespace))
    spec = present.get("spec") or {}
    changed = {field: value for field, value in fields.items() if spec.get(field) != value}
    if dry_run is DryRun.CLIENT or not changed:
        return {**present, "spec": {**spec, **fields}}
    # The UID: a queue or workload of the same name that was made meanwhile is another one.
    body = {"metadata": {"uid": present["metadata"]["uid"]}, "spec": changed}
    if dry_run is DryRun.SERVER:
        request = verbs.patch(verbs.Target(resource, namespace, name), body, PatchType.MERGE, FIELD_MANAGER)
        return _document(await client.raw(verbs.dry_run(request)))
    return _document(
        await client.patch(resource, name, namespace, body, patch_type=PatchType.MERGE, field_manager=FIELD_MANAGER)
    )


async def delete(client: "Client", target: tuple[ResourceType, str, str], uid: str, dry_run: DryRun) -> None:
    """Deletes the object of this UID; nothing where it is gone already. Raises ApiError, ConnectionError."""
    from worker_agent.kube import verbs  # noqa: PLC0415
    from worker_agent.kube.errors import NotFound  # noqa: PLC0415

    resource, namespace, name = target
    try:
        if dry_run is DryRun.SERVER:
            request = verbs.delete(
                verbs.Target(resource, namespace, name), verbs.Preconditions(uid), "Background", None
            )
            await client.raw(verbs.dry_run(request))
        elif dry_run is DryRun.NONE:
            await client.delete(resource, name, namespace, uid=uid)
    except NotFound:
        return


def _document(raw: bytes) -> Document:
    found: Document = msgspec.json.decode(raw)
    return found
