"""Child processes of a local federation: started in the background, remembered on disk, stopped by id and birth.

A pid alone is not trusted: it may have gone to another program since. Every record keeps the start time of its process
as the operating system tells it, and only a process that matches both is ever signalled.
"""

import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import psutil


@dataclass(frozen=True, slots=True)
class Process:
    """One started program. ``born`` is its start time in seconds since the epoch."""

    name: str
    pid: int
    born: float
    argv: tuple[str, ...]
    log: str

    def handle(self) -> psutil.Process | None:
        """The live process, or None when it has ended (zombies count as ended)."""
        try:
            found = psutil.Process(self.pid)
            if abs(found.create_time() - self.born) > 1.0 or found.status() == psutil.STATUS_ZOMBIE:
                return None
        except psutil.NoSuchProcess:
            return None
        return found

    @property
    def alive(self) -> bool:
        return self.handle() is not None


def start(name: str, argv: list[str], log: Path, environment: dict[str, str] | None = None) -> Process:
    """Runs ``python argv...`` in a session of its own (a terminal's Ctrl-C does not reach it), output into ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, *argv]
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**surroundings(), **(environment or {})},
        )
    process = Process(name, child.pid, psutil.Process(child.pid).create_time(), tuple(argv), str(log))
    _children[process.pid, process.born] = child
    return process


def surroundings() -> dict[str, str]:
    """This process's environment, for programs of which many are started and started again.

    Where Python is told not to keep compiled modules, compiling is half of what a start costs, each time. They are kept
    with the interpreter's own installation then, not beside the sources.
    """
    environment = dict(os.environ)
    if environment.pop("PYTHONDONTWRITEBYTECODE", ""):
        environment.setdefault("PYTHONPYCACHEPREFIX", str(Path(sys.prefix) / "compiled"))
    return environment


_children: dict[tuple[int, float], subprocess.Popen[bytes]] = {}
"""Children of this very process, kept so that they can be reaped."""


def stop(processes: list[Process], timeout_seconds: float = 10.0) -> None:
    """Asks all to end (SIGTERM, in the order given), waits, and kills what is left."""
    handles = [handle for process in processes if (handle := process.handle())]
    for handle in handles:
        _signal(handle, signal.SIGTERM)
    _, left = psutil.wait_procs(handles, timeout=timeout_seconds)
    for handle in left:
        _signal(handle, signal.SIGKILL)
    psutil.wait_procs(left, timeout=timeout_seconds)
    for process in processes:
        if child := _children.pop((process.pid, process.born), None):
            child.wait(timeout=timeout_seconds)


def kill(process: Process) -> None:
    """SIGKILL, at once: what a crash looks like from outside."""
    if handle := process.handle():
        _signal(handle, signal.SIGKILL)
        psutil.wait_procs([handle], timeout=10.0)
    if child := _children.pop((process.pid, process.born), None):
        child.wait(timeout=10.0)


def _signal(handle: psutil.Process, number: signal.Signals) -> None:
    try:
        handle.send_signal(number)
    except psutil.NoSuchProcess:
        return


def save(path: Path, processes: list[Process]) -> None:
    """Writes the records in one step, so that a reader never sees half of them."""
    temporary = path.with_suffix(".part")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode([asdict(process) for process in processes])))
    temporary.replace(path)


def saved(path: Path) -> list[Process]:
    """The records written before; none where there is no file."""
    return msgspec.json.decode(path.read_bytes(), type=list[Process]) if path.exists() else []
