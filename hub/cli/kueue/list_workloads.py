"""``fedhub kueue list workload``: who waits, who runs, and where in the queue."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from hub.cli import flag_groups
from hub.cli.kueue import completion
from hub.cli.kueue.connection import Connection
from hub.cli.kueue.printing import Printing, Table
from hub.cli.kueue.selection import AllNamespaces, Selection, told_without_table
from worker_agent.api.document import Document

if TYPE_CHECKING:
    from worker_agent.kube.client import Client

LONGEST_TYPE: Final = 20
MOST_POSITIONS: Final = 100_000
"""What the visibility API tells at most."""
FEW: Final = 5
"""LocalQueues that are asked for one by one."""
_COLUMNS: Final = (
    "name",
    "job type",
    "job name",
    "localqueue",
    "clusterqueue",
    "status",
    "position in queue",
    "exec time",
    "age",
)
QueueKey = tuple[str, str]


class Status(StrEnum):
    """``--status``, in the order in which one hides the next."""

    ALL = "all"
    FINISHED = "finished"
    ADMITTED = "admitted"
    QUOTA_RESERVED = "quotareserved"
    PENDING = "pending"


_CONDITIONS: Final = {
    Status.FINISHED: "Finished",
    Status.ADMITTED: "Admitted",
    Status.QUOTA_RESERVED: "QuotaReserved",
}


def status_of(workload: Document) -> Status:
    """Where a workload stands, by its conditions."""
    for status, condition in _CONDITIONS.items():
        if (_condition(workload, condition) or {}).get("status") == "True":
            return status
    return Status.PENDING


@flag_groups.expanded
def workloads(  # noqa: PLR0913, PLR0917 - the command's own options
    connection: Connection,
    printing: Printing,
    selection: Selection,
    all_namespaces: AllNamespaces = False,
    clusterqueue: Annotated[
        str,
        typer.Option(
            "--clusterqueue",
            "-c",
            help="Only those that this ClusterQueue admitted.",
            autocompletion=completion.cluster_queues(),
            show_default=False,
        ),
    ] = "",
    localqueue: Annotated[
        str,
        typer.Option(
            "--localqueue",
            "-q",
            help="Only those of this LocalQueue.",
            autocompletion=completion.local_queues(),
            show_default=False,
        ),
    ] = "",
    status: Annotated[list[Status] | None, typer.Option("--status", case_sensitive=False, help="Repeatable.")] = None,
    for_: Annotated[
        str, typer.Option("--for", metavar="TYPE[.GROUP]/NAME", help="Only those of this job.", show_default=False)
    ] = "",
) -> None:
    """Show workloads.

    The position is that in the LocalQueue, counted from 0, as the visibility API tells it.

    Examples:

    fedhub kueue list workload -n team-a

    fedhub kueue list workload -A --status pending --clusterqueue research

    fedhub kueue list workload -n team-a --for job/train-7 -o yaml
    """
    from worker_agent.api.resource_type import WORKLOADS  # noqa: PLC0415 - slow imports wait

    printing.check()
    wanted = set(status or ())

    def kept(workload: Document) -> bool:
        queue = (workload.get("spec") or {}).get("queueName") or ""
        return (
            (not wanted or Status.ALL in wanted or status_of(workload) in wanted)
            and localqueue in ("", queue)
            and clusterqueue in ("", _admitted_by(workload))
        )

    async def work(client: "Client", namespace: str) -> None:
        where = "" if all_namespaces else namespace
        if for_:
            read = await _of_job(client, selection, where or namespace, for_)
        else:
            read = await selection.read(client, WORKLOADS, where)
        found = [workload for workload in read if kept(workload)]
        if told_without_table(printing, WORKLOADS, found, where):
            return
        rows = await _rows(client, found)
        namespaces = [each["metadata"]["namespace"] for each in found] if all_namespaces else None
        Table(_COLUMNS, rows, namespaces).show(headings=not selection.no_headers)

    connection.run(work)


async def _of_job(client: "Client", selection: Selection, namespace: str, text: str) -> list[Document]:
    """Workloads that bear the UID of the job, or where there are none, that it owns."""
    from hub.cli.kueue import job_argument  # noqa: PLC0415
    from worker_agent.api import names  # noqa: PLC0415
    from worker_agent.api.resource_type import WORKLOADS  # noqa: PLC0415

    job = await job_argument.read(client, namespace, text)
    if job is None:
        return []
    uid, namespace = job.document["metadata"]["uid"], job.document["metadata"].get("namespace", "")
    labelled = await selection.read(client, WORKLOADS, namespace, labels=f"{names.JOB_UID_LABEL}={uid}")
    if labelled:
        return labelled
    owned = await selection.read(client, WORKLOADS, namespace)
    return [each for each in owned if any(ref["uid"] == uid for ref in each["metadata"].get("ownerReferences") or ())]


@dataclass(slots=True)
class _Surroundings:
    """What a row tells beside the workload itself."""

    cluster_queues: dict[QueueKey, str]
    """Of LocalQueues that workloads without an admission wait in."""
    positions: dict[QueueKey, int]
    job_types: dict[tuple[str, str], str]
    now: datetime


async def _rows(client: "Client", found: list[Document]) -> list[list[str]]:
    from worker_agent.kube import discovery  # noqa: PLC0415
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415

    queues = await _cluster_queues(client, found)
    versions = {ref["apiVersion"] for each in found for ref in each["metadata"].get("ownerReferences") or ()}
    around = _Surroundings(
        queues,
        await _positions(client, found, queues),
        await discovery.singulars(client, versions),
        SystemClock().now(),
    )
    return [_row(each, around) for each in found]


async def _cluster_queues(client: "Client", found: Iterable[Document]) -> dict[QueueKey, str]:
    """By LocalQueue: a few are asked for, of many all are listed."""
    from worker_agent.api.resource_type import LOCAL_QUEUES  # noqa: PLC0415
    from worker_agent.kube.errors import NotFound  # noqa: PLC0415

    keys = {key for key in (_queue_key(each) for each in found if not _admitted_by(each)) if key[1]}
    documents: list[Document] = []
    if len(keys) > FEW:
        namespaces = {namespace for namespace, _ in keys}
        page = await client.list(LOCAL_QUEUES, namespaces.pop() if len(namespaces) == 1 else "")
        documents = [msgspec.json.decode(item) for item in page.items]
    else:
        for namespace, name in sorted(keys):
            with contextlib.suppress(NotFound):
                documents.append(msgspec.json.decode(await client.get(LOCAL_QUEUES, name, namespace)))
    named = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in documents}
    return {key: named[key]["spec"].get("clusterQueue") or "" for key in keys if key in named}


async def _positions(client: "Client", found: Iterable[Document], queues: dict[QueueKey, str]) -> dict[QueueKey, int]:
    """By namespace and name, where pending workloads stand; those of queues that nobody tells of are left out."""
    from worker_agent.kube.errors import ApiError  # noqa: PLC0415

    asked = {_cluster_queue_of(each, queues) for each in found if status_of(each) is Status.PENDING}
    positions: dict[QueueKey, int] = {}
    for queue in sorted(asked - {""}):
        try:
            items = await _pending(client, queue)
        except ApiError as error:
            if error.status not in (404, 503):
                raise
            continue  # nobody serves the visibility API, or not this queue
        for item in items:
            metadata = item["metadata"]
            positions[metadata["namespace"], metadata["name"]] = item.get("positionInLocalQueue") or 0
    return positions


async def _pending(client: "Client", queue: str) -> list[Document]:
    """All that wait there: without a limit of ours only the first thousand would be told of."""
    from urllib.parse import quote  # noqa: PLC0415

    from worker_agent.kube.transport import Request  # noqa: PLC0415

    path = f"/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/{quote(queue, safe='')}/pendingworkloads"
    request = Request("GET", path, (("limit", str(MOST_POSITIONS)),))
    return list(msgspec.json.decode(await client.raw(request)).get("items") or ())


def _row(workload: Document, around: _Surroundings) -> list[str]:
    from hub.local.apiserver.schema import ages  # noqa: PLC0415

    metadata = workload["metadata"]
    owners = metadata.get("ownerReferences") or ()
    types = {around.job_types.get((owner["apiVersion"], owner["kind"]), "") for owner in owners}
    position = around.positions.get((metadata["namespace"], metadata["name"]))
    return [
        metadata["name"],
        ", ".join(_shortened(each) for each in sorted(types) if each),
        ", ".join(sorted({owner["name"] for owner in owners})),
        _queue_key(workload)[1],
        _cluster_queue_of(workload, around.cluster_queues),
        status_of(workload).value.upper(),
        "" if position is None else str(position),
        _run_time(workload, around.now),
        ages.since(metadata.get("creationTimestamp"), around.now),
    ]


def _shortened(job_type: str) -> str:
    return job_type if len(job_type) <= LONGEST_TYPE else f"{job_type[:LONGEST_TYPE]}..."


def _run_time(workload: Document, now: datetime) -> str:
    from hub.local.apiserver.schema import ages  # noqa: PLC0415
    from worker_agent.api import timestamps  # noqa: PLC0415

    admitted, finished = _condition(workload, "Admitted"), _condition(workload, "Finished")
    if admitted is None or admitted["status"] != "True":
        return ""
    end = timestamps.parse(finished["lastTransitionTime"]) if finished and finished["status"] == "True" else now
    return ages.human((end - timestamps.parse(admitted["lastTransitionTime"])).total_seconds())


def _condition(workload: Document, type_: str) -> Any:
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each["type"] == type_), None)


def _admitted_by(workload: Document) -> str:
    admission = (workload.get("status") or {}).get("admission") or {}
    return str(admission.get("clusterQueue") or "")


def _queue_key(workload: Document) -> QueueKey:
    return workload["metadata"]["namespace"], str((workload.get("spec") or {}).get("queueName") or "")


def _cluster_queue_of(workload: Document, queues: dict[QueueKey, str]) -> str:
    return _admitted_by(workload) or queues.get(_queue_key(workload), "")
