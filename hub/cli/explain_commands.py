"""``fedhub explain`` and ``fedhub what-if``: how each worker stands with a workload, and what would change it."""

import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hub.cli import manager_client, output, worker_contexts
from hub.cli.output import Format
from hub.cli.run_command import Config, Context, Kubeconfig
from worker_agent.cli.program_options import FeatureGates

if TYPE_CHECKING:
    from hub.app.explaining import FederationOutlook
    from hub.app.worker_reading import Asker
    from hub.engine.explanation import ClusterOutlook
    from worker_agent.api.document import Document
    from worker_agent.kube.client import Client

Output = Annotated[Format, typer.Option("--output", "-o", help="Output format.")]
Worker = Annotated[
    list[str] | None,
    typer.Option(
        "--worker",
        metavar="CLUSTER=CONTEXT",
        help="Read this worker by a context of your own kubeconfig, not by the hub's credential.",
    ),
]


def explain(  # noqa: PLR0913, PLR0917 - the command's own options
    workload: Annotated[str, typer.Argument(metavar="NAMESPACE/NAME", help="The workload on the manager, or its job.")],
    worker: Worker = None,
    config: Config = None,
    feature_gates: FeatureGates = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output_format: Output = Format.TABLE,
) -> None:
    """Say for every candidate cluster how a workload stands there, what is in the way, and what would let it in.

    Verdicts: FITS, AFTER_PREEMPTION, WAITS, IMPOSSIBLE, or UNKNOWN where a cluster cannot be read. Reads the manager
    with your rights, and workers with the credentials their MultiKueueClusters name (you need to read those Secrets) or
    with contexts of your own (--worker). Writes nothing. Exits with 1 where there is no answer, with 2 for wrong use.

    Examples:

    fedhub explain team-a/train-7

    fedhub explain team-a/train-7 -o wide --worker oregon=my-oregon-context

    fedhub explain team-a/train-7 -o json | jq '.clusters[] | {cluster, verdict, change}'
    """
    import msgspec  # noqa: PLC0415 - imports that take long wait until they are needed

    from hub.app import explaining  # noqa: PLC0415
    from worker_agent.api.meta import Key  # noqa: PLC0415
    from worker_agent.api.resource_type import WORKLOADS  # noqa: PLC0415
    from worker_agent.cli.explain_command import UnknownWorkload, named  # noqa: PLC0415

    key = Key.parse(workload)
    if not key.namespace or not key.name or "/" in key.namespace:
        output.fail(f"{workload!r}: must be NAMESPACE/NAME", 2)
    asker = asker_of(config, feature_gates, worker, kubeconfig)

    async def work(client: "Client") -> None:
        known = [msgspec.json.decode(raw) for raw in (await client.list(WORKLOADS, key.namespace)).items]
        try:
            found = named(known, key)
            manager = await explaining.Manager.read(client)
            told = await explaining.explain(manager, asker, found, submitted=True)
        except (UnknownWorkload, explaining.Unanswerable) as error:
            output.fail(error)
        _tell([told], output_format)

    manager_client.run(_closing(asker, work), kubeconfig, context)


def what_if(  # noqa: PLR0913, PLR0917 - the command's own options
    file: Annotated[
        Path, typer.Option("--filename", "-f", help="Manifest of one or more jobs; - reads from standard input.")
    ],
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            help="Of the jobs; empty takes their own, else that of the kubeconfig's context.",
            show_default=False,
        ),
    ] = "",
    worker: Worker = None,
    config: Config = None,
    feature_gates: FeatureGates = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output_format: Output = Format.TABLE,
) -> None:
    """Say how every candidate cluster would stand with a job that is not submitted, and what would let it in.

    Takes every kind of job that the hub runs (Job, JobSet, RayJob, PyTorchJob ...). Writes nothing. Reads as
    fedhub explain does. Exits with 1 where there is no answer, with 2 for wrong use.

    Examples:

    fedhub what-if -f train.yaml -n team-a

    helm template runs/ | fedhub what-if -f - -o yaml
    """
    from hub.app import explaining, hypothetical  # noqa: PLC0415 - imports that take long wait until they are needed

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
        documents = hypothetical.documents(text, namespace)
    except OSError as error:
        output.fail(f"--filename {file}: {error.strerror}", 2)
    except ValueError as error:
        output.fail(f"--filename {file}: {error}", 2)
    asker = asker_of(config, feature_gates, worker, kubeconfig)
    usual = namespace or manager_client.namespace(kubeconfig, context)

    async def work(client: "Client") -> None:
        classes = await hypothetical.priority_classes(client)
        policy = asker.configuration.sync.jobs
        made: list[Document] = []
        for each in documents:
            try:
                made.append(hypothetical.workload_of(each, usual, policy, classes))
            except hypothetical.BadManifest as error:
                output.fail(f"--filename {file}: {error}", 2)
        manager = await explaining.Manager.read(client)
        try:
            told = [await explaining.explain(manager, asker, each, submitted=False) for each in made]
        except explaining.Unanswerable as error:
            output.fail(error)
        _tell(told, output_format)

    manager_client.run(_closing(asker, work), kubeconfig, context)


