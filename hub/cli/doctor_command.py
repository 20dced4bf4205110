"""``fedhub doctor``: what is wrong with an installation, and what to do about it."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from hub.cli import manager_client, output, worker_contexts
from hub.cli.explain_commands import Worker, asker_of
from hub.cli.output import Format
from hub.cli.run_command import Config, Context, Kubeconfig
from worker_agent.cli.counting import counted
from worker_agent.cli.program_options import FeatureGates

if TYPE_CHECKING:
    from hub.app.doctor.examination import Result
    from worker_agent.api.multikueue import MultiKueueCluster
    from worker_agent.kube.client import Client
    from worker_agent.kube.transport import Transport

Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        help="Where hub and agents are installed; without it, where their Deployments are.",
        show_default=False,
    ),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="Output format; wide shows what is well, too.")]


def doctor(  # noqa: PLR0913, PLR0917 - the command's own options
    worker: Worker = None,
    agent: Annotated[
        bool, typer.Option("--agent", help="Look at one cluster with an agent, not at a manager and its workers.")
    ] = False,
    namespace: Namespace = "",
    config: Config = None,
    feature_gates: FeatureGates = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output_format: Output = Format.TABLE,
) -> None:
    """Look at an installation, the hub's cluster and every worker, and name what is wrong and the remedy.

    Looks at programs and leases, definitions and their conversion, webhooks and certificates, rights, aggregated APIs,
    workers and their credentials, versions, clocks, queues and flavors, stuck finalizers, and Kueue running beside.
    Reads with your rights, and workers by the credentials of their MultiKueueClusters or your own contexts (--worker);
    what may not be read is said. Writes nothing. Exits with 1 where something is wrong, with 2 for wrong use.

    Examples:

    fedhub doctor --context manager

    fedhub doctor --context manager --worker oregon=my-oregon-context -o wide

    fedhub doctor --agent --context oregon -o json
    """
    from hub.app.doctor import examination  # noqa: PLC0415 - imports that take long wait until they are needed
    from hub.app.doctor.snapshot import Role  # noqa: PLC0415
    from hub.app.worker_reading import NeedsOwnContext, Reading  # noqa: PLC0415

    asker = asker_of(config, feature_gates, worker, kubeconfig)
    sick = False

    async def work(client: "Client") -> None:
        nonlocal sick

        async def reach(name: str, clusters: "Mapping[str, MultiKueueCluster]") -> "Transport":
            try:
                return await Reading(client, clusters, asker).transport(name)
            except NeedsOwnContext as error:
                raise examination.Unasked(str(error)) from None

        if agent:
            results = await examination.of_cluster(client, context or "this", Role.AGENT, namespace)
        else:
            await worker_contexts.refuse_unknown(client, asker.own)
            results = await examination.of_federation(client, namespace, reach)
        _tell(results, output_format)
        sick = not all(result.ok for result in results)

    manager_client.run(work, kubeconfig, context)
    if sick:
        raise typer.Exit(1)


def _tell(results: "list[Result]", format_: Format) -> None:
    import msgspec  # noqa: PLC0415

    if format_ in (Format.JSON, Format.YAML):
        output.structured({"ok": all(each.ok for each in results), "checks": msgspec.to_builtins(results)}, format_)
        return
    shown = sys.maxsize if format_ is Format.WIDE else ALIKE_SHOWN
    rows = [row for name in dict.fromkeys(each.cluster for each in results) for row in _rows(name, results, shown)]
    if format_ is Format.WIDE:
        rows += [
            ([result.cluster, result.check, "ok", "-"], ["nothing is wrong"])
            for result in results
            if not result.findings
        ]
    if rows:
        output.entries(["cluster", "check", "found", "object", "what is wrong, and the remedy"], rows)
    output.say(_summary(results))


ALIKE_SHOWN = 5
Row = tuple[list[str], list[str]]
"""What stands beside each other, and the sentences of the last column."""


def _rows(cluster: str, results: "list[Result]", shown: int) -> list[Row]:
    """What was found on one cluster. What is alike is one row with so many problems as are ``shown``, for it would hide
    the rest: what one remedy ends, of one object, and checks that could not be made."""
    here = [result for result in results if result.cluster == cluster]
    unread = [result for result in here if result.unread]
    alike = unread if len(unread) > 1 else []
    problems: dict[tuple[str, str, str, str], list[str]] = {}
    for result in here:
        for each in result.findings if result not in alike else ():
            problems.setdefault((result.check, each.severity.value, each.about, each.remedy), []).append(each.problem)
    rows: list[Row] = []
    for (check, severity, about, remedy), found in problems.items():
        rest = [f"and {len(found) - shown} more; -o wide tells all"] if len(found) > shown else []
        rows.append(([cluster, check, severity, about], [*found[:shown], *rest, f"remedy: {remedy}"]))
    return [*rows, _folded(cluster, alike)] if alike else rows


def _folded(cluster: str, unread: "list[Result]") -> Row:
    first = unread[0].findings[0]
    resources = dict.fromkeys(resource for result in unread for resource in result.unread)
    texts = [
        f"not looked at: {', '.join(result.check for result in unread)}",
        f"because these could not be read: {', '.join(resources)}",
        f"the server's words on the first: {first.problem.removeprefix('not looked at: ')}",
        f"remedy: {first.remedy}",
    ]
    return [cluster, counted(len(unread), "check"), first.severity.value, first.about], texts


def _summary(results: "list[Result]") -> str:
    clusters = counted(len({result.cluster for result in results}), "cluster")
    wrong = sum(each.severity.value != "note" for result in results for each in result.findings)
    unmade = sum(not result.made for result in results)
    words = f"{counted(wrong, 'problem')} found on {clusters}" if wrong else f"nothing is wrong on {clusters}"
    return words + (f", but {counted(unmade, 'check')} could not be made" if unmade else "")
