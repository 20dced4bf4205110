"""Where a local federation keeps its things: one folder, so that stopping and deleting it leaves nothing behind."""

import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths under the state folder ``root`` (by default ``.fedhub`` in the working directory)."""

    root: Path

    @property
    def processes(self) -> Path:
        return self.root / "processes.json"

    @property
    def kubeconfig(self) -> Path:
        """All clusters in one file, a context each."""
        return self.root / "kubeconfig"

    def cluster(self, name: str) -> Path:
        return self.root / "clusters" / name

    def cluster_configuration(self, name: str) -> Path:
        return self.cluster(name) / "cluster.json"

    def cluster_kubeconfig(self, name: str) -> Path:
        return self.cluster(name) / "kubeconfig"

    def configuration(self, program: str) -> Path:
        """The settings file of a hub or agent."""
        return self.root / "settings" / f"{program}.yaml"

    def log(self, program: str) -> Path:
        return self.root / "logs" / f"{program}.log"


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on now; held together until all are found, so that they differ."""
    holders = [socket.socket() for _ in range(count)]
    try:
        for holder in holders:
            holder.bind(("127.0.0.1", 0))
        return [holder.getsockname()[1] for holder in holders]
    finally:
        for holder in holders:
            holder.close()