def _closing(asker: "Asker", work: "Callable[[Client], Awaitable[None]]") -> "Callable[[Client], Awaitable[None]]":
    """``work``, and then the end of the connections of the asker's own contexts, which every question shares."""

    async def and_close(client: "Client") -> None:
        try:
            await worker_contexts.refuse_unknown(client, asker.own)
            await work(client)
        finally:
            for transport in asker.own.values():
                await transport.close()

    return and_close


def asker_of(config: Path | None, feature_gates: str, worker: list[str] | None, kubeconfig: Path | None) -> "Asker":
    from hub.app import configuration  # noqa: PLC0415 - imports that take long wait until they are needed
    from hub.app.worker_reading import Asker  # noqa: PLC0415
    from hub.clusters.worker_connection import transport_of  # noqa: PLC0415
    from hub.settings import HubSettings  # noqa: PLC0415
    from worker_agent.app.configuration import ConfigurationError  # noqa: PLC0415
    from worker_agent.cli import process  # noqa: PLC0415
    from worker_agent.engine.feature_gates import FeatureGateError  # noqa: PLC0415
    from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415
    from worker_agent.settings_source import SettingsError, load  # noqa: PLC0415

    contexts = worker_contexts.parse(worker)
    try:
        agent, federation = configuration.resolve(load(HubSettings, config, feature_gates))
        own = {cluster: process.connect(kubeconfig, name) for cluster, name in contexts.items()}
    except (SettingsError, ConfigurationError, FeatureGateError, KubeconfigError) as error:
        output.fail(error, 2)
    return Asker(federation, agent.policy, transport_of, own)


def _tell(told: "list[FederationOutlook]", format_: Format) -> None:
    if format_ in (Format.JSON, Format.YAML):
        import msgspec  # noqa: PLC0415

        plain = [msgspec.to_builtins(each) for each in told]
        output.structured(plain[0] if len(plain) == 1 else plain, format_)
        return
    for number, each in enumerate(told):
        if number:
            print()
        print(_headline(each))
        if each.clusters:
            _table(each, wide=format_ is Format.WIDE)


def _headline(told: "FederationOutlook") -> str:
    words = f"{told.workload}: {told.state.lower()}: {told.summary}"
    if told.cluster_queue:
        words += f" (ClusterQueue {told.cluster_queue}, as of {told.at})"
    return words + (f"; dispatch would choose {told.best}" if told.best else "")


def _table(told: "FederationOutlook", *, wide: bool) -> None:
    if not wide:
        output.entries(["cluster", "verdict", "in the way, and what would let it in"], map(_entry, told.clusters))
        return
    columns = ["cluster", "verdict", "blocker", "smallest change"]
    columns += ["exact", "ahead", "lost pod-seconds", "as of", "nodes as of", "other changes"]
    output.table(columns, [list(_cells(each)) for each in told.clusters])


def _entry(each: "ClusterOutlook") -> tuple[list[str], list[str]]:
    """What stands beside each other, and what stands below each other in the last column."""
    texts = (each.blocker.removeprefix(f"{each.verdict.lower()}: "), f"change: {each.change}" if each.change else "")
    return [each.cluster, each.verdict], [text for text in texts if text] or ["nothing"]


def _cells(each: "ClusterOutlook") -> Iterator[str]:
    yield from (
        each.cluster,
        each.verdict,
        each.blocker or "none",
        each.change or ("none needed" if each.verdict == "FITS" else "-"),
    )
    facts: tuple[Any, ...] = ("yes" if each.exact else "no", "-" if each.position is None else each.position)
    yield from map(str, (*facts, each.lost_pod_seconds, each.as_of or "-", each.nodes_as_of or "-"))
    yield "; ".join(each.other_changes) or "-"
