"""A Ray cluster of somebody else's for tests: its own processes and ports, ended by the process that started it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

PATIENCE_SECONDS = 120.0
ATTEMPTS = 3
STARTED = b"Ray runtime started"
ENVIRONMENT = {"RAY_AUTH_MODE": "disabled", "RAY_agent_register_timeout_ms": "120000"}
"""Of the cluster and of who connects to it: a local Ray earlier in the process leaves another mode behind."""

AUTOSCALER = {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_enable_autoscaler_v2": "0"}
_EMPTY_LISTS = (
    *(f"{when}setup_commands" for when in ("", "head_", "worker_")),
    *(f"{which}_start_ray_commands" for which in ("head", "worker")),
    "initialization_commands",
    "cluster_synced_files",
    "rsync_exclude",
    "rsync_filter",
)


@contextlib.contextmanager
def running(folder: Path, cpus: int) -> Iterator[str]:
    """The address of a head with so many CPUs."""
    with _head(folder, cpus, free_port(), ENVIRONMENT) as address:
        yield address


@contextlib.contextmanager
def autoscaled(folder: Path, most_workers: int) -> Iterator[str]:
    """The address of a head with one CPU, to which Ray's autoscaler adds nodes of one CPU each as they are asked for.

    The nodes are Ray's own stand-in for machines: processes on this one, started by the autoscaler.
    """
    port = free_port()
    one_cpu = {"resources": {"CPU": 1}, "node_config": {}}
    configuration = {
        "cluster_name": "growing",
        "max_workers": most_workers,
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": 5,
        "provider": {"type": "fake_multinode", "gcs_address": f"127.0.0.1:{port}"},
        "available_node_types": {
            "ray.head.default": {**one_cpu, "max_workers": 0},
            "worker": {**one_cpu, "min_workers": 0, "max_workers": most_workers},
        },
        "head_node_type": "ray.head.default",
        # What the autoscaler wants to be told although nothing is installed anywhere.
        "auth": {},
        "docker": {},
        "file_mounts": {},
        "file_mounts_sync_continuously": False,
        **dict.fromkeys(_EMPTY_LISTS, ()),
    }
    path = folder / "autoscaling.json"  # read as YAML, which JSON is
    path.write_text(json.dumps(configuration))
    with _head(folder, 1, port, ENVIRONMENT | AUTOSCALER, f"--autoscaling-config={path}") as address:
        try:
            yield address
        finally:
            _end_nodes(folder)


def _end_nodes(folder: Path) -> None:
    """The autoscaler's nodes are no children of the head; everything of theirs names the folder of this cluster."""
    for process in psutil.process_iter(["cmdline"]):
        if any(str(folder) in part for part in process.info["cmdline"] or ()) and "ray" in process.info["cmdline"][0]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


@contextlib.contextmanager
def _head(folder: Path, cpus: int, port: int, variables: dict[str, str], *more: str) -> Iterator[str]:
    environment = os.environ | variables
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", f"--port={port}"]
    command += [
        "--node-ip-address=127.0.0.1",
        f"--num-cpus={cpus}",
        f"--temp-dir={folder}",
        "--include-dashboard=false",
        "--disable-usage-stats",
        *more,
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
