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
from typing import Any

PATIENCE_SECONDS = 120.0
ATTEMPTS = 3
STARTED = b"Ray runtime started"
ENVIRONMENT = {"RAY_AUTH_MODE": "disabled", "RAY_agent_register_timeout_ms": "120000"}
"""Of the cluster and of who connects to it: a local Ray earlier in the process leaves another mode behind."""
HEAD_ID = "f" * 51 + "0" * 5
AUTOSCALED = {
    "RAY_FAKE_CLUSTER": "1",
    "AUTOSCALER_UPDATE_INTERVAL_S": "1",
    "RAY_OVERRIDE_NODE_ID_FOR_TESTING": HEAD_ID,
}
"""Of a head whose autoscaler starts nodes as processes beside it, which Ray tells apart by given identities."""


@contextlib.contextmanager
def running(folder: Path, cpus: int, *, grows_to: int = 0) -> Iterator[str]:
    """The address of a head with so many CPUs, and an autoscaler where it ``grows_to`` nodes of one CPU besides."""
    port = free_port()
    environment = os.environ | ENVIRONMENT | (AUTOSCALED if grows_to else {})
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", f"--port={port}"]
    command += [
        "--node-ip-address=127.0.0.1",
        f"--num-cpus={cpus}",
        f"--temp-dir={folder}",
        "--include-dashboard=false",
        "--disable-usage-stats",
    ]
    if grows_to:
        configuration = folder / "autoscaling.json"
        configuration.write_text(json.dumps(_autoscaling(port, cpus, grows_to)))
        command.append(f"--autoscaling-config={configuration}")
    head = _started(command, environment, folder)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        _end(head)


def _autoscaling(port: int, head_cpus: int, nodes: int) -> dict[str, Any]:
    """What ``ray up`` would write for a cluster whose provider starts nodes on this machine."""
    provider = {
        "type": "fake_multinode",
        "head_node_id": HEAD_ID,
        "gcs_address": f"127.0.0.1:{port}",
        "use_node_id_as_ip": True,
        "disable_node_updaters": True,
        "disable_launch_config_check": True,
    }
    types = {
        "ray.head.default": {"resources": {"CPU": head_cpus}, "node_config": {}, "max_workers": 0},
        "worker": {"resources": {"CPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": nodes},
    }
    commands = ("initialization", "setup", "head_setup", "worker_setup", "head_start_ray", "worker_start_ray")
    return {
        "cluster_name": "grows",
        "provider": provider,
        "available_node_types": types,
        "head_node_type": "ray.head.default",
        "max_workers": nodes,
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": 5,
        "auth": {},
        "docker": {},
        "file_mounts": {},
        "cluster_synced_files": [],
        "file_mounts_sync_continuously": False,
        "rsync_exclude": [],
        "rsync_filter": [],
    } | {f"{name}_commands": [] for name in commands}


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
