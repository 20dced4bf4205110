"""The webhooks as part of the agent: certificates, server, configurations, in this order, and what keeps them fresh."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.need import Place
from worker_agent.api.resource_type import (
    CUSTOM_RESOURCE_DEFINITIONS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    SECRETS,
    VALIDATING_WEBHOOKS,
    ResourceType,
)
from worker_agent.app import tls
from worker_agent.app.configuration import Configuration
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import AlreadyExists, ApiError, Conflict, ServerError
from worker_agent.kube.informer import Event, Informer, Keep, document
from worker_agent.webhooks import configurations, definitions
from worker_agent.webhooks.certificate_store import CertificateStore
from worker_agent.webhooks.certificates import LIFETIMES, Bundle, Lifetimes
from worker_agent.webhooks.configurations import Configurations, Endpoint
from worker_agent.webhooks.definitions import Definition
from worker_agent.webhooks.hooks import HookTable
from worker_agent.webhooks.request_tally import RequestTally
from worker_agent.webhooks.server import WebhookServer
from worker_agent.webhooks.shown_certificate import FILES_READ_EVERY_SECONDS, ShownCertificate

log = logging.getLogger(__name__)

T = TypeVar("T")

DEFAULT_CERT_DIR = "/tmp/k8s-webhook-server/serving-certs"
FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 3.0
SETTLE_SECONDS = 0.5
"""Between two looks: who fights over a configuration with somebody does so twice a second at most."""
RETRY_SECONDS = 5.0
LONGEST_SLEEP_SECONDS = 24 * 3600.0
CONFIGURATIONS = ((MUTATING_WEBHOOKS, "mutating"), (VALIDATING_WEBHOOKS, "validating"))

NEEDS = (
    need.of(NAMESPACES, "create", outside=True),
    *need.followed([SECRETS], Place.OWN_NAMESPACE),
    *(
        need.of(
            resource,
            "list",
            "watch",
            names=(f"{need.PROGRAM}-{kind}-webhook-configuration",),
            unseen=configurations.INSIDE,
        )
        for resource, kind in CONFIGURATIONS
    ),
    *(need.of(resource, "list", "watch", outside=True) for resource, _ in CONFIGURATIONS),
    need.of(CUSTOM_RESOURCE_DEFINITIONS, "list", "watch", names=definitions.NAMES),
)


class WebhookService:
    """``serve`` returns when objects are converted, ``admit`` when admission is answered too; ``run`` keeps it so.

    Converting comes before the caches are filled: an API server that holds objects in an older version asks for it to
    answer the very first list.
    """

    def __init__(
        self,
        configuration: Configuration,
        client: Client,
        clock: Clock,
        table: HookTable,
        lifetimes: Lifetimes = LIFETIMES,
    ) -> None:
        settings = configuration.settings
        self._settings = settings
        self._client = client
        self._clock = clock
        self._table = table
        self._job_namespaces = configuration.job_namespaces
        self._certificate = ShownCertificate(partial(tls.server_context, settings.tls))
        self._server = WebhookServer(table.hooks, settings.webhook.host, settings.webhook.port, self._certificate)
        self._bundle: Bundle | None = None
        self._admits = False
        management = settings.internal_cert_management
        name = management.webhook_secret_name
        self._store = CertificateStore(client, clock, settings.namespace, name, self._hosts(), lifetimes)
        self._changed = asyncio.Event()
        self._sources: list[Informer[Any]] = []
        self._followed_configurations: dict[ResourceType, Informer[Document]] = {}
        self._followed_definitions: dict[str, Informer[Definition]] = {}
        if management.enable:
            self._follow(name)

    def _follow(self, secret: str) -> None:
        """What is to be as we have it: the shared certificates; the configurations and definitions with their CA."""
        namespace = self._settings.namespace
        for resource, name in self._configurations().names().items():
            self._followed_configurations[resource] = Informer(
                self._client, resource, document, field_selector=f"metadata.name={name}"
            )
        for name in definitions.NAMES:
            self._followed_definitions[name] = Informer(
                self._client,
                CUSTOM_RESOURCE_DEFINITIONS,
                definitions.decode,
                field_selector=f"metadata.name={name}",
                keep=Keep.DECODED,
            )
        secrets = Informer(
            self._client, SECRETS, document, namespace=namespace, field_selector=f"metadata.name={secret}"
        )
        self._sources = [secrets, *self._followed_configurations.values(), *self._followed_definitions.values()]

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def tally(self) -> RequestTally:
        return self._server.tally

    def _hosts(self) -> list[str]:
        host = urlsplit(self._settings.webhook.url).hostname
        service = self._settings.internal_cert_management.webhook_service_name
        names = [f"{service}.{self._settings.namespace}.svc"]
        return [host, *names] if host else names

    def _endpoint(self) -> Endpoint:
        url = self._settings.webhook.url
        if url.endswith(":0"):
            url = f"{url.removesuffix(':0')}:{self.port}"
        return Endpoint(url, self._settings.internal_cert_management.webhook_service_name, self._settings.namespace)

    def _configurations(self) -> Configurations:
        return Configurations(self._table.served, self._endpoint(), self._job_namespaces)

    async def serve(self) -> None:
        """An API server that is away is waited for. Raises ApiError, OSError (port in use, unreadable files)."""
        if not self._settings.internal_cert_management.enable:
            await asyncio.to_thread(self._certificate.use_files, self._folder)
            await self._server.start()
            return
        if self._settings.webhook.url:
            await self._patiently(self._ensure_namespace)
        self._bundle = await self._patiently(self._store.ensure)
        await asyncio.to_thread(self._certificate.use, self._bundle)
        await self._server.start()
        await self._patiently(partial(self._convert_here, self._bundle))

    async def admit(self) -> None:
        """Raises ApiError."""
        self._server.admit()
        self._admits = True
        if self._bundle is not None:
            await self._patiently(partial(self._publish, self._bundle))

    async def run(self) -> None:
        """Renew certificates in time, take up what other replicas renewed, and put the CA into configurations that
        appear, are replaced, or lose it: as soon as a watch tells of it."""
        async with asyncio.TaskGroup() as group:
            for source in self._sources:
                source.add_handler(self._something_changed)
                group.create_task(source.run(), name=f"informer {source.resource.plural} of webhooks")
            while True:
                await self._until_changed(await self._look())

    def _something_changed(self, event: Event[Any]) -> None:
        self._changed.set()

    async def _look(self) -> float:
        """Brings everything in line; seconds until it has to be done again, whatever is heard."""
        self._changed.clear()
        if not self._sources:
            await self._read_files()
            return FILES_READ_EVERY_SECONDS
        if self._bundle is None:
            return RETRY_SECONDS
        try:
            newest = await self._store.ensure()
            # Trusted first, then shown: no caller is to meet a certificate whose CA it was not told of.
            await self._convert_here(newest)
            if self._admits:
                await self._publish(newest)
            if newest != self._bundle:
                await asyncio.to_thread(self._certificate.use, newest)
                self._bundle = newest
        except (ApiError, ConnectionError) as error:
            log.warning("webhook certificates could not be checked: %s", error)
            return RETRY_SECONDS
        return min(self._store.next_step_seconds(newest), LONGEST_SLEEP_SECONDS)

    @property
    def _folder(self) -> Path:
        return Path(self._settings.webhook.cert_dir or DEFAULT_CERT_DIR)

    async def _read_files(self) -> None:
        """Takes up what somebody else put in the place of certificate and key."""
        try:
            if await asyncio.to_thread(self._certificate.use_files, self._folder):
                log.info("webhooks show the new certificate of %s", self._folder)
        except OSError as error:  # ssl.SSLError is one
            log.warning("the certificate of webhooks stays as it is: %s: %s", self._folder, error)

    async def _until_changed(self, seconds: float) -> None:
        changed = asyncio.ensure_future(self._changed.wait())
        limit = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait([changed, limit], return_when=asyncio.FIRST_COMPLETED)
            await self._clock.sleep(SETTLE_SECONDS)
        finally:
            for task in (changed, limit):
                task.cancel()
            await asyncio.gather(changed, limit, return_exceptions=True)

    async def _patiently(self, step: Callable[[], Awaitable[T]]) -> T:
        """An API server may be started again while we start: everything else waits for it, so this does too."""
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                return await step()
            except (ConnectionError, ServerError, Conflict) as error:
                log.warning("webhooks are not set up yet: %s", error)
            await self._clock.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    async def stop(self) -> None:
        await self._server.stop()

    async def _convert_here(self, bundle: Bundle) -> None:
        known = {
            name: source.get(Key("", name))
            for name, source in self._followed_definitions.items()
            if source.synced.is_set()
        }
        await definitions.convert_here(self._client, self._endpoint(), bundle.trusted, known)

    async def _publish(self, bundle: Bundle) -> None:
        wanted = self._configurations()
        names = wanted.names()
        known = {
            resource: source.get(Key("", names[resource]))
            for resource, source in self._followed_configurations.items()
            if source.synced.is_set()
        }
        write = configurations.install if self._settings.webhook.url else configurations.inject
        await write(self._client, wanted, bundle.trusted, known)

    async def _ensure_namespace(self) -> None:
        name = self._settings.namespace
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        try:
            await self._client.create(NAMESPACES, document)
        except AlreadyExists:
            return
        log.info("namespace %s created for the webhooks' certificates", name)
