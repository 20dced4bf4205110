"""A client on the manager cluster for commands that read and write a little and end."""

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hub.cli import output

if TYPE_CHECKING:
    from worker_agent.kube.client import Client
    from worker_agent.kube.transport import Transport


def run(work: Callable[["Client"], Awaitable[None]], kubeconfig: Path | None, context: str) -> None:
    """Does ``work`` with a client. A server that refuses or is away ends the command with a line and exit code 1;
    whoever reads what we print and has seen enough ends it in silence."""
    from worker_agent.cli import process  # noqa: PLC0415 - imports that take long wait until they are needed
    from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415

    try:
        _ended(lambda: process.with_client(work, kubeconfig, context, "fedhub-cli"))
    except KubeconfigError as error:
        output.fail(error, 2)


def namespace(kubeconfig: Path | None, context: str) -> str:
    """Where a command works that is told of none: the namespace of the context. Ends the command where there is no
    such context."""
    from worker_agent.cli import process  # noqa: PLC0415
    from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415

    try:
        return process.own_configuration(kubeconfig, context).namespace
    except KubeconfigError as error:
        output.fail(error, 2)


def run_on(transport: "Transport", work: Callable[["Client"], Awaitable[None]], user_agent: str) -> None:
    """The same with a connection of the caller's, which is closed."""
    import asyncio  # noqa: PLC0415

    from worker_agent.kube.client import Client  # noqa: PLC0415
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415

    async def with_open_client() -> None:
        client = Client(transport, SystemClock(), user_agent=user_agent)
        try:
            await work(client)
        finally:
            await client.close()

    _ended(lambda: asyncio.run(with_open_client()))


def _ended(command: Callable[[], None]) -> None:
    from worker_agent.kube.errors import ApiError  # noqa: PLC0415
    from worker_agent.kube.exec_plugin import PluginError  # noqa: PLC0415

    try:
        command()
    except ApiError as error:
        output.fail(error.message)
    except BrokenPipeError:
        # Who reads has seen enough; without this the interpreter would complain on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except PluginError as error:
        output.fail(error)
    except ConnectionError as error:
        output.fail(f"the API server cannot be reached: {error}")
