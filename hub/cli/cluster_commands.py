"""``fedhub cluster``: the workers of a federation, and how to take one out of it and back."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hub.cli import manager_client, output
from hub.cli.output import Format
from hub.cli.run_command import Context, Kubeconfig
from worker_agent.cli.command_group import Group

if TYPE_CHECKING:
    from hub.app.cluster_administration import View
    from hub.engine.drain import Resident
    from worker_agent.api.multikueue import MultiKueueCluster

NOT_DONE = 3
"""Exit code of a drain that was not begun, because somebody would be hurt."""

app = typer.Typer(cls=Group, help="Workers of the federation: list, cordon, drain, declare lost.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of the MultiKueueCluster.")]
Output = Annotated[Format, typer.Option("--output", "-o", help="Output format.")]


@app.command("list")
def list_(kubeconfig: Kubeconfig = None, context: Context = "", output_format: Output = Format.TABLE) -> None:
    """Show every worker: whether it is connected, fenced, open to new work, and what is there.

    Example: fedhub cluster list -o wide
    """

    async def work(view: "View") -> None:
        rows = [_row(view, cluster) for _, cluster in sorted(view.federation.clusters.items())]
        if output_format in (Format.JSON, Format.YAML):
            output.structured(rows, output_format)
            return
        columns = ["name", "source", "connected", "fenced", "scheduling", "running", "waiting"]
        columns += ["message"] if output_format is Format.WIDE else []
        output.table(columns, [[str(row[column]) for column in columns] for row in rows])

    _run(work, kubeconfig, context)


@app.command()
def cordon(
    cluster: Name, kubeconfig: Kubeconfig = None, context: Context = "", output_format: Output = Format.TABLE
) -> None:
    """Send nothing new to a worker; what is there stays. Doing it twice is fine.

    Example: fedhub cluster cordon oregon
    """
    _mark(cluster, True, (kubeconfig, context, output_format))


@app.command()
def uncordon(
    cluster: Name, kubeconfig: Kubeconfig = None, context: Context = "", output_format: Output = Format.TABLE
) -> None:
    """Let new work go to a worker again.

    Example: fedhub cluster uncordon oregon
    """
    _mark(cluster, False, (kubeconfig, context, output_format))


@app.command()
def drain(
    cluster: Name,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also stop what has nowhere else to go; it then waits.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output_format: Output = Format.TABLE,
) -> None:
    """Cordon a worker and move its workloads: each is evicted on the manager and dispatched elsewhere.

    First says what would move, what work would be lost, and who has nowhere else to go, because the other clusters are
    closed or were found impossible for it when the hub last chose. Where there is such a workload, nothing is done and
    the exit code is 3, unless --force is given. Doing it again moves what is left.

    Examples:

    fedhub cluster drain oregon --dry-run

    fedhub cluster drain oregon --force
    """
    from hub.app import cluster_administration as administration  # noqa: PLC0415 - slow imports wait

    async def work(view: "View") -> None:
        residents = view.residents(cluster)
        stranded = [resident for resident in residents if resident.stranded]
        held_back = bool(stranded) and not force
        _tell(residents, output_format)
        if dry_run or held_back:
            if held_back:
                output.fail(
                    f"{len(stranded)} of {len(residents)} workloads have nowhere else to go and would wait;"
                    " nothing was done; to drain all the same: --force",
                    NOT_DONE,
                )
            return
        await administration.cordon(view, cluster, cordoned=True)
        moved = [await administration.move(view.client, cluster, resident) for resident in residents]
        leave = f"; {sum(moved)} of {len(moved)} workloads leave it" if moved else ""
        output.say(f"{cluster} is cordoned{leave}")

    _run(work, kubeconfig, context)


@app.command("declare-lost")
def declare_lost(
    cluster: Name, kubeconfig: Kubeconfig = None, context: Context = "", output_format: Output = Format.TABLE
) -> None:
    """Vouch that nothing runs on a worker that the hub cannot reach, so that its jobs may start elsewhere.

    Wrong, it lets jobs run twice. It ends by itself when the worker answers again.

    Example: fedhub cluster declare-lost oregon
    """
    from hub.app import cluster_administration as administration  # noqa: PLC0415

    async def work(view: "View") -> None:
        declared = await administration.declare_lost(view, cluster)
        _done({"cluster": cluster, "changed": declared}, f"{cluster} is declared lost", output_format)

    _run(work, kubeconfig, context)


def _mark(cluster: str, cordoned: bool, options: tuple[Any, str, Format]) -> None:
    from hub.app import cluster_administration as administration  # noqa: PLC0415

    kubeconfig, context, output_format = options

    async def work(view: "View") -> None:
        changed = await administration.cordon(view, cluster, cordoned=cordoned)
        state = "cordoned" if cordoned else "open to new work"
        text = f"{cluster} is {state}" if changed else f"{cluster} was {state} already"
        _done({"cluster": cluster, "cordoned": cordoned, "changed": changed}, text, output_format)

    _run(work, kubeconfig, context)


def _done(facts: dict[str, Any], text: str, format_: Format) -> None:
    if format_ in (Format.JSON, Format.YAML):
        output.structured(facts, format_)
    else:
        output.say(text)


def _tell(residents: "list[Resident]", format_: Format) -> None:
    """What a drain would move, and whom it would hurt."""
    rows = [
        {
            "workload": str(each.key),
            "job": each.job,
            "state": "runs" if each.runs else "waits",
            "pods": each.pods,
            "priority": each.priority,
            "lostPodSeconds": each.lost_pod_seconds,
            "elsewhere": list(each.elsewhere),
            "found": each.found,
        }
        for each in residents
    ]
    if format_ in (Format.JSON, Format.YAML):
        output.structured(rows, format_)
        return
    if not rows:
        output.say("nothing of the hub's is there: there is nothing to move")
        return
    columns = ["workload", "job", "state", "pods", "priority", "lost pod-seconds", "may go to", "found when chosen"]
    shown = [
        [*map(str, list(row.values())[:-2]), ", ".join(each.elsewhere) or "nowhere", each.found]
        for row, each in zip(rows, residents, strict=True)
    ]
    width = len(columns) if format_ is Format.WIDE else -1
    output.table(columns[:width], [line[:width] for line in shown])


def _row(view: "View", cluster: "MultiKueueCluster") -> dict[str, Any]:
    from hub.engine import drain as draining  # noqa: PLC0415
    from worker_agent.api import names  # noqa: PLC0415

    conditions = {each.type: each for each in cluster.status.conditions or ()}
    active, fenced = conditions.get(names.ACTIVE), conditions.get(names.FENCED)
    source = cluster.spec.cluster_source
    residents = view.residents(cluster.metadata.name)
    closed = "cordoned" if draining.is_cordoned(cluster) else ""
    lost = "declared lost" if cluster.metadata.annotation(names.DECLARED_LOST_ANNOTATION) else ""
    return {
        "name": cluster.metadata.name,
        "source": "agent" if source.agent else "clusterProfile" if source.cluster_profile_ref else "kubeConfig",
        "connected": "unknown" if active is None else "yes" if active.is_true else active.reason,
        "fenced": "unknown" if fenced is None else "yes" if fenced.is_true else fenced.reason,
        "scheduling": lost or closed or "open",
        "running": sum(each.runs for each in residents),
        "waiting": sum(not each.runs for each in residents),
        "message": active.message if active is not None else "",
    }


def _run(work: Callable[["View"], Awaitable[None]], kubeconfig: Any, context: str) -> None:
    from hub.app import cluster_administration as administration  # noqa: PLC0415

    async def with_view(client: Any) -> None:
        await work(await administration.View.read(client))

    try:
        manager_client.run(with_view, kubeconfig, context)
    except (administration.UnknownCluster, administration.Refused) as error:
        output.fail(error)
