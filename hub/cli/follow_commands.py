"""``fedhub logs``, ``pods`` and ``events``: a job of the manager, followed to the cluster where it runs."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hub.cli import manager_client, output, worker_contexts
from hub.cli.run_command import Context, Kubeconfig

if TYPE_CHECKING:
    from hub.app.job_following import JobOnManager, Sight
    from worker_agent.api.document import Document
    from worker_agent.api.meta import Key
    from worker_agent.kube.client import Client

NOTHING_RUNS: Final = 3
"""Exit code where the job exists and has no pods: it waits, or they are gone."""
CLUSTER_ANNOTATION: Final = "fedhub.dev/cluster"
"""On pods and events that are printed as JSON or YAML: where they are; empty on the manager."""


class ListFormat(StrEnum):
    """What ``--output`` takes; without it a table is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


Job = Annotated[str, typer.Argument(metavar="KIND/NAME", help="The job on the manager, or workload/NAME.")]
Namespace = Annotated[
    str,
    typer.Option("--namespace", "-n", help="Namespace of the job; empty takes the one of the kubeconfig's context."),
]
Worker = Annotated[
    list[str] | None,
    typer.Option(
        "--worker",
        metavar="CLUSTER=CONTEXT",
        help="Read this worker by a context of your own kubeconfig, not through the hub.",
    ),
]
Output = Annotated[ListFormat, typer.Option("--output", "-o", help="Output format.")]


