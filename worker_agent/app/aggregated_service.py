"""An aggregated API as part of a program: certificate, trust in the API server, socket, registration.

Job views of the hub and the visibility API run this way, on every replica.
"""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from worker_agent.aggregated import front_proxy, registration
from worker_agent.aggregated.front_proxy import Trust, Untrusted
from worker_agent.aggregated.registration import Registration
from worker_agent.aggregated.server import AggregatedServer, Answer
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import ResourceType
from worker_agent.app import tls
from worker_agent.kube.authority import KeyPair
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError
from worker_agent.kube.informer import Event, Informer, document
from worker_agent.serving_settings import TransportSecurity
from worker_agent.webhooks.certificate_store import CertificateStore

log = logging.getLogger(__name__)

CONFIG_MAPS: Final = ResourceType("", "v1", "ConfigMap", "configmaps")
RETRY_SECONDS: Final = 2.0
LONGEST_RETRY_SECONDS: Final = 60.0
FILES_READ_EVERY_SECONDS: Final = 60.0
RENEWED_EVERY_SECONDS: Final = 24 * 3600.0
TAKEN_BACK_IN_SECONDS: Final = 2.0
"""How long a stopping program tries to take its registration back."""

NEEDS = need.followed([CONFIG_MAPS], Place.FRONT_PROXY)


@dataclass(frozen=True, slots=True)
class ServedApi:
    """``what`` names the API in logs. All registrations lead to the one socket at ``host`` (None: every address) and
    ``port``."""

    what: str
    host: str | None
    port: int
    registrations: tuple[Registration, ...]
    secret: str
    """Of the program's namespace: the certificate that all replicas show."""
    tls: TransportSecurity = field(default_factory=TransportSecurity)
    files: Path | None = None
    """A folder with ``tls.crt`` and ``tls.key`` that somebody else manages, in place of ``secret``."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The certificate that is shown; without ``authority`` it is somebody else's, who says whom to trust."""

    pair: KeyPair
    authority: bytes | None


class NotInstalled(Exception):
    """The Service that is to lead here does not exist."""


class AggregatedService:
    """``run`` serves ``answer`` until cancelled. ``serving`` is set while it listens and is registered."""

    def __init__(self, client: Client, namespace: str, served: ServedApi, answer: Answer) -> None:
        self.serving = asyncio.Event()
        self._client = client
        self._served = served
        self._server = AggregatedServer(
            served.host, served.port, answer, lambda context: tls.restrict(context, served.tls)
        )
        hosts = [served.registrations[0].server_name]
        self._store = CertificateStore(client, client.clock, namespace, served.secret, hosts)
        self._changed = asyncio.Event()
        self._trust: Trust | None = None
        self._registered = False
        self._missing = ""
        self._config = Informer(
            client,
            CONFIG_MAPS,
            document,
            namespace=front_proxy.NAMESPACE,
            field_selector=f"metadata.name={front_proxy.CONFIG_MAP}",
        )
        self._config.add_handler(self._read)

    @property
    def port(self) -> int:
        return self._server.port

    def _read(self, event: Event[Document]) -> None:
        self._trust = Trust.read(event.new)
        self._changed.set()

    async def run(self) -> None:
        """Raises OSError when the port is in use; an API server that is away is waited for."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._config.run(), name="informer of the front proxy's authority")
                await self._config.synced.wait()
                await self._serve()
        finally:
            self.serving.clear()
            await self._take_back()
            await self._server.stop()

    async def _serve(self) -> None:
        before: tuple[Shown, Trust] | None = None
        wait = RETRY_SECONDS
        while True:
            self._changed.clear()
            trust, what = self._trust, self._served.what
            if trust is None:
                log.warning("%s are not served: the API server has no front proxy for aggregated APIs", what)
                wait = RENEWED_EVERY_SECONDS
            else:
                try:
                    shown = await self._certificate()
                    if before != (shown, trust):
                        await self._server.serve(shown.pair, trust)
                        before = shown, trust
                    await self._register(shown.authority)
                    self.serving.set()
                    wait = RENEWED_EVERY_SECONDS if self._served.files is None else FILES_READ_EVERY_SECONDS
                except (ApiError, ConnectionError, Untrusted) as error:
                    log.warning("%s cannot be served yet: %s", what, error)
                    wait = RETRY_SECONDS
                except NotInstalled as missing:
                    if self._missing != str(missing):
                        self._missing = str(missing)
                        log.info("%s are not served until they are installed: %s", what, missing)
                    wait = min(2 * wait, LONGEST_RETRY_SECONDS)
            await self._until_changed(wait)

    async def _certificate(self) -> Shown:
        folder = self._served.files
        if folder is None:
            bundle = await self._store.ensure()
            return Shown(KeyPair(bundle.certificate, bundle.key), bundle.trusted)
        return await asyncio.to_thread(_from_files, folder)

    async def _register(self, authority: bytes | None) -> None:
        for each in self._served.registrations:
            if not each.host and not await registration.is_installed(self._client, each):
                raise NotInstalled(f"there is no Service {each.namespace}/{each.service} that leads here")
            # A program outside of the cluster is found at the very port it listens on.
            at = replace(each, port=self.port) if each.host else each
            await registration.register(self._client, at, authority)
        self._registered = True

    async def _take_back(self) -> None:
        """A program outside of its cluster has no other replica: an APIService that leads nowhere keeps namespaces from
        being deleted."""
        if not self._registered:
            return
        with contextlib.suppress(TimeoutError, ConnectionError, ApiError):
            async with asyncio.timeout(TAKEN_BACK_IN_SECONDS):
                for each in self._served.registrations:
                    if each.host:
                        await registration.unregister(self._client, each)

    async def _until_changed(self, seconds: float) -> None:
        changed = asyncio.ensure_future(self._changed.wait())
        sleep = asyncio.ensure_future(self._client.clock.sleep(seconds))
        try:
            await asyncio.wait({changed, sleep}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (changed, sleep):
                task.cancel()
            await asyncio.gather(changed, sleep, return_exceptions=True)


def _from_files(folder: Path) -> Shown:
    """Raises NotInstalled where the files are not there yet."""
    try:
        return Shown(KeyPair((folder / "tls.crt").read_bytes(), (folder / "tls.key").read_bytes()), None)
    except OSError as error:
        raise NotInstalled(f"{error.filename}: {error.strerror}") from None
