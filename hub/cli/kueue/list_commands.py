"""``fedhub kueue list``: queues and flavors; workloads and pods have files of their own."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from hub.cli import flag_groups, output
from hub.cli.kueue import completion, list_pods, list_workloads
from hub.cli.kueue.connection import Connection
from hub.cli.kueue.printing import Printing, Table
from hub.cli.kueue.selection import AllNamespaces, Selection, told_without_table
from worker_agent.api.document import Document
from worker_agent.cli.command_group import Group

if TYPE_CHECKING:
    from worker_agent.kube.client import Client

app = typer.Typer(cls=Group, help="Show queues, flavors, workloads and pods.", no_args_is_help=True)
for _name in ("workload", "kwl", "kueueworkload", "kueueworkloads"):
    app.command(_name, hidden=_name != "workload")(list_workloads.workloads)
for _name in ("pods", "po"):
    app.command(_name, hidden=_name != "pods")(list_pods.pods)


@app.command("clusterqueue")
@app.command("cq", hidden=True)
@flag_groups.expanded
def cluster_queues(
    connection: Connection,
    printing: Printing,
    selection: Selection,
    active: Annotated[
        list[str] | None,
        typer.Option("--active", metavar="true|false", help="Only those that admit workloads, or that do not."),
    ] = None,
) -> None:
    """Show ClusterQueues.

    Examples:

    fedhub kueue list clusterqueue

    fedhub kueue list cq --active false -l team=a
    """
    from hub.local.apiserver.schema import ages  # noqa: PLC0415 - slow imports wait
    from worker_agent.api.resource_type import CLUSTER_QUEUES  # noqa: PLC0415

    printing.check()
    wanted = _active(active)

    async def work(client: "Client", _: str) -> None:
        found = [
            each
            for each in await selection.read(client, CLUSTER_QUEUES)
            if wanted is None or _is_active(each) == wanted
        ]
        if told_without_table(printing, CLUSTER_QUEUES, found, ""):
            return
        now = _now()
        rows = [
            [
                each["metadata"]["name"],
                (each.get("spec") or {}).get("cohortName") or "",
                str((each.get("status") or {}).get("pendingWorkloads") or 0),
                str((each.get("status") or {}).get("admittedWorkloads") or 0),
                str(_is_active(each)).lower(),
                ages.since(each["metadata"].get("creationTimestamp"), now),
            ]
            for each in found
        ]
        columns = ("name", "cohort", "pending workloads", "admitted workloads", "active", "age")
        Table(columns, rows).show(headings=not selection.no_headers)

    connection.run(work)


@app.command("localqueue")
@app.command("lq", hidden=True)
@flag_groups.expanded
def local_queues(
    connection: Connection,
    printing: Printing,
    selection: Selection,
    all_namespaces: AllNamespaces = False,
    clusterqueue: Annotated[
        str,
        typer.Option(
            "--clusterqueue",
            "-c",
            help="Only those of this ClusterQueue.",
            autocompletion=completion.cluster_queues(),
            show_default=False,
        ),
    ] = "",
) -> None:
    """Show LocalQueues.

    Examples:

    fedhub kueue list localqueue -n team-a

    fedhub kueue list lq -A -c research
    """
    from hub.local.apiserver.schema import ages  # noqa: PLC0415
    from worker_agent.api.resource_type import LOCAL_QUEUES  # noqa: PLC0415

    printing.check()

    async def work(client: "Client", namespace: str) -> None:
        read = await selection.read(client, LOCAL_QUEUES, "" if all_namespaces else namespace)
        found = [each for each in read if clusterqueue in ("", _cluster_queue(each))]
        if told_without_table(printing, LOCAL_QUEUES, found, "" if all_namespaces else namespace):
            return
        now = _now()
        rows = [
            [
                each["metadata"]["name"],
                _cluster_queue(each),
                str((each.get("status") or {}).get("pendingWorkloads") or 0),
                str((each.get("status") or {}).get("admittedWorkloads") or 0),
                ages.since(each["metadata"].get("creationTimestamp"), now),
            ]
            for each in found
        ]
        columns = ("name", "clusterqueue", "pending workloads", "admitted workloads", "age")
        namespaces = [each["metadata"]["namespace"] for each in found] if all_namespaces else None
        Table(columns, rows, namespaces).show(headings=not selection.no_headers)

    connection.run(work)


@app.command("resourceflavor")
@app.command("rf", hidden=True)
@flag_groups.expanded
def resource_flavors(connection: Connection, printing: Printing, selection: Selection) -> None:
    """Show ResourceFlavors.

    Example: fedhub kueue list resourceflavor -l tier=spot
    """
    from hub.local.apiserver.schema import ages  # noqa: PLC0415
    from worker_agent.api.resource_type import RESOURCE_FLAVORS  # noqa: PLC0415

    printing.check()

    async def work(client: "Client", _: str) -> None:
        found = await selection.read(client, RESOURCE_FLAVORS)
        if told_without_table(printing, RESOURCE_FLAVORS, found, ""):
            return
        now = _now()
        rows = [
            [
                each["metadata"]["name"],
                ", ".join(sorted(f"{key}={value}" for key, value in _node_labels(each).items())),
                ages.since(each["metadata"].get("creationTimestamp"), now),
            ]
            for each in found
        ]
        Table(("name", "node labels", "age"), rows).show(headings=not selection.no_headers)

    connection.run(work)


def _active(given: list[str] | None) -> bool | None:
    if not given:
        return None
    if len(given) > 1:
        output.fail("--active: only one active flag can be provided", 2)
    if given[0].lower() not in ("true", "false"):
        output.fail(f"--active {given[0]}: must be true or false", 2)
    return given[0].lower() == "true"


def _is_active(queue: Document) -> bool:
    conditions = (queue.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Active" and each["status"] == "True" for each in conditions)


def _cluster_queue(queue: Document) -> str:
    return str((queue.get("spec") or {}).get("clusterQueue") or "")


def _node_labels(flavor: Document) -> dict[str, str]:
    return (flavor.get("spec") or {}).get("nodeLabels") or {}


def _now() -> datetime:
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415

    return SystemClock().now()