def logs(  # noqa: PLR0913, PLR0917 - the command's own options
    job: Job,
    namespace: Namespace = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as more is written.")] = False,
    container: Annotated[str, typer.Option("--container", "-c", help="Empty takes the pod's default container.")] = "",
    tail: Annotated[int, typer.Option(min=-1, help="Only so many of the newest lines; -1 shows all.")] = -1,
    since: Annotated[str, typer.Option(help="Only what is newer than this, such as 30s, 5m or 2h.")] = "",
    previous: Annotated[bool, typer.Option("--previous", "-p", help="Of the container's life before.")] = False,
    pod: Annotated[str, typer.Option(help="Only this pod of the job.")] = "",
    all_pods: Annotated[bool, typer.Option("--all-pods", help="Of every pod of the job; sets --prefix.")] = False,
    all_containers: Annotated[bool, typer.Option("--all-containers", help="Of every container.")] = False,
    prefix: Annotated[bool, typer.Option("--prefix", help="Begin lines with their pod and container.")] = False,
    timestamps: Annotated[bool, typer.Option("--timestamps", help="Begin lines with their time.")] = False,
    max_log_requests: Annotated[int, typer.Option(min=1, help="Most logs to follow at a time.")] = 5,
    worker: Worker = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Print what a job writes, wherever it runs.

    The manager is read with your rights. A worker is read through the hub, which asks the manager whether you may get
    pods/log in the job's namespace there; or directly, with a context of your own (--worker). Of several pods the first
    is taken, unless --pod or --all-pods is given. Exits with 1 where it fails, with 2 for wrong use, with 3 where the
    job has no pods: it is not dispatched yet, or they are gone.

    Examples:

    fedhub logs job/train-7 -n team-a -f

    fedhub logs jobset/pretrain --all-pods --tail 20

    fedhub logs pytorchjob/tune -c pytorch --since 10m --previous
    """
    from hub.cli.log_output import LogPrinter, Selection  # noqa: PLC0415 - slow imports wait

    selection = Selection(container, pod, all_pods, all_containers, max_log_requests)
    printer = LogPrinter(prefix=prefix or all_pods)
    query = _query(follow, previous, timestamps, tail, since)

    async def work(following: "JobOnManager", sights: "list[Sight]") -> None:
        await printer.print(await following.pods(sights), selection, query)

    _run(work, job, (namespace, worker, kubeconfig, context))


def pods(
    job: Job,
    namespace: Namespace = "",
    worker: Worker = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output_format: Output = ListFormat.TABLE,
) -> None:
    """Show a job's pods, wherever it runs.

    Rights as for fedhub logs; asked for is list pods. Exits with 3 where the job has no pods and says why.

    Examples:

    fedhub pods job/train-7 -n team-a -o wide

    fedhub pods rayjob/tune -o json | jq '.items[].status.phase'
    """

    async def work(following: "JobOnManager", sights: "list[Sight]") -> None:
        found = await following.pods(sights)
        _tell_pods([(each.cluster, each.pod) for each in found], output_format)

    _run(work, job, (namespace, worker, kubeconfig, context))


def events(
    job: Job,
    namespace: Namespace = "",
    worker: Worker = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    output_format: Output = ListFormat.TABLE,
) -> None:
    """Show what happened to a job: events of the manager, and of its copy and its pods in the cluster where it runs.

    Rights as for fedhub logs; asked for is list events. Where a worker is away the others' events are shown, and the
    command says so and exits with 1.

    Examples:

    fedhub events job/train-7 -n team-a

    fedhub events workload/job-train-7-1f2e3 -o yaml
    """

    async def work(following: "JobOnManager", sights: "list[Sight]") -> None:
        found = await following.events(sights)
        for sight in sights:
            if sight.place.cluster is None:
                output.say(f"{sight.name} runs nowhere yet: {sight.place.why}")
        _tell_events(found, output_format)
        if unread := following.unread:
            output.fail("; ".join(f"no events of cluster {name}: {why}" for name, why in sorted(unread.items())))

    _run(work, job, (namespace, worker, kubeconfig, context))


def _query(follow: bool, previous: bool, timestamps: bool, tail: int, since: str) -> Any:
    from hub.app.remote_pods import LogQuery  # noqa: PLC0415
    from worker_agent.api import durations  # noqa: PLC0415

    if follow and previous:
        output.fail("--previous: what has ended is not followed; leave out --follow", 2)
    try:
        seconds = durations.parse(since).total_seconds() if since else None
    except ValueError as error:
        output.fail(f"--since: {error}", 2)
    if seconds is not None and seconds < 1:
        output.fail(f"--since {since}: must be at least 1s", 2)
    return LogQuery(
        "", follow, previous, timestamps, None if tail < 0 else tail, None if seconds is None else int(seconds)
    )


def _run(
    work: "Callable[[JobOnManager, list[Sight]], Awaitable[None]]",
    job: str,
    options: tuple[str, list[str] | None, Path | None, str],
) -> None:
    from hub.app.job_following import JobOnManager, NoSuchJob, NothingRuns  # noqa: PLC0415 - slow imports wait
    from worker_agent.api.meta import Key  # noqa: PLC0415

    namespace, worker, kubeconfig, context = options
    kind, name = _named(job)
    key = Key(namespace or manager_client.namespace(kubeconfig, context), name)
    _check_names(key)
    contexts = worker_contexts.parse(worker)

    async def with_job(client: "Client") -> None:
        await worker_contexts.refuse_unknown(client, contexts)
        async with _own_clients(contexts, kubeconfig) as own:
            following = JobOnManager(client, own)
            try:
                await work(following, await following.sights(kind, key))
            except NothingRuns as error:
                output.fail(error, NOTHING_RUNS)
            except NoSuchJob as error:
                output.fail(error)

    manager_client.run(with_job, kubeconfig, context)


def _named(job: str) -> tuple[str, str]:
    kind, separator, name = job.partition("/")
    if not separator or not kind or not name or "/" in name:
        output.fail(f"{job!r}: must be KIND/NAME, such as job/train-7", 2)
    return kind, name


def _check_names(key: "Key") -> None:
    """What is no name would lead to another path of the API."""
    from worker_agent.validation import formats  # noqa: PLC0415

    for option, text, problems in (
        ("--namespace", key.namespace, formats.dns_label(key.namespace)),
        ("KIND/NAME", key.name, formats.dns_subdomain(key.name)),
    ):
        if problems:
            output.fail(f"{option}: {text!r} is no name: {problems[0]}", 2)


@contextlib.asynccontextmanager
async def _own_clients(contexts: dict[str, str], kubeconfig: Path | None) -> "AsyncIterator[dict[str, Client]]":
    import asyncio  # noqa: PLC0415

    from worker_agent.cli import process  # noqa: PLC0415
    from worker_agent.kube.client import Client  # noqa: PLC0415
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415

    own = {
        cluster: Client(process.connect(kubeconfig, name), SystemClock(), user_agent="fedhub-cli")
        for cluster, name in contexts.items()
    }
    try:
        yield own
    finally:
        await asyncio.gather(*(client.close() for client in own.values()))


def _tell_pods(found: "list[tuple[str, Document]]", format_: ListFormat) -> None:
    from hub.local.apiserver.schema import pod_columns  # noqa: PLC0415
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415

    if _told_plainly(found, "pod", format_):
        return
    now = SystemClock().now()
    columns = ["name", "ready", "status", "restarts", "age", "cluster"]
    rows = []
    for cluster, pod in found:
        cells = [str(cell) for cell in pod_columns.cells(pod, now)]
        rows.append([*cells[:5], cluster or "-", *(cells[5:7] if format_ is ListFormat.WIDE else [])])
    output.table(columns + (["ip", "node"] if format_ is ListFormat.WIDE else []), rows)


def _tell_events(found: "list[tuple[str, Document]]", format_: ListFormat) -> None:
    from hub.engine import job_traces  # noqa: PLC0415
    from hub.local.apiserver.schema import ages  # noqa: PLC0415
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415

    if _told_plainly(found, "event", format_):
        return
    if not found:
        output.say("no events: they are kept for an hour or so")
        return
    now = SystemClock().now()
    wide = format_ is ListFormat.WIDE
    columns = ["last seen", "type", "reason", "object", "cluster", *(["source", "count"] if wide else []), "message"]
    rows = []
    for cluster, event in found:
        about = event.get("involvedObject") or {}
        cells = [ages.since(job_traces.last_seen(event), now), event.get("type") or "", event.get("reason") or ""]
        cells += [f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}", cluster or "-"]
        if wide:
            source = event.get("reportingComponent") or (event.get("source") or {}).get("component") or "-"
            cells += [source, str(event.get("count") or (event.get("series") or {}).get("count") or 1)]
        rows.append([*cells, " ".join(str(event.get("message") or "").split())])
    output.table(columns, rows)


def _told_plainly(found: "list[tuple[str, Document]]", kind: str, format_: ListFormat) -> bool:
    """The forms for programs; False where a table is wanted."""
    if format_ is ListFormat.NAME:
        for _, each in found:
            print(f"{kind}/{each['metadata']['name']}")
        return True
    if format_ not in (ListFormat.JSON, ListFormat.YAML):
        return False
    items = [_placed(cluster, each) for cluster, each in found]
    value = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}
    output.structured(value, output.Format(format_.value))
    return True


def _placed(cluster: str, document: "Document") -> "Document":
    metadata = document["metadata"]
    annotations = {**(metadata.get("annotations") or {}), CLUSTER_ANNOTATION: cluster}
    return {**document, "metadata": {**metadata, "annotations": annotations}}
