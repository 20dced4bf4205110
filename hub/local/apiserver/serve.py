"""One embedded API server put together: ``start`` for a program that holds it, ``serve`` to run until cancelled.

Command line: ``python -m hub.local.apiserver.serve CONFIG`` with a JSON file of ``ServerConfig``'s fields.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hub.local.apiserver import bootstrap, conversion, crds, kubeconfig_files
from hub.local.apiserver.api_server import ApiServer
from hub.local.apiserver.authentication import Authenticator
from hub.local.apiserver.availability import Availability
from hub.local.apiserver.certificates import Authority
from hub.local.apiserver.core import Core, new_state
from hub.local.apiserver.event_versions import differs
from hub.local.apiserver.fields import known_fields
from hub.local.apiserver.http import HttpFront
from hub.local.apiserver.identity import ADMIN, MASTERS, Identity, member
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.apiserver.kubeconfig_files import Login
from hub.local.apiserver.persistence import Row, SqliteLog
from hub.local.apiserver.relay_client import RelayClient
from hub.local.apiserver.resources import CRDS
from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.schemas import Schemas
from hub.local.apiserver.service_addresses import ServiceAddresses
from hub.local.apiserver.store import State, Stored, decode
from hub.local.apiserver.webhook_client import WebhookClient
from worker_agent.api.document import Document
from worker_agent.kube.clock import Clock, SystemClock

AUTHORISATION_IS_OFF = "authorisation is off on this API server: every authenticated user may do everything"
_LOOPBACK = ("localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """``data_dir`` holds the CA, kubeconfigs and, with ``persist``, the objects. Port 0 takes a free one.

    ``tokens`` maps bearer tokens to (user, groups). ``crds`` are installed at the start, and brought up to date at
    every later one. ``service_map`` maps "namespace/name" of a Service that webhooks name to the base URL to call,
    such as "https://127.0.0.1:9443".
    """

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 0
    name: str = "embedded"
    tokens: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    crds: Sequence[Document] = ()
    service_map: Mapping[str, str] = field(default_factory=dict)
    persist: bool = False
    extra_hosts: tuple[str, ...] = ()
    """Further names or addresses the certificate is valid for."""


@dataclass(slots=True)
class RunningServer:
    """A server that answers. ``ca`` signs further client certificates; ``services`` may be extended while it runs."""

    config: ServerConfig
    server: ApiServer
    front: HttpFront
    ca: Authority
    services: dict[tuple[str, str], str]
    _webhooks: WebhookClient
    _relays: RelayClient
    _availability: Availability

    @property
    def port(self) -> int:
        return self.front.port

    @property
    def url(self) -> str:
        return f"https://{self.config.host}:{self.port}"

    @property
    def transport(self) -> InProcessTransport:
        """In-process, as the administrator."""
        return self.transport_as(ADMIN)

    def transport_as(self, identity: Identity) -> InProcessTransport:
        return InProcessTransport(self.server, identity)

    def kubeconfig(self, user: str = "kubernetes-admin", groups: Sequence[str] = (MASTERS,)) -> Document:
        """A kubeconfig with a fresh client certificate."""
        login = Login(user, certificate=self.ca.client(user, groups))
        return kubeconfig_files.document(self.config.name, self.url, self.ca.pair.certificate, login)

    async def stop(self) -> None:
        """Watches end, requests under way finish, everything acknowledged is on disk."""
        await self._availability.stop()
        await self.server.stop()
        await self.front.stop()
        await self._webhooks.close()
        await self._relays.close()


async def start(config: ServerConfig, clock: Clock | None = None, schemas: Schemas | None = None) -> RunningServer:
    """Start listening. Raises OSError when the port is taken, ValueError for CRDs that are refused."""
    clock = clock or SystemClock()
    log = SqliteLog(config.data_dir / "objects.sqlite") if config.persist else None
    version, rows = log.load() if log is not None else (0, iter(()))
    state = new_state(os.urandom, version or 1)
    tokens = {token: member(user, tuple(groups)) for token, (user, groups) in config.tokens.items()}
    core = Core(state, schemas or SchemaRegistry(), Authenticator(tokens))
    restore(core, list(rows))
    services = {_service_key(name): url for name, url in config.service_map.items()}
    addresses = ServiceAddresses(services, state)
    webhooks = WebhookClient(addresses)
    server = ApiServer(core, clock, webhooks, log)
    if version:
        bootstrap.renew(core, config.crds, clock.now())
    else:
        bootstrap.fill(core, config.crds, clock.now())
    await server.settle()
    server.cleaner.resume(state)
    server.clean()
    ca, proxy = Authority.load(config.data_dir), Authority.load(config.data_dir / "front-proxy")
    bootstrap.publish_authorities(core, ca.pair.certificate, proxy.pair.certificate, clock.now())
    await server.settle()
    relays = server.relays = RelayClient(addresses, proxy.client(bootstrap.FRONT_PROXY))
    front = HttpFront(server)
    certificate = ca.server([*_LOOPBACK, config.host, *config.extra_hosts])
    await front.start(config.host, config.port, certificate, ca.pair.certificate)
    availability = Availability(server, relays)
    availability.start()
    running = RunningServer(config, server, front, ca, services, webhooks, relays, availability)
    kubeconfig_files.write(config.data_dir / "admin.kubeconfig", running.kubeconfig())
    return running


def _service_key(name: str) -> tuple[str, str]:
    namespace, slash, service = name.partition("/")
    if not slash or not namespace or not service:
        raise ValueError(f'service_map: "{name}" must be "namespace/name"')
    return namespace, service


def restore(core: Core, rows: Sequence[Row]) -> None:
    """Objects from disk into an empty state, definitions first, so that the rest finds its kinds."""
    state = core.state
    definitions: list[tuple[int, Document]] = []
    for row in sorted(rows, key=lambda row: row.store != CRDS):
        document = decode(b"{" + row.body)
        _restore_one(state, row, document)
        if row.store == CRDS:
            crds.serve(state, core.schemas, document)
            definitions.append((row.version, document))
    for version, document in definitions:
        if conversion.resume(state, crds.store_of(document), version):
            crds.serve(state, core.schemas, document)


def _restore_one(state: State, row: Row, document: Document) -> None:
    resources = [found for found in state.resources.of_store(row.store) if not differs(found)]
    fields = known_fields(resources[0], document) if resources else None
    state.restore(row.store, Stored(document, row.version, fields, row.form))


async def serve(config: ServerConfig) -> None:
    """Run until SIGTERM, SIGINT or cancellation; prints one line of JSON when it answers."""
    running = await start(config)
    ready = {"url": running.url, "kubeconfig": str(config.data_dir / "admin.kubeconfig"), "note": AUTHORISATION_IS_OFF}
    print(json.dumps(ready), flush=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # no signal handlers on this platform's loop
            loop.add_signal_handler(number, stop.set)
    try:
        await stop.wait()
    finally:
        await running.stop()


def read_config(path: Path) -> ServerConfig:
    """Raises ValueError naming the field that is wrong."""
    content = json.loads(path.read_text())
    known = set(ServerConfig.__dataclass_fields__)
    unknown = sorted(set(content) - known)
    if unknown:
        raise ValueError(f"{path}: unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}")
    content["data_dir"] = Path(content["data_dir"])
    content["tokens"] = {token: (user, tuple(groups)) for token, (user, groups) in content.get("tokens", {}).items()}
    return ServerConfig(**content)


if __name__ == "__main__":
    asyncio.run(serve(read_config(Path(sys.argv[1]))))
