"""The load on an API server: processes of their own with blocking sockets behind one selector, as cheap as Python goes.

Each function runs in a fresh process (``run_apart``), so that its CPU share can be told from the server's.
"""

import multiprocessing
import resource
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import Any

from tests.benchmarks import apiserver_objects

_PIECE = 256 * 1024
_PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens and the CA that its certificate is of."""

    host: str
    port: int
    authority: str


def run_apart(target: Callable[..., None], *arguments: Any) -> "Apart":
    """Start ``target(pipe, *arguments)`` in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    return Apart(process, ours)


@dataclass(slots=True)
class Apart:
    """A process that says ``"ready"`` when it is, waits for a word, and sends its result."""

    process: Any
    pipe: Pipe

    def ready(self) -> None:
        self.receive()

    def receive(self) -> Any:
        if not self.pipe.poll(_PATIENCE_SECONDS):
            raise TimeoutError("a process of the benchmark does not answer")
        return self.pipe.recv()

    def go(self) -> None:
        self.pipe.send("go")

    def finish(self) -> Any:
        found = self.receive()
        self.process.join()
        return found


@dataclass(slots=True)
class Line:
    """One client: a TLS connection that sends its next request when the answer to the last one is whole."""

    socket: ssl.SSLSocket
    requests: Iterator[bytes]
    received: bytearray = field(default_factory=bytearray)
    wanted: int = 0
    sent_at: float = 0.0
    waits: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def send(self) -> bool:
        """False when there is nothing left to send."""
        request = next(self.requests, None)
        if request is None:
            return False
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)
        return True

    def read(self) -> bool:
        """Whether the answer is whole now."""
        self.received += self.socket.recv(_PIECE)
        while self.socket.pending():
            self.received += self.socket.recv(_PIECE)
        if not self.wanted:
            end = self.received.find(b"\r\n\r\n")
            if end < 0:
                return False
            self.wanted = end + 4 + _length(bytes(self.received[:end]))
        if len(self.received) < self.wanted:
            return False
        self.waits.append(time.perf_counter() - self.sent_at)
        if self.received[9:10] != b"2":
            self.failed.append(self.received[:2000].decode(errors="replace"))
        self.received.clear()
        self.wanted = 0
        return True


def _length(head: bytes) -> int:
    at = head.lower().find(b"content-length:")
    if at < 0:
        raise ValueError(f"an answer without a length: {head.decode(errors='replace')}")
    return int(head[at + 15 :].split(b"\r\n", 1)[0])


def _connected(address: Address) -> ssl.SSLSocket:
    context = ssl.create_default_context(cadata=address.authority)
    plain = socket.create_connection((address.host, address.port))
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(plain, server_hostname=address.host)


def send_all(pipe: Pipe, address: Address, requests: Sequence[Sequence[bytes]]) -> None:
    """Send each client's requests one after the other, all clients at once; the result says how it went."""
    lines = [Line(_connected(address), iter(own)) for own in requests]
    pipe.send("ready")
    pipe.recv()
    started, used = time.monotonic(), time.process_time()
    _drive(lines)
    ended = time.monotonic()
    waits = sorted(wait for line in lines for wait in line.waits)
    pipe.send(
        {
            "requests": len(waits),
            "failed": [text for line in lines for text in line.failed],
            "started": started,
            "ended": ended,
            "cpu_s": time.process_time() - used,
            "p50_ms": round(waits[len(waits) // 2] * 1000, 2),
            "p99_ms": round(waits[int(len(waits) * 0.99)] * 1000, 2),
        }
    )


def _drive(lines: list[Line]) -> None:
    """Keep every client busy until it has nothing left to send."""
    with selectors.DefaultSelector() as ready:
        for line in lines:
            if line.send():
                ready.register(line.socket, selectors.EVENT_READ, line)
        while ready.get_map():
            for key, _ in ready.select():
                line = key.data
                if line.read() and not line.send():
                    ready.unregister(line.socket)


def write_kind(pipe: Pipe, address: Address, kind: str, clients: int, each: int) -> None:
    """``clients`` that make ``each`` of a kind (``apiserver_objects.WRITES``)."""
    made = [list(apiserver_objects.writes(kind, number, each)) for number in range(clients)]
    send_all(pipe, address, made)


def read_paths(pipe: Pipe, address: Address, paths: list[str], clients: int, each: int) -> None:
    """``clients`` that read ``each`` times, from the list of paths in turn."""
    made = [apiserver_objects.request("GET", path) for path in paths]
    requests = [[made[(number * each + turn) % len(made)] for turn in range(each)] for number in range(clients)]
    send_all(pipe, address, requests)


def watch_all(pipe: Pipe, address: Address, path: str, watches: int, events: int) -> None:
    """Open watches on a path, count the events of each, and say when the last of all had come."""
    lines = []
    for _ in range(watches):
        line = _connected(address)
        line.sendall(apiserver_objects.request("GET", path))
        line.recv(_PIECE)  # the head, and with it the beginning of the stream
        lines.append(line)
    pipe.send("ready")
    used = time.process_time()
    seen = dict.fromkeys(lines, 0)
    closing = dict.fromkeys(lines, False)
    octets = 0
    with selectors.DefaultSelector() as ready:
        for line in lines:
            ready.register(line, selectors.EVENT_READ)
        while ready.get_map():
            for key, _ in ready.select():
                line = key.fileobj
                while True:
                    piece = line.recv(_PIECE)
                    octets += len(piece)
                    seen[line] += piece.count(b"}\n") + (closing[line] and piece.startswith(b"\n"))
                    closing[line] = piece.endswith(b"}")
                    if not line.pending():
                        break
                if seen[line] >= events or not piece:
                    ready.unregister(line)
    ended = time.monotonic()
    pipe.send(
        {
            "events": sum(seen.values()),
            "octets": octets,
            "ended": ended,
            "cpu_s": time.process_time() - used,
            "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
    )
