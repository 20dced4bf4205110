"""What a shell offers while a command is typed: names that the server and the kubeconfig know.

A server that is away or refuses offers nothing; completion never writes an error between what is typed.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import typer

if TYPE_CHECKING:
    from hub.cli.kueue.connection import Connection
    from worker_agent.api.resource_type import ResourceType

Names = Callable[[typer.Context, str], list[str]]
MOST: Final = 100
PATIENCE_SECONDS: Final = 5.0
"""How long a shell is kept waiting."""


def namespaces(context: typer.Context, incomplete: str) -> list[str]:
    from worker_agent.api.resource_type import NAMESPACES  # noqa: PLC0415 - slow imports wait

    return _starting(incomplete, _names(context, NAMESPACES))


def cluster_queues(active: bool | None = None) -> Names:
    """ClusterQueues; those that are stopped or not, where ``active`` says which."""

    def found(context: typer.Context, incomplete: str) -> list[str]:
        from worker_agent.api.resource_type import CLUSTER_QUEUES  # noqa: PLC0415

        return _starting(incomplete, _names(context, CLUSTER_QUEUES, lambda each: _runs(each, active)))

    return found


def local_queues(active: bool | None = None) -> Names:
    """LocalQueues of the namespace."""

    def found(context: typer.Context, incomplete: str) -> list[str]:
        from worker_agent.api.resource_type import LOCAL_QUEUES  # noqa: PLC0415

        return _starting(incomplete, _names(context, LOCAL_QUEUES, lambda each: _runs(each, active)))

    return found


def resource_flavors(context: typer.Context, incomplete: str) -> list[str]:
    from worker_agent.api.resource_type import RESOURCE_FLAVORS  # noqa: PLC0415

    return _starting(incomplete, _names(context, RESOURCE_FLAVORS))


def workloads(active: bool | None = None) -> Names:
    """Workloads of the namespace; those that may run or not, where ``active`` says which."""

    def found(context: typer.Context, incomplete: str) -> list[str]:
        from worker_agent.api.resource_type import WORKLOADS  # noqa: PLC0415

        def wanted(each: Any) -> bool:
            return active is None or (each.get("spec") or {}).get("active", True) == active

        typed = {name for value in context.params.values() if isinstance(value, list | tuple) for name in value}
        return [name for name in _starting(incomplete, _names(context, WORKLOADS, wanted)) if name not in typed]

    return found


def contexts(context: typer.Context, incomplete: str) -> list[str]:
    return _starting(incomplete, _entries(context, "contexts"))


def clusters(context: typer.Context, incomplete: str) -> list[str]:
    return _starting(incomplete, _entries(context, "clusters"))


def users(context: typer.Context, incomplete: str) -> list[str]:
    return _starting(incomplete, _entries(context, "users"))


def _starting(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _runs(queue: Any, active: bool | None) -> bool:
    stopped = (queue.get("spec") or {}).get("stopPolicy", "None") != "None"
    return active is None or stopped != active


def _names(
    context: typer.Context, resource: "ResourceType", wanted: Callable[[Any], bool] = lambda _: True
) -> list[str]:
    from worker_agent.kube.errors import ApiError  # noqa: PLC0415
    from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415

    try:
        documents = asyncio.run(_listed(_connection(context), resource))
    except (ApiError, ConnectionError, KubeconfigError, TimeoutError):
        return []
    return [each["metadata"]["name"] for each in documents if wanted(each)]


async def _listed(connection: "Connection", resource: "ResourceType") -> list[Any]:
    from worker_agent.kube import retry, verbs  # noqa: PLC0415
    from worker_agent.kube.client import Client  # noqa: PLC0415
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415

    namespace = connection.config().namespace if resource.namespaced else ""
    client = Client(connection.transport(), SystemClock(), retry_policy=retry.NEVER, timeout=PATIENCE_SECONDS)
    try:
        page = verbs.list_page(verbs.Target(resource, namespace), verbs.Selection(), size=MOST)
        return list(msgspec.json.decode(await client.raw(page)).get("items") or ())
    finally:
        await client.close()


def _entries(context: typer.Context, name: str) -> list[str]:
    import yaml  # noqa: PLC0415

    from worker_agent.kube import kubeconfig_files  # noqa: PLC0415
    from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415

    connection = _connection(context)
    files = [Path(connection.kubeconfig)] if connection.kubeconfig else kubeconfig_files.usual()
    try:
        document = yaml.safe_load(kubeconfig_files.merged(files))
    except KubeconfigError:
        return []
    return [entry["name"] for entry in document[name]]


def _connection(context: typer.Context) -> "Connection":
    from hub.cli.kueue.connection import Connection  # noqa: PLC0415 - it names these functions itself

    return Connection.of(context)
