"""Pods of one namespace as processes of this machine: what a kubelet does, for tests where there are no containers.

Takes the pods that the real controller manager made and the real scheduler placed, and runs their containers' commands
as the API server stored them: as the pod's service account (TokenRequest), with its environment and its mounts
(``pod_files``, ``pod_root``: read-only root, no capabilities). Probes are asked, the pod is Ready by them, a liveness
probe that fails or a process that ends is started again, a deleted pod gets SIGTERM and its grace period.

Two things a network would bring are replaced. Pods share this machine, so each gets ports of its own for its
``containerPorts``, told to the program by the environment (``PORTS``). And Services are answered by EndpointSlices
written here, with this machine's address and those ports: kube-apiserver must be started with
``--enable-aggregator-routing`` (``ControlPlaneConfig.routed``), by which webhooks and aggregated APIs go to endpoints
and not to cluster IPs. Endpoints may not be loopback addresses: ``own_address`` finds another.
"""

import asyncio
import contextlib
import ctypes
import os
import shutil
import signal
import socket
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import aiohttp

from hub.local import layout
from tests.realcluster import pod_root
from tests.realcluster.pod_files import ApiServer, PodFiles
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import PODS, ResourceType
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.errors import ApiError, Conflict, NotFound
from worker_agent.kube.informer import Event, Informer, document

