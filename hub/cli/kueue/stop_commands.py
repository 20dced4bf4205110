"""``fedhub kueue stop`` and ``resume``: workloads, LocalQueues and ClusterQueues."""

from typing import Annotated

import typer

from hub.cli import flag_groups
from hub.cli.kueue import completion, writing
from hub.cli.kueue.connection import Connection
from hub.cli.kueue.printing import DryRun, DryRunOption, Printing
from worker_agent.api.document import Document
from worker_agent.cli.command_group import Group

stop_app = typer.Typer(cls=Group, help="Stop a workload or a queue.", no_args_is_help=True)
resume_app = typer.Typer(cls=Group, help="Let a workload or a queue go on.", no_args_is_help=True)

_KEEP = typer.Option("--keep-already-running", help="What is admitted goes on; only nothing new is admitted.")
Keep = Annotated[bool, _KEEP]


def _name(complete: completion.Names) -> object:
    return typer.Argument(metavar="NAME", help="Of the workload or queue.", autocompletion=complete, show_default=False)


@stop_app.command("clusterqueue")
@stop_app.command("cq", hidden=True)
@flag_groups.expanded
def stop_cluster_queue(
    name: Annotated[str, _name(completion.cluster_queues(True))],
    connection: Connection,
    printing: Printing,
    keep_already_running: Keep = False,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Put a ClusterQueue on hold; what runs is evicted, unless it is kept.

    Examples:

    fedhub kueue stop clusterqueue research

    fedhub kueue stop cq research --keep-already-running
    """
    from worker_agent.api.resource_type import CLUSTER_QUEUES  # noqa: PLC0415 - slow imports wait

    writing.SpecChange(CLUSTER_QUEUES, name, _stopped(keep_already_running)).run(connection, printing, dry_run)


@stop_app.command("localqueue")
@stop_app.command("lq", hidden=True)
@flag_groups.expanded
def stop_local_queue(
    name: Annotated[str, _name(completion.local_queues(True))],
    connection: Connection,
    printing: Printing,
    keep_already_running: Keep = False,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Put a LocalQueue on hold; what runs is evicted, unless it is kept.

    Example: fedhub kueue stop localqueue team-a -n team-a --keep-already-running
    """
    from worker_agent.api.resource_type import LOCAL_QUEUES  # noqa: PLC0415

    writing.SpecChange(LOCAL_QUEUES, name, _stopped(keep_already_running)).run(connection, printing, dry_run)


@stop_app.command("workload")
@stop_app.command("kwl", hidden=True)
@stop_app.command("kueueworkload", hidden=True)
@stop_app.command("kueueworkloads", hidden=True)
@flag_groups.expanded
def stop_workload(
    name: Annotated[str, _name(completion.workloads(True))],
    connection: Connection,
    printing: Printing,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Put a workload on hold: it is evicted, and not admitted until it is resumed.

    Example: fedhub kueue stop workload job-train-7-1f2e3 -n team-a
    """
    from worker_agent.api.resource_type import WORKLOADS  # noqa: PLC0415

    writing.SpecChange(WORKLOADS, name, {"active": False}, "stopped").run(connection, printing, dry_run)


@resume_app.command("clusterqueue")
@resume_app.command("cq", hidden=True)
@flag_groups.expanded
def resume_cluster_queue(
    name: Annotated[str, _name(completion.cluster_queues(False))],
    connection: Connection,
    printing: Printing,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Let a ClusterQueue admit workloads again.

    Example: fedhub kueue resume clusterqueue research
    """
    from worker_agent.api.resource_type import CLUSTER_QUEUES  # noqa: PLC0415

    writing.SpecChange(CLUSTER_QUEUES, name, {"stopPolicy": "None"}).run(connection, printing, dry_run)


@resume_app.command("localqueue")
@resume_app.command("lq", hidden=True)
@flag_groups.expanded
def resume_local_queue(
    name: Annotated[str, _name(completion.local_queues(False))],
    connection: Connection,
    printing: Printing,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Let a LocalQueue submit workloads again.

    Example: fedhub kueue resume localqueue team-a -n team-a
    """
    from worker_agent.api.resource_type import LOCAL_QUEUES  # noqa: PLC0415

    writing.SpecChange(LOCAL_QUEUES, name, {"stopPolicy": "None"}).run(connection, printing, dry_run)


@resume_app.command("workload")
@resume_app.command("kwl", hidden=True)
@resume_app.command("kueueworkload", hidden=True)
@resume_app.command("kueueworkloads", hidden=True)
@flag_groups.expanded
def resume_workload(
    name: Annotated[str, _name(completion.workloads(False))],
    connection: Connection,
    printing: Printing,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Let a workload be admitted again.

    Example: fedhub kueue resume workload job-train-7-1f2e3 -n team-a
    """
    from worker_agent.api.resource_type import WORKLOADS  # noqa: PLC0415

    writing.SpecChange(WORKLOADS, name, {"active": True}, "resumed").run(connection, printing, dry_run)


def _stopped(keep_already_running: bool) -> Document:
    return {"stopPolicy": "Hold" if keep_already_running else "HoldAndDrain"}
