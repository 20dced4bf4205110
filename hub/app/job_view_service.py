"""Users look at their remote jobs, as part of the hub: certificate, trust in the API server, socket, registration."""

import asyncio
import logging
from typing import Final

from hub.app.configuration import ViewService
from hub.app.job_views import GROUP, VERSION, JobViews, Workers
from worker_agent.aggregated import front_proxy, registration
from worker_agent.aggregated.front_proxy import Trust, Untrusted
from worker_agent.aggregated.registration import Registration
from worker_agent.aggregated.server import AggregatedServer
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.need import Place
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.authority import KeyPair
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError
from worker_agent.kube.informer import Event, Informer, document
from worker_agent.webhooks.certificate_store import CertificateStore
from worker_agent.webhooks.certificates import Bundle

log = logging.getLogger(__name__)

CONFIG_MAPS: Final = ResourceType("", "v1", "ConfigMap", "configmaps")
SECRET: Final = "fedhub-job-views-cert"
RETRY_SECONDS: Final = 2.0
RENEWED_EVERY_SECONDS: Final = 24 * 3600.0


NEEDS = need.followed([CONFIG_MAPS], Place.FRONT_PROXY)


class JobViewService:
    """``run`` serves until cancelled, on every replica. ``serving`` is set while it listens and is registered."""

    def __init__(self, client: Client, namespace: str, served: ViewService, workers: Workers) -> None:
        self.serving = asyncio.Event()
        self._client = client
        self._namespace = namespace
        self._served = served
        self._workers = workers
        self._server = AggregatedServer(served.host, served.port, JobViews(client, workers).answer)
        self._registration = Registration(
            GROUP, VERSION, namespace, served.service, served.service_port, served.external_host
        )
        self._store = CertificateStore(client, client.clock, namespace, SECRET, [self._registration.server_name])
        self._changed = asyncio.Event()
        self._trust: Trust | None = None
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
            await self._server.stop()
            await self._workers.close()

    async def _serve(self) -> None:
        before: tuple[Bundle, Trust] | None = None
        while True:
            self._changed.clear()
            trust, wait = self._trust, RENEWED_EVERY_SECONDS
            if trust is None:
                log.warning("jobs' pods and logs are not served: the API server has no front proxy for aggregated APIs")
            else:
                try:
                    bundle = await self._store.ensure()
                    if before != (bundle, trust):
                        await self._server.serve(KeyPair(bundle.certificate, bundle.key), trust)
                    await registration.register(self._client, self._at_port(), bundle.ca_certificate)
                    before = bundle, trust
                    self.serving.set()
                except (ApiError, ConnectionError, Untrusted) as error:
                    log.warning("jobs' pods and logs cannot be served yet: %s", error)
                    wait = RETRY_SECONDS
            await self._until_changed(wait)

    def _at_port(self) -> Registration:
        """A hub outside of the cluster is found at the very port it listens on."""
        found = self._registration
        if not found.host:
            return found
        return Registration(found.group, found.version, found.namespace, found.service, self.port, found.host)

    async def _until_changed(self, seconds: float) -> None:
        changed = asyncio.ensure_future(self._changed.wait())
        sleep = asyncio.ensure_future(self._client.clock.sleep(seconds))
        try:
            await asyncio.wait({changed, sleep}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (changed, sleep):
                task.cancel()
            await asyncio.gather(changed, sleep, return_exceptions=True)
