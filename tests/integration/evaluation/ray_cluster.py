"""A Ray cluster of somebody else's for tests: its own processes and ports, ended by the process that started it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE_SECONDS = 120.0
ATTEMPTS = 3
STARTED = b"Ray runtime started"
ENVIRONMENT = {"RAY_AUTH_MODE": "disabled", "RAY_agent_register_timeout_ms": "120000"}
"""Of the cluster and of who connects to it: a local Ray earlier in the process leaves another mode behind."""


@contextlib.contextmanager
def running(folder: Path, cpus: int) -> Iterator[str]:
    """The address of a head with so many CPUs."""
    port = free_port()
    environment = os.environ | ENVIRONMENT
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", f"--port={port}"]
    command += [
        "--node-ip-address=127.0.0.1",
        f"--num-cpus={cpus}",
        f"--temp-dir={folder}",
        "--include-dashboard=false",
        "--disable-usage-stats",
    ]
    head = _started(command, environment, folder)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        _end(head)


def _started(command: list[str], environment: dict[str, str], folder: Path) -> subprocess.Popen[bytes]:
    """Ray allows its node 30 s, which a busy machine may need to load its modules for the first time."""
    for _ in range(ATTEMPTS):
        with (folder / "ray.log").open("wb") as log:
            head = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while head.poll() is None and time.monotonic() < deadline:
            if STARTED in (folder / "ray.log").read_bytes():
                return head
            time.sleep(0.2)
        _end(head)
    told = (folder / "ray.log").read_text()
    raise TimeoutError(f"Ray did not start in {ATTEMPTS} attempts; the last one said: {told[-500:]}")


def _end(head: subprocess.Popen[bytes]) -> None:
    head.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        head.wait(30)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(head.pid, signal.SIGKILL)
    head.wait(30)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
