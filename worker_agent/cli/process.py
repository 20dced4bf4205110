"""What both programs do around their work: logging, the connection to their API server, signals, exit codes."""

import asyncio
import errno
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from worker_agent.app.configuration import ConfigurationError
from worker_agent.cli.program_log import LogOptionError, LogOptions, ProgramLog
from worker_agent.engine.feature_gates import FeatureGateError
from worker_agent.kube import exec_transport, kubeconfig, kubeconfig_files, kubernetes_transport
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.kubeconfig import Choice, ClusterConfig, KubeconfigError
from worker_agent.kube.transport import Transport

Run = Callable[[Transport, asyncio.Event], Awaitable[None]]
"""The program: works until the event is set, then stops in good order."""


def main(run: Run, kubeconfig_path: Path | None, context: str, options: LogOptions) -> int:
    """Runs the program until SIGTERM or SIGINT; returns its exit code. SIGUSR1 changes the level of its log.

    0 after a graceful stop, 2 for wrong settings or credentials, 1 for any other failure.
    """
    try:
        log = ProgramLog(options)
    except LogOptionError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    log.start()
    # A long engine cycle holds the interpreter; with the default of 5 ms requests beside it wait six times as long.
    sys.setswitchinterval(0.0005)
    try:
        transport = connect_program(kubeconfig_path, context)
    except KubeconfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return asyncio.run(_until_signalled(run, transport, log))


def connect_program(path: Path | None, context: str) -> Transport:
    """The connection of a program that runs on, which starts no other. Raises KubeconfigError."""
    return kubernetes_transport.connect(configuration(path, Choice(context)))


def connect(path: Path | None, context: str) -> Transport:
    """A user's connection to what ``own_configuration`` finds. Raises KubeconfigError."""
    return exec_transport.connect(own_configuration(path, context))


def own_configuration(path: Path | None, context: str) -> ClusterConfig:
    """For a command of a user: the API server of ``path``, else of the files that kubectl reads, which may name a
    credential plugin, else of the pod this runs in. Raises KubeconfigError."""
    choice = Choice(context, exec_plugins=True)
    return kubeconfig.load(path, choice) if path else kubeconfig_files.own(choice)


def configuration(path: Path | None, choice: Choice) -> ClusterConfig:
    """For a program: the API server of ``path``, else of KUBECONFIG, else of the pod this runs in, else of
    ``~/.kube/config``. Raises KubeconfigError."""
    if path:
        return kubeconfig.load(path, choice)
    in_a_pod = bool(os.environ.get("KUBERNETES_SERVICE_HOST"))
    return kubeconfig.in_cluster() if in_a_pod and not os.environ.get("KUBECONFIG") else kubeconfig_files.own(choice)


def with_client(
    work: Callable[[Client], Awaitable[None]], kubeconfig_path: Path | None, context: str, user_agent: str
) -> None:
    """One command's ``work`` with a client that is closed afterwards. Raises KubeconfigError, ApiError, ConnectionError
    and what ``work`` raises."""

    async def with_open_client() -> None:
        client = Client(connect(kubeconfig_path, context), SystemClock(), user_agent=user_agent)
        try:
            await work(client)
        finally:
            await client.close()

    asyncio.run(with_open_client())


async def _until_signalled(run: Run, transport: Transport, log: ProgramLog) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, log.toggle)
    try:
        await run(transport, stop)
    except (ConfigurationError, FeatureGateError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        if occupied := _occupied(error):
            print(f"error: {occupied}; free the address or name another in the settings", file=sys.stderr)
            return 1
        logging.getLogger("fedhub").exception("ended by an error that nothing handled")
        return 1
    finally:
        await transport.close()
    return 0


def _occupied(error: BaseException) -> str:
    """What says that an address to listen on is taken; empty for every other failure."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := _occupied(inner))), "")
    taken = isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES)
    return str(error.strerror) if taken and isinstance(error, OSError) else ""
