"""``--worker CLUSTER=CONTEXT``: workers that a command reads by a context of the user's own kubeconfig."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from hub.cli import output

if TYPE_CHECKING:
    from worker_agent.kube.client import Client


def parse(given: Iterable[str] | None) -> dict[str, str]:
    """Contexts by cluster. Ends the command where one is not of that form."""
    found = {}
    for each in given or ():
        cluster, separator, name = each.partition("=")
        if not cluster or not separator or not name:
            output.fail(f"--worker {each}: must be CLUSTER=CONTEXT", 2)
        found[cluster] = name
    return found


async def refuse_unknown(manager: "Client", clusters: Collection[str]) -> None:
    """Ends the command where the manager knows no such cluster; who may not list them is taken at their word."""
    import msgspec  # noqa: PLC0415 - imports that take long wait until they are needed

    from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS  # noqa: PLC0415
    from worker_agent.kube.errors import Forbidden  # noqa: PLC0415

    if not clusters:
        return
    try:
        listed = await manager.list(MULTIKUEUE_CLUSTERS)
    except Forbidden:
        return
    known = sorted(msgspec.json.decode(raw)["metadata"]["name"] for raw in listed.items)
    for name in clusters:
        if name not in known:
            output.fail(f"--worker {name}: there is no such MultiKueueCluster; there are: {', '.join(known)}", 2)