SERVICES: Final = ResourceType("", "v1", "Service", "services")
SLICES: Final = ResourceType("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
CHECKOUT: Final = Path(__file__).parents[2]
FIELD_MANAGER: Final = "kubelet"
PORTS: Final = {
    "webhook": "FEDHUB_WEBHOOK__PORT={port}",
    "metrics": "FEDHUB_METRICS__BIND_ADDRESS=:{port}",
    "visibility": "FEDHUB_VISIBILITY_SERVER__BIND_PORT={port}",
    "health": "FEDHUB_HEALTH__HEALTH_PROBE_BIND_ADDRESS=:{port}",
    "job-views": "FEDHUB_FEDERATION__JOB_VIEWS__BIND_ADDRESS=:{port}",
}
"""By name of the containerPort: how the program is told another one."""
WHERE_ASKED_FOR: Final = {"agents": "FEDHUB_FEDERATION__AGENTS__BIND_ADDRESS=:{port}"}
"""The same of a port that is served only if that is set."""
LOG_LEVEL: Final = "--zap-log-level="
PROBE_SECONDS: Final = 1.0
"""Between two questions of a probe that asks less often; tests wait for it."""
RESTART_SECONDS: Final = 1.0
ROTATE_SECONDS: Final = 2400.0
_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG of prctl(2)


def own_address() -> str:
    """An address of this machine that an endpoint may have; empty where it has only loopback ones."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("198.51.100.1", 9))  # TEST-NET-2; a datagram socket sends nothing yet
        except OSError:
            return ""
        found = str(asked.getsockname()[0])
    return "" if found.startswith("127.") else found


@dataclass(slots=True)
class Running:
    """One pod and its process; ``ports`` by name of the containerPort."""

    pod: Document
    files: PodFiles
    ports: Mapping[str, int]
    log: Path
    process: asyncio.subprocess.Process | None = None
    restarts: int = 0
    ready: bool = False
    started: str = ""
    leaving: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def key(self) -> Key:
        return Key(self.pod["metadata"]["namespace"], self.pod["metadata"]["name"])

    @property
    def container(self) -> Document:
        """The first one: ours have one each."""
        found: Document = self.pod["spec"]["containers"][0]
        return found


class PodProcesses:
    """``run`` plays the kubelet for the pods of ``namespace`` until it is cancelled, and ends all processes then."""

    def __init__(self, client: Client, server: ApiServer, folder: Path, namespace: str = "fedhub-system") -> None:
        self.running: dict[str, Running] = {}
        """By the pod's UID."""
        self._client = client
        self._server = server
        self._folder = folder
        self._address = own_address()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pods = Informer(client, PODS, document, namespace=namespace)
        self._services = Informer(client, SERVICES, document, namespace=namespace)
        self._pods.add_handler(self._pod_changed)
        self._services.add_handler(self._service_changed)

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pods.run(), name="informer of pods")
                group.create_task(self._services.run(), name="informer of services")
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def tokens(self) -> list[str]:
        """Of the service accounts, as the pods that run have them now."""
        return [path.read_text() for path in self._folder.glob("*/service-account/token")]

    def logs(self) -> str:
        """What all processes wrote so far, for messages."""
        return "\n".join(f"== {path.name}\n{path.read_text()}" for path in sorted(self._folder.glob("*.log")))

    def _pod_changed(self, event: Event[Document]) -> None:
        pod = event.new
        if pod is None:
            known = self.running.get((event.old or {}).get("metadata", {}).get("uid", ""))
            if known is not None:
                known.leaving.set()
            return
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            if uid in self.running:
                self.running[uid].leaving.set()
            elif pod["spec"].get("nodeName"):
                self._keep(self._remove(pod))
        elif pod["spec"].get("nodeName") and uid not in self.running:
            self.running[uid] = found = self._made(pod)
            self._keep(self._play(found))

    def _service_changed(self, event: Event[Document]) -> None:
        for running in self.running.values():
            self._keep(self._publish(running))

    def _keep(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _made(self, pod: Document) -> Running:
        name = pod["metadata"]["name"]
        files = PodFiles(self._client, pod, self._folder / name, self._server)
        named = [port["name"] for port in pod["spec"]["containers"][0].get("ports") or []]
        ports = dict(zip(named, layout.free_ports(len(named)), strict=True))
        self._folder.mkdir(parents=True, exist_ok=True)
        return Running(pod, files, ports, self._folder / f"{name}.log")

    async def _play(self, running: Running) -> None:
        """From the pod's first process to its deletion."""
        renewing = asyncio.create_task(self._renew_token(running))
        try:
            while not running.leaving.is_set():
                await self._start(running)
                await self._watch_over(running)
                if running.leaving.is_set():
                    break
                running.ready = False
                await self._tell(running)
                running.restarts += 1
                await _first_of(running.leaving.wait(), asyncio.sleep(RESTART_SECONDS))
            running.ready = False
            await self._publish(running)
            await _ended(running.process, running.pod["spec"].get("terminationGracePeriodSeconds", 30))
            await self._remove(running.pod)
        finally:
            renewing.cancel()
            await _ended(running.process, 5)
            running.files.remove()
            self.running.pop(running.pod["metadata"]["uid"], None)

    async def _start(self, running: Running) -> None:
        container = running.container
        mounts = await running.files.mounts(container)
        program = [_wordy(word) for word in [*(container.get("command") or []), *(container.get("args") or [])]]
        found = shutil.which(program[0], path=f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}")
        argv = pod_root.command(running.files.root(), mounts, [found or program[0], *program[1:]])
        asked = await running.files.environment(container)
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONDONTWRITEBYTECODE": "1",
            **asked,
            **_told(running.ports, asked),
        }
        with running.log.open("ab") as log:
            running.process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=CHECKOUT,
                start_new_session=True,
                preexec_fn=_tie_to_parent,
            )
        running.started = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        await self._tell(running)

    async def _watch_over(self, running: Running) -> None:
        """Until the process ends, the pod shall go, or the process has to be started again as it no longer lives."""
        assert running.process is not None
        end = asyncio.ensure_future(running.process.wait())
        try:
            unready = unwell = 0
            while not running.leaving.is_set() and not end.done():
                unready = 0 if await self._answers(running, "readinessProbe") else unready + 1
                ready = not unready or (running.ready and unready <= _patience(running, "readinessProbe"))
                if ready != running.ready:
                    running.ready = ready
                    await self._tell(running)
                unwell = 0 if await self._answers(running, "livenessProbe") else unwell + 1
                if unwell > _patience(running, "livenessProbe"):
                    await _ended(running.process, 5)
                    return
                await _first_of(running.leaving.wait(), asyncio.shield(end), asyncio.sleep(PROBE_SECONDS))
        finally:
            end.cancel()

    async def _answers(self, running: Running, name: str) -> bool:
        """Whether the probe is content; a container without it is."""
        probe = running.container.get(name)
        if probe is None or "httpGet" not in probe:
            return True
        asked = probe["httpGet"]
        port = running.ports.get(asked["port"], asked["port"])
        scheme = asked.get("scheme", "HTTP").lower()
        timeout = aiohttp.ClientTimeout(total=max(probe.get("timeoutSeconds", 1), 5))
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # as a kubelet
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(f"{scheme}://127.0.0.1:{port}{asked['path']}", ssl=context) as answer,
            ):
                return 200 <= answer.status < 400
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def _tell(self, running: Running) -> None:
        """The pod's status and its place behind the Services."""
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        word = str(running.ready)
        conditions = [
            {"type": kind, "status": status, "lastTransitionTime": now}
            for kind, status in (("Initialized", "True"), ("ContainersReady", word), ("Ready", word))
        ]
        container = {
            "name": running.container["name"],
            "image": running.container["image"],
            "imageID": "",
            "ready": running.ready,
            "started": True,
            "restartCount": running.restarts,
            "state": {"running": {"startedAt": running.started}},
        }
        status = {
            "phase": "Running",
            "podIP": self._address,
            "podIPs": [{"ip": self._address}],
            "hostIP": self._address,
            "conditions": conditions,
            "containerStatuses": [container],
            "startTime": running.started,
        }
        with contextlib.suppress(NotFound, Conflict):
            await self._client.patch(
                PODS,
                running.key.name,
                running.key.namespace,
                {"metadata": {"uid": running.pod["metadata"]["uid"]}, "status": status},
                patch_type=PatchType.STRATEGIC,
                subresource="status",
                field_manager=FIELD_MANAGER,
            )
        await self._publish(running)

    async def _publish(self, running: Running) -> None:
        """One EndpointSlice for each Service that selects the pod; they go with it."""
        labels = running.pod["metadata"].get("labels") or {}
        for service in self._services.values():
            selector = (service.get("spec") or {}).get("selector")
            if not selector or any(labels.get(name) != value for name, value in selector.items()):
                continue
            wanted = self._slice(service, running)
            try:
                await self._client.apply(
                    SLICES, wanted["metadata"]["name"], running.key.namespace, wanted, field_manager=FIELD_MANAGER
                )
            except (ApiError, ConnectionError):
                continue  # the namespace or the server goes

    def _slice(self, service: Document, running: Running) -> Document:
        meta, name = running.pod["metadata"], service["metadata"]["name"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        ports = [
            {"name": port.get("name", ""), "protocol": "TCP", "port": running.ports[port["targetPort"]]}
            for port in service["spec"]["ports"]
            if port.get("targetPort") in running.ports
        ]
        return {
            "apiVersion": SLICES.api_version,
            "kind": SLICES.kind,
            "metadata": {
                "name": f"{name}-{meta['uid'][:8]}",
                "namespace": meta["namespace"],
                "labels": {"kubernetes.io/service-name": name},
                "ownerReferences": [owner],
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": [self._address], "conditions": {"ready": running.ready}}],
            "ports": ports,
        }

    async def _renew_token(self, running: Running) -> None:
        while True:
            await asyncio.sleep(ROTATE_SECONDS)
            await running.files.write_token()

    async def _remove(self, pod: Document) -> None:
        meta = pod["metadata"]
        with contextlib.suppress(NotFound, Conflict, ConnectionError):
            await self._client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=0)


def _wordy(word: str) -> str:
    """An argument as it is given; but logs hold all that a program can say."""
    return f"{LOG_LEVEL}debug" if word.startswith(LOG_LEVEL) else word


def _patience(running: Running, name: str) -> float:
    """How many failures in a row, a PROBE_SECONDS apart, are as long as those that a kubelet would bear."""
    probe = running.container.get(name) or {}
    seconds = probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10)
    return float(seconds) / PROBE_SECONDS


def _told(ports: Mapping[str, int], asked: Mapping[str, str]) -> dict[str, str]:
    """Variables that name the ports of a pod, which was to have the variables ``asked``."""
    known = {name: text.split("=", 1) for name, text in (PORTS | WHERE_ASKED_FOR).items()}
    told = {name: known[name] for name in ports if name in known}
    return {
        variable: value.format(port=ports[name])
        for name, (variable, value) in told.items()
        if name in PORTS or variable in asked
    }


def _tie_to_parent() -> None:
    """The kernel ends the process with this one, however that ends (Linux)."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


async def _ended(process: asyncio.subprocess.Process | None, grace_seconds: float) -> None:
    """Asks the process to end, by its id, and kills it after its grace period."""
    if process is None or process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), grace_seconds)
    except (TimeoutError, asyncio.CancelledError):
        process.kill()
        await process.wait()


async def _first_of(*awaited: Any) -> None:
    tasks = [asyncio.ensure_future(each) for each in awaited]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
