"""One real control plane as child processes on loopback: started, waited for, stopped by process id.

The children end with their parent, however it ends: the kernel signals them (Linux). Nothing of a killed test run is
left behind, and a cluster that is killed and started again finds its objects in etcd's folder.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from hub.local import layout
from hub.local.apiserver import kubeconfig_files
from hub.local.real import components, files
from hub.local.real.binaries import Binaries
from hub.local.real.components import Command, Ports
from hub.local.real.files import Files
from worker_agent.api.document import Document
from worker_agent.kube import kubeconfig, kubernetes_transport
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request

START_SECONDS = 120.0
"""A control plane answers after 5 to 20 s of its own; several at once on two cores take turns."""
STOP_SECONDS = 10.0
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON = {"content-type": "application/json", "user-agent": "kube-apiserver"}
"""The user agent becomes the field manager of the definitions: the embedded server installs its own."""
NAMES_ALONE = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


class ControlPlaneError(RuntimeError):
    """A component ended or did not answer; the text names it and quotes the end of its log."""


@dataclass(frozen=True, slots=True)
class ControlPlaneConfig:
    """``folder`` holds everything of this cluster. Port 0 takes a free one. ``crds`` are installed at the start.

    Without ``jobs`` nothing makes pods or places them; namespaces still end and the dependents of owners go, which the
    embedded server does too.
    """

    folder: Path
    binaries: Binaries
    name: str = "real"
    port: int = 0
    crds: Sequence[Document] = ()
    jobs: bool = True
    audit: bool = False
    """Write every write request to ``<folder>/audit.log``."""
    routed: bool = False
    """Webhooks and aggregated APIs are reached at their endpoints, for no cluster IP leads anywhere here."""
    seed: Path | None = None
    """A folder of ``seed.make`` with which an etcd that is empty begins."""
    audited_groups: Sequence[str] = ()
    """Write every request of users of these groups there."""


@dataclass(slots=True)
class ControlPlane:
    """A control plane that answers, or answered until ``stop``."""

    config: ControlPlaneConfig
    port: int
    kubeconfig: Document
    """An administrator's, with everything inside."""
    etcd: str
    """The URL at which etcd serves its clients."""
    processes: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def files(self) -> Files:
        return Files(self.config.folder)

    def kubeconfig_for(self, user: str, groups: tuple[str, ...] = ()) -> Document:
        """A kubeconfig of another user: RBAC says what they may do."""
        login = kubeconfig_files.Login(user, certificate=files.client(self.files, user, groups))
        authority = self.files.authority.read_bytes()
        return kubeconfig_files.document(self.config.name, self.url, authority, login)

    def connect(self, user_agent: str = "fedhub-local") -> Client:
        """A client with administrator rights; the caller closes it."""
        found = kubeconfig.load(msgspec.json.encode(self.kubeconfig))
        return Client(kubernetes_transport.connect(found), SystemClock(), user_agent=user_agent)

    async def ended(self) -> str:
        """Waits until a component ends by itself; its name."""
        waiting = {asyncio.create_task(child.wait()): name for name, child in self.processes.items()}
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return waiting[done.pop()]
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def stop(self) -> None:
        """Ends the components, etcd last and in peace: all that was acknowledged is with it, so the rest is cut off."""
        for name, child in reversed(self.processes.items()):
            await _end(child, signal.SIGTERM if name == components.ETCD else signal.SIGKILL)
        self.processes.clear()


async def start(config: ControlPlaneConfig) -> ControlPlane:
    """Starts the components and returns when objects can be written. Raises ControlPlaneError, with nothing left."""
    config.folder.mkdir(parents=True, exist_ok=True)
    taken = layout.free_ports(3)
    ports = Ports(config.port or taken[0], taken[1], taken[2])
    where = Files(config.folder)
    plane = ControlPlane(config, ports.api_server, {}, f"http://127.0.0.1:{ports.etcd}")
    plane.kubeconfig = files.write(where, config.name, plane.url)
    if config.seed is not None and not where.etcd.exists():
        await asyncio.to_thread(files.copy_sparsely, config.seed / "etcd", where.etcd)
    try:
        await _launch(plane, components.ETCD, components.etcd(config.binaries, where, ports))
        await _launch(plane, components.API_SERVER, _api_server(config, where, ports))
        async with contextlib.aclosing(_Questions(plane)) as client:
            await _until(plane, client.ready)
            await client.install(config.crds)
        if config.binaries.controller_manager is not None:
            command = components.controller_manager(config.binaries, where, config.jobs)
            await _launch(plane, components.CONTROLLER_MANAGER, command)
            if config.jobs:
                await _launch(plane, components.SCHEDULER, components.scheduler(config.binaries, where))
    except BaseException:
        await plane.stop()
        raise
    return plane


