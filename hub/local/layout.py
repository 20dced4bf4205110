"""Where a local federation keeps its things: one folder, so that stopping and deleting it leaves nothing behind."""

import fcntl
import os
import secrets
import socket
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_FIRST_PORT: Final = 12_000
_LAST_PORT: Final = 31_999


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

    def account_kubeconfig(self, name: str, account: str) -> Path:
        """Of a real cluster: with the rights of one program."""
        return self.cluster(name) / f"{account}.kubeconfig"

    def configuration(self, program: str) -> Path:
        """The settings file of a hub or agent."""
        return self.root / "settings" / f"{program}.yaml"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def log(self, program: str) -> Path:
        return self.logs / f"{program}.log"


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on now.

    Below the range that operating systems give to outgoing connections, so that none of those takes one before its
    program listens; drawn at random, so that two federations started together rarely meet. None is given twice by one
    process, nor to another of the same user for as long as this one lives: the program that got it may not listen yet.
    """
    found: list[int] = []
    while len(found) < count:
        port = _FIRST_PORT + secrets.randbelow(_LAST_PORT - _FIRST_PORT + 1)
        if port not in _given and _is_reserved(port) and _is_free(port):
            _given.add(port)
            found.append(port)
    return found


_given: set[int] = set()


def _is_reserved(port: int) -> bool:
    """Whether the port is ours now: no other process has drawn it and lives. True where that cannot be told."""
    file = _reservations()
    if file is None:
        return True
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except (BlockingIOError, PermissionError):  # the two ways in which systems say that another holds it
        return False
    except OSError:  # not every file system keeps locks
        return True
    return True


@cache
def _reservations() -> int | None:
    """A file of which a byte is locked for each port. It stays open: closing it would give every lock back.

    None where there is no place for it, or somebody else's file stands there.
    """
    try:
        path = Path(tempfile.gettempdir()) / f"fedhub-ports-{os.getuid()}"
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None


def _is_free(port: int) -> bool:
    with socket.socket() as holder:
        try:
            holder.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
