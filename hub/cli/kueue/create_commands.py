"""``fedhub kueue create``: queues and flavors."""

from typing import TYPE_CHECKING, Annotated

import typer

from hub.cli import flag_groups, output
from hub.cli.kueue import completion, writing
from hub.cli.kueue.connection import Connection
from hub.cli.kueue.printing import DryRun, DryRunOption, Printing
from worker_agent.api.document import Document
from worker_agent.cli.command_group import Group

if TYPE_CHECKING:
    from worker_agent.api.resource_type import ResourceType
    from worker_agent.kube.client import Client

app = typer.Typer(cls=Group, help="Create a ClusterQueue, a LocalQueue or a ResourceFlavor.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the new object.")]
Listed = list[str] | None


@app.command("clusterqueue")
@app.command("cq", hidden=True)
@flag_groups.expanded
def cluster_queue(  # noqa: PLR0913, PLR0917 - the command's own options
    name: Name,
    connection: Connection,
    printing: Printing,
    cohort: Annotated[str, typer.Option(help="Cohort that it belongs to.")] = "",
    queuing_strategy: Annotated[
        str, typer.Option(metavar="StrictFIFO|BestEffortFIFO", help="Order of its workloads.")
    ] = "BestEffortFIFO",
    namespace_selector: Annotated[
        Listed, typer.Option(metavar="KEY=VALUE", help="Labels of the namespaces that may submit to it.")
    ] = None,
    reclaim_within_cohort: Annotated[
        str,
        typer.Option(
            metavar="Never|LowerPriority|Any",
            help="Whether a pending workload may preempt those of queues that use more than their own.",
        ),
    ] = "Never",
    preemption_within_cluster_queue: Annotated[
        str,
        typer.Option(
            metavar="Never|LowerPriority|LowerOrNewerEqualPriority",
            help="Whether a pending workload that does not fit may preempt others of this queue.",
        ),
    ] = "Never",
    nominal_quota: Annotated[
        Listed, typer.Option(metavar="FLAVOR:RESOURCE=QTY[;...]", help="Quota of its own.")
    ] = None,
    borrowing_limit: Annotated[
        Listed, typer.Option(metavar="FLAVOR:RESOURCE=QTY[;...]", help="Most that it may borrow from its cohort.")
    ] = None,
    lending_limit: Annotated[
        Listed, typer.Option(metavar="FLAVOR:RESOURCE=QTY[;...]", help="Most that it lends to its cohort.")
    ] = None,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Create a ClusterQueue.

    Without --namespace-selector it takes workloads of every namespace.

    Examples:

    fedhub kueue create clusterqueue research

    fedhub kueue create clusterqueue research --cohort lab --queuing-strategy StrictFIFO --namespace-selector team=a

    fedhub kueue create cq research --nominal-quota "on-demand:cpu=9;memory=36Gi,spot:cpu=18;memory=72Gi"
    """
    from hub.cli.kueue import flavor_flags, quota_flags  # noqa: PLC0415 - slow imports wait
    from worker_agent.api.resource_type import CLUSTER_QUEUES  # noqa: PLC0415

    try:
        groups = quota_flags.resource_groups(nominal_quota or (), borrowing_limit or (), lending_limit or ())
        labels = flavor_flags.pairs("--namespace-selector", namespace_selector or ())
    except (quota_flags.QuotaFlagError, flavor_flags.FlavorFlagError) as error:
        output.fail(error, 2)
    spec: Document = {
        "cohortName": cohort,
        "queueingStrategy": queuing_strategy,
        "namespaceSelector": {"matchLabels": labels} if labels else {},
        "preemption": {
            "reclaimWithinCohort": reclaim_within_cohort,
            "withinClusterQueue": preemption_within_cluster_queue,
        },
        "resourceGroups": groups,
    }
    _create(CLUSTER_QUEUES, name, {key: value for key, value in spec.items() if value not in ("", [])}).run(
        connection, printing, dry_run
    )


@app.command("localqueue")
@app.command("lq", hidden=True)
@flag_groups.expanded
def local_queue(
    name: Name,
    connection: Connection,
    printing: Printing,
    clusterqueue: Annotated[
        str,
        typer.Option(
            "--clusterqueue",
            "-c",
            help="ClusterQueue that it submits to.",
            autocompletion=completion.cluster_queues(),
            show_default=False,
        ),
    ],
    ignore_unknown_cq: Annotated[
        bool, typer.Option("--ignore-unknown-cq", "-i", help="The ClusterQueue need not exist yet.")
    ] = False,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Create a LocalQueue in the namespace.

    Examples:

    fedhub kueue create localqueue team-a -n team-a -c research

    fedhub kueue create lq team-a -n team-a -c research --ignore-unknown-cq --dry-run server
    """
    from worker_agent.api.resource_type import CLUSTER_QUEUES, LOCAL_QUEUES  # noqa: PLC0415

    async def known(client: "Client") -> None:
        if not ignore_unknown_cq:
            await client.get(CLUSTER_QUEUES, clusterqueue)

    if not clusterqueue:
        output.fail("--clusterqueue: clusterqueue must be specified", 2)
    creation = _create(LOCAL_QUEUES, name, {"clusterQueue": clusterqueue})
    creation.precondition = known
    creation.run(connection, printing, dry_run)


@app.command("resourceflavor")
@app.command("rf", hidden=True)
@flag_groups.expanded
def resource_flavor(  # noqa: PLR0913, PLR0917 - the command's own options
    name: Name,
    connection: Connection,
    printing: Printing,
    node_labels: Annotated[Listed, typer.Option(metavar="KEY=VALUE", help="Labels of its nodes.")] = None,
    node_taints: Annotated[Listed, typer.Option(metavar="KEY[=VALUE]:EFFECT", help="Taints of its nodes.")] = None,
    tolerations: Annotated[
        Listed,
        typer.Option(metavar="KEY[=VALUE][:EFFECT]|:EFFECT", help="Tolerations that admitted pods get."),
    ] = None,
    dry_run: DryRunOption = DryRun.NONE,
) -> None:
    """Create a ResourceFlavor.

    Examples:

    fedhub kueue create resourceflavor arm --node-labels kubernetes.io/arch=arm64,kubernetes.io/os=linux

    fedhub kueue create rf spot --node-taints spot=true:NoSchedule --tolerations spot=true:NoSchedule
    """
    from hub.cli.kueue import flavor_flags  # noqa: PLC0415
    from worker_agent.api.resource_type import RESOURCE_FLAVORS  # noqa: PLC0415

    try:
        spec: Document = {
            "nodeLabels": flavor_flags.pairs("--node-labels", node_labels or ()),
            "nodeTaints": flavor_flags.taints(node_taints or ()),
            "tolerations": flavor_flags.tolerations(tolerations or ()),
        }
    except flavor_flags.FlavorFlagError as error:
        output.fail(error, 2)
    _create(RESOURCE_FLAVORS, name, {key: value for key, value in spec.items() if value}).run(
        connection, printing, dry_run
    )


def _create(resource: "ResourceType", name: str, spec: Document) -> writing.Creation:
    if not name:
        output.fail("name must be specified", 2)
    return writing.Creation(resource, name, spec)
