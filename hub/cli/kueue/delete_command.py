"""``fedhub kueue delete workload``: the jobs that own it, and with them the workload; or the workload alone."""

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from hub.cli import flag_groups, output
from hub.cli.kueue import completion, writing
from hub.cli.kueue.connection import Connection
from hub.cli.kueue.printing import DryRun, DryRunOption, Printing
from worker_agent.api.document import Document

if TYPE_CHECKING:
    from worker_agent.api.resource_type import ResourceType
    from worker_agent.kube.client import Client

    Kinds = dict[tuple[str, str], ResourceType | None]


@dataclass(slots=True)
class Doomed:
    """A workload and the objects that own it, each with its resource and UID."""

    workload: Document
    owners: "list[tuple[ResourceType, str, str]]" = field(default_factory=list)

    @property
    def namespace(self) -> str:
        return str(self.workload["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.workload["metadata"]["name"])

    def told(self) -> list[str]:
        return [_told(resource, name) for resource, name, _ in self.owners]


@flag_groups.expanded
def workload(
    connection: Connection,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...", help="Of the workloads.", autocompletion=completion.workloads(), show_default=False
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before jobs are deleted.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Every workload of the namespace.")] = False,
    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="With --all: of every one.")] = False,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Delete workloads and the jobs they belong to.

    Jobs are deleted after a question, and their workloads go with them; a workload without a job is deleted itself.
    Only the objects that were found are deleted, not others of the same name that were made meanwhile.

    Examples:

    fedhub kueue delete workload job-train-7-1f2e3 -n team-a

    fedhub kueue delete workload --all -n team-a --yes --dry-run server
    """
    if not all_ and not names:
        output.fail("requires at least 1 arg(s), only received 0", 2)
    if all_ and names:
        output.fail("name cannot be provided when a selector is specified", 2)
    if all_namespaces and names:
        output.fail("a resource cannot be retrieved by name across all namespaces", 2)

    for name in names or ():
        writing.check_name(name)

    async def work(client: "Client", namespace: str) -> None:
        found, missing = await _found(client, "" if all_namespaces else namespace, names or [])
        for error in missing:
            print(f"error: {error}", file=sys.stderr)
        kinds = await _kinds(client, found)
        doomed = [_with_owners(each, kinds) for each in found]
        asked = dry_run is DryRun.NONE and not yes and any(each.owners for each in doomed)
        if asked and not _confirmed(doomed, summary=all_):
            print("Deletion is canceled")
            return
        for each in doomed:
            await _delete(client, each, dry_run)
        if missing:
            raise typer.Exit(1)

    connection.run(work)


async def _found(client: "Client", namespace: str, names: list[str]) -> tuple[list[Document], list[str]]:
    """The workloads, and what the server said of those that are not there."""
    from worker_agent.api.resource_type import WORKLOADS  # noqa: PLC0415 - slow imports wait
    from worker_agent.kube.errors import NotFound  # noqa: PLC0415

    if not names:
        return [msgspec.json.decode(item) for item in (await client.list(WORKLOADS, namespace)).items], []
    found, missing = [], []
    for name in names:
        try:
            found.append(msgspec.json.decode(await client.get(WORKLOADS, name, namespace)))
        except NotFound as error:
            missing.append(error.message)
    return found, missing


async def _kinds(client: "Client", found: list[Document]) -> "Kinds":
    """Where the owners' kinds are served: each is asked for once, however many workloads there are."""
    from worker_agent.kube import discovery  # noqa: PLC0415

    named = {(owner["apiVersion"], owner["kind"]) for each in found for owner in _owners(each)}
    return {name: await discovery.of_kind(client, *name) for name in sorted(named)}


def _with_owners(found: Document, kinds: "Kinds") -> Doomed:
    doomed = Doomed(found)
    for owner in _owners(found):
        resource = kinds[owner["apiVersion"], owner["kind"]]
        if resource is None:
            output.fail(
                f"{doomed.name} is owned by {owner['kind']} {owner['name']}, and the server does not serve"
                f" {owner['apiVersion']}; to delete the workload alone: kubectl delete workload {doomed.name}"
            )
        doomed.owners.append((resource, owner["name"], owner["uid"]))
    return doomed


def _owners(found: Document) -> list[Document]:
    return list(found["metadata"].get("ownerReferences") or ())


def _confirmed(doomed: list[Doomed], *, summary: bool) -> bool:
    if summary:
        print("This operation will also delete the jobs associated with these workloads.")
    else:
        print("This operation will also delete:")
        for each in doomed:
            if each.owners:
                print(f"  - {', '.join(each.told())} associated with the {each.namespace}/{each.name} workload")
    print("Do you want to proceed (y/n)? ", end="", flush=True)
    return sys.stdin.readline().strip().lower() == "y"


async def _delete(client: "Client", doomed: Doomed, dry_run: DryRun) -> None:
    from worker_agent.api.resource_type import WORKLOADS  # noqa: PLC0415

    for resource, name, uid in doomed.owners:
        await writing.delete(client, (resource, doomed.namespace, name), uid, dry_run)
        print(f"{_told(resource, name)} {dry_run.told('deleted')}")
    if not doomed.owners:
        uid = doomed.workload["metadata"]["uid"]
        await writing.delete(client, (WORKLOADS, doomed.namespace, doomed.name), uid, dry_run)
        Printing().one(doomed.workload, dry_run.told("deleted"))


def _told(resource: "ResourceType", name: str) -> str:
    return f"{resource.plural}.{resource.group}/{name}" if resource.group else f"{resource.plural}/{name}"
