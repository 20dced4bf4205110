"""``fedhub kueue list pods``: the pods of a job, as the server prints them."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from hub.cli import flag_groups, output
from hub.cli.kueue.connection import Connection
from hub.cli.kueue.printing import Printing, Table
from hub.cli.kueue.selection import AllNamespaces, Selection, none_found
from worker_agent.api.document import Document

if TYPE_CHECKING:
    from hub.cli.kueue.job_argument import Job
    from worker_agent.kube.client import Client

_AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@flag_groups.expanded
def pods(
    connection: Connection,
    printing: Printing,
    selection: Selection,
    for_: Annotated[str, typer.Option("--for", metavar="TYPE[.GROUP]/NAME", help="The job.", show_default=False)],
    all_namespaces: AllNamespaces = False,
) -> None:
    """Show the pods of a job that runs on this cluster; of a pod, all pods of its group.

    Those of a job that the hub sent elsewhere: fedhub pods TYPE/NAME.

    Examples:

    fedhub kueue list pods --for job/train-7 -n team-a

    fedhub kueue list pods --for pytorchjob.kubeflow.org/tune -o wide
    """
    from worker_agent.api.resource_type import PODS  # noqa: PLC0415 - slow imports wait

    printing.check(wide=True)

    async def work(client: "Client", namespace: str) -> None:
        from hub.cli.kueue import job_argument  # noqa: PLC0415

        where = "" if all_namespaces else namespace
        job = await job_argument.read(client, namespace, for_)
        if job is None:
            none_found(where)
            return
        labels = ",".join(f"{name}={value}" for name, value in _pod_labels(job).items())
        if printing.format not in ("", "wide"):
            found = await selection.read(client, PODS, where, labels=labels)
            for pod in found:
                printing.one(pod)
            shown = bool(found)
        else:
            shown = await _table(client, selection, where, labels, wide=printing.format == "wide")
        if not shown:
            none_found(where)

    connection.run(work)


def _pod_labels(job: "Job") -> dict[str, str]:
    from worker_agent.jobs import KINDS  # noqa: PLC0415

    found = next(
        (
            kind.pod_labels(job.document)
            for kind in KINDS.values()
            if (kind.resource.group, kind.resource.kind) == (job.resource.group, job.resource.kind)
        ),
        None,
    )
    if not found:
        output.fail(
            f"unsupported kind: {job.resource.kind}: what labels the pods of {job.document['metadata']['name']} bear"
            " is not known here (yet)"
        )
    return found


async def _table(client: "Client", selection: Selection, namespace: str, labels: str, *, wide: bool) -> bool:
    """Whether there was anything to print."""
    from worker_agent.api.resource_type import PODS  # noqa: PLC0415
    from worker_agent.kube import verbs  # noqa: PLC0415
    from worker_agent.kube.transport import Request  # noqa: PLC0415

    chosen = verbs.Selection(",".join(filter(None, (selection.selector, labels))), selection.field_selector)
    columns: list[Any] = []
    rows: list[Document] = []
    token = ""
    while True:
        page = verbs.list_page(verbs.Target(PODS, namespace), chosen, token, selection.page_size())
        request = Request(page.method, page.path, page.query, {"accept": _AS_TABLE})
        answer = msgspec.json.decode(await client.raw(request))
        columns = columns or answer.get("columnDefinitions") or []
        rows += answer.get("rows") or []
        token = (answer.get("metadata") or {}).get("continue") or ""
        if not token:
            break
    kept = [index for index, column in enumerate(columns) if wide or not column.get("priority")]
    cells = [[str(row["cells"][index]) for index in kept] for row in rows]
    namespaces = None if namespace else [row["object"]["metadata"]["namespace"] for row in rows]
    if rows:
        names = [columns[index]["name"] for index in kept]
        Table(names, cells, namespaces).show(headings=not selection.no_headers)
    return bool(rows)