def _api_server(config: ControlPlaneConfig, where: Files, ports: Ports) -> Command:
    audited = config.audit or bool(config.audited_groups)
    policy = files.audit_policy(config.audit, config.audited_groups)
    where.audit_policy.write_bytes(msgspec.json.encode(policy))
    command = components.api_server(config.binaries, where, ports, audited)
    return (*command, *components.ROUTED) if config.routed else command


class _Questions:
    """What starting asks of the server, without the retries of a Client: an answer counts as it comes."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._transport = kubernetes_transport.connect(kubeconfig.load(msgspec.json.encode(plane.kubeconfig)))

    async def aclose(self) -> None:
        await self._transport.close()

    async def ready(self) -> bool:
        """Ready by its own word, and the namespace that every cluster has is there."""
        for path in ("/readyz", "/api/v1/namespaces/default"):
            try:
                response = await self._transport.request(Request("GET", path))
                await response.read()
            except ConnectionError:
                return False
            if response.status != 200:
                return False
        return True

    async def install(self, crds: Sequence[Document]) -> None:
        """Creates definitions that are not there and waits until all are served.

        One that is there is not sent: a server looks through it whole before it says so, which takes it as long as to
        take it in.
        """
        there = await self._there()
        missing = [crd for crd in crds if crd["metadata"]["name"] not in there]
        for crd in missing:
            body = msgspec.json.encode(crd)
            response = await self._transport.request(Request("POST", CRD_PATH, (), JSON, body))
            told = await response.read()
            if response.status not in (201, 409):
                raise ControlPlaneError(f"{crd['metadata']['name']} is refused: {told.decode(errors='replace')}")
        for crd in missing:
            await _until(self._plane, partial(self._established, crd["metadata"]["name"]))

    async def _there(self) -> set[str]:
        """Names of the definitions that the server has."""
        response = await self._transport.request(Request("GET", CRD_PATH, (), NAMES_ALONE))
        told = await response.read()
        if response.status != 200:
            raise ControlPlaneError(f"definitions are not listed: {told.decode(errors='replace')}")
        return {crd["metadata"]["name"] for crd in msgspec.json.decode(told)["items"] or ()}

    async def _established(self, name: str) -> bool:
        response = await self._transport.request(Request("GET", f"{CRD_PATH}/{name}"))
        return _is_established(msgspec.json.decode(await response.read()))


def _is_established(crd: Document) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


async def _until(plane: ControlPlane, condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits for ``condition``, an async predicate; a component's end or START_SECONDS is a ControlPlaneError."""
    pause = 0.05
    waited = 0.0
    while not await condition():
        for name, child in plane.processes.items():
            if child.returncode is not None:
                log = plane.files.log(name)
                raise ControlPlaneError(f"{name} ended with code {child.returncode}; {log}: {_last_words(log)}")
        if waited > START_SECONDS:
            log = plane.files.log(components.API_SERVER)
            raise ControlPlaneError(f"{plane.config.name} is not ready after {waited:.0f} s; {log}: {_last_words(log)}")
        await asyncio.sleep(pause)
        waited += pause
        pause = min(pause * 1.5, 0.5)


async def _launch(plane: ControlPlane, name: str, command: Command) -> None:
    with plane.files.log(name).open("ab") as log:
        plane.processes[name] = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=plane.config.folder,
            preexec_fn=_tie_to_parent(),
            start_new_session=True,
        )


def _tie_to_parent() -> Callable[[], None] | None:
    """A call for the child: the kernel kills it when this process ends. None where there is no such thing."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def tie() -> None:
        prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)

    return tie


async def _end(child: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Signals a component, by its id; what does not end in STOP_SECONDS is killed."""
    if child.returncode is not None:
        return
    child.send_signal(number)
    try:
        await asyncio.wait_for(child.wait(), STOP_SECONDS)
    except TimeoutError:
        child.kill()
        await child.wait()


def _last_words(log: Path, lines: int = 3) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    return " | ".join(line.strip() for line in text.splitlines()[-lines:]) or "(empty)"
