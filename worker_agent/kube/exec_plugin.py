"""Credential plugins: programs that print how to log in to a cluster (client.authentication.k8s.io, v1 and v1beta1).

What a plugin prints is a secret, and what it says on its error stream may be one: neither is ever quoted. A user's own
plugin speaks to the user's terminal, as under kubectl.
"""

import asyncio
import contextlib
import json
import os
import signal
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, BinaryIO, Final

import msgspec

from worker_agent.api import timestamps

PATIENCE_SECONDS: Final = 60.0
"""A plugin that takes longer is ended."""

LARGEST_ANSWER_BYTES: Final = 1 << 20
"""A credential is a few kilobytes; a plugin that prints without end shall not fill the memory."""

INFO_VARIABLE: Final = "KUBERNETES_EXEC_INFO"


class PluginError(ConnectionError):
    """The plugin gave no credential; the text is the one that users of kubectl know, where it has one."""


class Terminal(Enum):
    """What a plugin has of the terminal of who asked."""

    NONE = "nothing: it runs for a program"
    TOLD = "its error stream, by which it tells the user something"
    ASKED = "standard input too, by which the user answers, in the user's own time"


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A command to run, and what it is told. ``cluster`` is ``spec.cluster`` as JSON, empty where it is not told.

    Environment and arguments may hold secrets and stay out of ``repr``.
    """

    command: str
    api_version: str
    args: tuple[str, ...] = field(default=(), repr=False)
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    install_hint: str = ""
    cluster: str = field(default="", repr=False)
    terminal: Terminal = Terminal.NONE


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """A token, or a client certificate with its key (PEM), or both. ``expires`` None is good until it is refused."""

    token: str = field(default="", repr=False)
    client_certificate: bytes = field(default=b"", repr=False)
    client_key: bytes = field(default=b"", repr=False)
    expires: datetime | None = None

    def is_expired(self, now: datetime) -> bool:
        return self.expires is not None and now >= self.expires


async def run(plugin: ExecPlugin) -> ExecCredential:
    """Ask the plugin once. Raises PluginError. A plugin that is not waited for any more is ended, and what it started.

    The pipe is our own: a process of asyncio's counts as ended only once all who inherited its pipes have closed them.
    """
    reading, writing = os.pipe()
    pipe = os.fdopen(reading, "rb", 0)
    try:
        process = await _started(plugin, writing)
    except BaseException:
        pipe.close()
        raise
    finally:
        os.close(writing)
    try:
        async with asyncio.timeout(None if plugin.terminal is Terminal.ASKED else PATIENCE_SECONDS):
            output = await _read(plugin, pipe)
            await process.wait()
    except BaseException as error:
        _end(plugin, process)
        await process.wait()
        if isinstance(error, TimeoutError):
            raise _failure(plugin, f"gave no answer within {PATIENCE_SECONDS:g} s") from None
        raise
    if process.returncode:
        raise _failure(plugin, f"failed with exit code {process.returncode}")
    return decode(output, plugin)


def _end(plugin: ExecPlugin, process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if plugin.terminal is Terminal.ASKED:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


async def _started(plugin: ExecPlugin, stdout: int) -> asyncio.subprocess.Process:
    """In a process group of its own, but where it asks the user: a terminal listens to its own session alone.

    Raises PluginError."""
    environment = os.environ | dict(plugin.environment) | {INFO_VARIABLE: request(plugin)}
    try:
        return await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=environment,
            stdin=None if plugin.terminal is Terminal.ASKED else asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=asyncio.subprocess.DEVNULL if plugin.terminal is Terminal.NONE else None,
            start_new_session=plugin.terminal is not Terminal.ASKED,
        )
    except FileNotFoundError:
        raise _failure(plugin, "not found") from None
    except (OSError, ValueError) as error:
        detail = error.strerror if isinstance(error, OSError) else "an argument or variable is not allowed"
        raise _failure(plugin, f"cannot be run: {detail}") from None


async def _read(plugin: ExecPlugin, pipe: BinaryIO) -> bytes:
    """All that comes until the pipe ends. Raises PluginError where it is too much. Closes the pipe."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    output = b""
    try:
        while piece := await reader.read(LARGEST_ANSWER_BYTES):
            output += piece
            if len(output) > LARGEST_ANSWER_BYTES:
                raise _failure(plugin, f"printed more than {LARGEST_ANSWER_BYTES} bytes")
    finally:
        transport.close()
    return output


def request(plugin: ExecPlugin) -> str:
    """The ExecCredential that the plugin is told in its environment."""
    spec: dict[str, Any] = {"interactive": plugin.terminal is Terminal.ASKED}
    if plugin.cluster:
        spec["cluster"] = json.loads(plugin.cluster)
    return json.dumps({"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec})


class _Status(msgspec.Struct, rename="camel"):
    """Null is as good as nothing, as it is to Go."""

    expiration_timestamp: str | None = None
    token: str | None = ""
    client_certificate_data: str | None = ""
    client_key_data: str | None = ""


class _Answer(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


def decode(output: bytes, plugin: ExecPlugin) -> ExecCredential:
    """What a plugin printed. Raises PluginError."""
    try:
        answer = msgspec.json.decode(output, type=_Answer)
    except (msgspec.DecodeError, RecursionError):
        raise PluginError("getting credentials: decoding stdout: not an ExecCredential in JSON") from None
    if answer.kind != "ExecCredential":
        raise PluginError("getting credentials: decoding stdout: kind must be ExecCredential")
    if answer.api_version != plugin.api_version:
        raise PluginError(
            f"getting credentials: exec plugin is configured to use API version {plugin.api_version}, "
            f"plugin returned version {answer.api_version}"
        )
    if answer.status is None:
        raise PluginError("getting credentials: exec plugin didn't return a status field")
    return _credential(answer.status)


def _credential(status: _Status) -> ExecCredential:
    token, certificate = status.token or "", status.client_certificate_data or ""
    key = status.client_key_data or ""
    if not token and not certificate and not key:
        raise PluginError("getting credentials: exec plugin didn't return a token or cert/key pair")
    if bool(certificate) != bool(key):
        raise PluginError("getting credentials: exec plugin returned only certificate or key, not both")
    if not token.isprintable() or not token.isascii():
        raise PluginError("getting credentials: exec plugin returned a token that no request can carry")
    expires = None
    if status.expiration_timestamp:
        try:
            expires = timestamps.parse(status.expiration_timestamp)
        except ValueError:
            raise PluginError("getting credentials: decoding stdout: expirationTimestamp is no timestamp") from None
    return ExecCredential(token, certificate.encode(), key.encode(), expires)


def cluster_info(cluster: dict[str, Any], config: Any) -> str:
    """``spec.cluster`` of what a plugin is told: a kubeconfig's ``cluster``, with files left out, and ``config``."""
    told = {name: value for name, value in cluster.items() if name not in ("certificate-authority", "extensions")}
    if config is not None:
        told["config"] = config
    return json.dumps(told, sort_keys=True)


def _failure(plugin: ExecPlugin, what: str) -> PluginError:
    hint = f"; {plugin.install_hint}" if plugin.install_hint and what == "not found" else ""
    return PluginError(f"getting credentials: exec: executable {plugin.command} {what}{hint}")
