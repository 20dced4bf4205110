"""Two replicas of a program of a local federation, of which one leads."""

import asyncio
import json
import math
import re
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from hub.local import layout, processes, programs
from hub.local.federation import Federation
from hub.local.programs import Program
from tests.balancer import Balancer

PATIENCE_SECONDS = 120.0


@dataclass
class Replica:
    """One running program. Its settings name the ports it serves on."""

    name: str
    argv: list[str]
    settings: dict[str, Any]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        self._launch()
        port = int(self.settings["health"]["healthProbeBindAddress"].rpartition(":")[2])
        await until(partial(programs.answers, port, "/readyz"), f"{self.name} serves")

    def _launch(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, *self.argv],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=processes.surroundings(),
            )

    def kill(self) -> None:
        """As a crash of the machine: at once, with nothing told to anybody."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self, patience: float = 30.0) -> tuple[int, float]:
        """SIGTERM, as a kubelet sends it; the exit code, and the seconds it took."""
        assert self.process is not None
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience), time.monotonic() - started

    def metrics(self) -> str:
        address = self.settings["metrics"]["bindAddress"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
            return str(answer.read().decode())

    async def role(self) -> str:
        """As its metrics tell it; empty while it does not answer."""
        try:
            text = await asyncio.to_thread(self.metrics)
        except OSError:
            return ""
        found = re.search(r'kueue_cluster_queue_status\{.*replica_role="(\w+)"', text)
        return found[1] if found else ""

    async def shows(self, sample: str) -> bool:
        """Whether that line stands among its metrics."""
        try:
            return sample in (await asyncio.to_thread(self.metrics)).splitlines()
        except OSError:
            return False

    def seconds_until(self, word: str, since: datetime) -> float:
        """From ``since`` to the first line of its log with that word; infinite when there is none."""
        for line in self.log.read_text().splitlines():
            if word in line and line.startswith("{"):
                at = datetime.fromisoformat(json.loads(line)["ts"])
                if at >= since:
                    return (at - since).total_seconds()
        return math.inf

    async def leads(self) -> bool:
        return await self.role() == "leader"

    async def follows(self) -> bool:
        """It is told with the queues, which a replica knows of a moment after it is ready."""
        return await self.role() == "follower"


@dataclass
class Pair:
    """``leader`` was started first; ``standby`` follows. Callers of the webhooks, and agents that dial a hub, reach
    either of them."""

    leader: Replica
    standby: Replica
    all: list[Replica]
    services: list[Balancer]

    @classmethod
    async def of(cls, federation: Federation, name: str) -> "Pair":
        """Two replicas in the place of a program that ran alone."""
        processes.stop([federation.running.pop(name)])
        webhooks, door = Balancer(), Balancer(_door_port(federation, name))
        services = [webhooks, *([door] if door.port else [])]
        for service in services:
            await service.start()
        made = [_replica(federation, federation.programs[name], letter, (webhooks, door)) for letter in "ab"]
        pair = cls(*made, made, services)
        await pair.leader.start()
        await until(pair.leader.leads, f"{pair.leader.name} leads")
        await pair.standby.start()
        return pair

    async def close(self) -> None:
        for service in self.services:
            await service.stop()
        for replica in self.all:
            if replica.process is not None and replica.process.poll() is None:
                replica.kill()


def _door_port(federation: Federation, name: str) -> int:
    """Where agents that dial in look for this program; 0 where none do."""
    settings = yaml.safe_load(federation.layout.configuration(name).read_text())
    addresses = settings.get("federation", {}).get("agents", {}).get("addresses") or [""]
    return urlsplit(addresses[0]).port or 0


def _replica(federation: Federation, program: Program, letter: str, services: tuple[Balancer, Balancer]) -> Replica:
    webhooks, door = services
    name = f"{program.name}-{letter}"
    settings = yaml.safe_load(federation.layout.configuration(program.name).read_text())
    health, metrics, webhook, visibility, views, agents = layout.free_ports(6)
    settings["leaderElection"] = {"leaderElect": True}
    settings["health"]["healthProbeBindAddress"] = f"127.0.0.1:{health}"
    settings["metrics"]["bindAddress"] = f"127.0.0.1:{metrics}"
    settings["webhook"] = {"host": "127.0.0.1", "port": webhook, "url": f"https://127.0.0.1:{webhooks.port}"}
    webhooks.ports.append(webhook)
    settings["visibilityServer"]["bindPort"] = visibility
    if "federation" in settings:
        settings["federation"]["jobViews"]["bindAddress"] = f"127.0.0.1:{views}"
    if door.port:
        settings["federation"]["agents"]["bindAddress"] = f"127.0.0.1:{agents}"
        door.ports.append(agents)
    path = federation.layout.configuration(name)
    path.write_text(yaml.safe_dump(settings))
    old = str(federation.layout.configuration(program.name))
    argv = [str(path) if word == old else word for word in program.argv]
    argv = [word for word in argv if word not in ("--zap-encoder", "console")]
    return Replica(name, argv, settings, federation.layout.log(name))


async def until(condition: Any, what: str, patience: float = PATIENCE_SECONDS) -> float:
    """Seconds until the coroutine function answers true."""
    started = time.monotonic()
    while not await condition():
        if time.monotonic() - started > patience:
            raise AssertionError(f"did not come about in {patience:g} s: {what}")
        await asyncio.sleep(0.1)
    return time.monotonic() - started
