"""Workers as an asker can read them, once: by the credential of their MultiKueueCluster, or by a right of their own."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import msgspec

from hub.app.configuration import FederationConfiguration
from hub.app.doctor import program
from hub.clusters import credentials
from hub.clusters.credentials import Credential, CredentialError, CredentialSources
from hub.clusters.worker_watches import KNOWLEDGE
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.views import UNREADABLE, Views
from worker_agent.api import resource_type as kinds
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.resource_type import ResourceType
from worker_agent.engine.policy import Policy
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError, Forbidden, NotFound
from worker_agent.kube.kubeconfig import KubeconfigError
from worker_agent.kube.transport import Transport

READ: Final = (*KNOWLEDGE, kinds.WORKLOADS)
PROGRAM: Final = "fedhub"
"""The command that a hub's Deployment runs."""
PATIENCE_SECONDS: Final = 15.0
"""A worker that does not answer in that time is told of as out of contact."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks. ``transport`` leads to a worker by its credential, ``own`` by the asker's own right where given.

    ``transport`` raises KubeconfigError.
    """

    configuration: FederationConfiguration
    policy: Policy
    transport: Callable[[Credential], Transport]
    own: Mapping[str, Transport] = field(default_factory=dict)


class NeedsOwnContext(CredentialError):
    """The asker cannot use the hub's way to a worker, with which nothing need be wrong."""


class Reading:
    """What is known of the workers: ``reached`` says of which, and as of when; ``unread`` why not of the others."""

    def __init__(self, manager: Client, clusters: Mapping[str, MultiKueueCluster], asker: Asker) -> None:
        self.policy = asker.policy
        self.views = Views(asker.policy)
        self.reached: dict[str, datetime] = {}
        self.unread: dict[str, str] = {}
        self._manager = manager
        self._clusters = clusters
        self._asker = asker
        self._secrets: dict[Key, Document] = {}

    async def read(self, clusters: Sequence[str]) -> None:
        await asyncio.gather(*(self._worker(name) for name in clusters))

    async def transport(self, name: str) -> Transport:
        """A connection to a worker. Raises CredentialError, KubeconfigError, ApiError, ConnectionError."""
        return self._asker.own.get(name) or self._asker.transport(await self._credential(name))

    async def _worker(self, name: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                transport = await self.transport(name)
                client = Client(transport, self._manager.clock, user_agent="fedhub-cli")
                try:
                    events = await _knowledge(client, name)
                finally:
                    if name not in self._asker.own:
                        await client.close()
        except TimeoutError:
            self.unread[name] = f"it does not answer within {PATIENCE_SECONDS:g} s"
        except (CredentialError, KubeconfigError, ConnectionError) as error:
            self.unread[name] = str(error)
        except ApiError as error:
            self.unread[name] = error.message
        else:
            now = self._manager.clock.now()
            self.views.apply(events, now)
            self.reached[name] = now

    async def _credential(self, name: str) -> Credential:
        """Raises CredentialError."""
        cluster = self._clusters[name]
        source = cluster.spec.cluster_source
        if source.agent is not None:
            message = f"its agent dials the hub: give a context of your own with --worker {name}=CONTEXT"
            raise NeedsOwnContext("AgentNotReadable", message)
        if source.cluster_profile_ref is not None:
            message = (
                f"the hub runs a program for its credential: give a context of your own with --worker {name}=CONTEXT"
            )
            raise NeedsOwnContext("ProfileNotReadable", message)
        if source.kube_config is not None and not credentials.uses_path(cluster):
            await self._secret(Key(self._asker.configuration.namespace, source.kube_config.location), name)
        configuration = self._asker.configuration
        sources = CredentialSources(
            configuration.namespace,
            self._secrets.get,
            path_prefix=configuration.path_prefix,
        )
        return credentials.load(cluster, sources)

    async def _secret(self, key: Key, cluster: str) -> None:
        try:
            self._secrets[key] = msgspec.json.decode(await self._manager.get(kinds.SECRETS, key.name, key.namespace))
        except NotFound:
            await self._installed_secret(key, cluster)
        except Forbidden:
            message = f"you may not read Secret {key}: give a context of your own with --worker {cluster}=CONTEXT"
            raise NeedsOwnContext("SecretNotReadable", message) from None

    async def _installed_secret(self, key: Key, cluster: str) -> None:
        """The same where the hub is installed: an asker without the hub's settings need not know that namespace."""
        try:
            labelled = f"{program.PART_OF}={program.OURS}"
            found = (await self._manager.list(kinds.DEPLOYMENTS, label_selector=labelled)).items
            namespace = program.namespace([msgspec.json.decode(each) for each in found], PROGRAM)
            if namespace and namespace != self._asker.configuration.namespace:
                secret = await self._manager.get(kinds.SECRETS, key.name, namespace)
                self._secrets[key] = msgspec.json.decode(secret)
        except NotFound:
            return
        except Forbidden:
            message = f"there is no Secret {key}: give the hub's --config, or a context: --worker {cluster}=CONTEXT"
            raise NeedsOwnContext("SecretNotReadable", message) from None


async def _knowledge(client: Client, cluster: str) -> list[KnowledgeEvent]:
    """Everything the hub would know of a worker. Raises ApiError where it refuses to tell of Workloads."""
    listed = await asyncio.gather(*(_listed(client, resource) for resource in READ))
    events, hidden = [], []
    for resource, items in zip(READ, listed, strict=True):
        if items is None:
            hidden.append(resource.plural)
        for raw in items or ():
            metadata = msgspec.json.decode(raw)["metadata"]
            key = metadata.get("namespace", ""), metadata["name"]
            events.append(KnowledgeEvent(cluster, resource.plural, *key, raw))
    return [*events, KnowledgeEvent(cluster, UNREADABLE, raw=",".join(hidden).encode())]


async def _listed(client: Client, resource: ResourceType) -> list[bytes] | None:
    """None where the worker does not know the kind, or does not let us read it."""
    try:
        return (await client.list(resource)).items
    except (Forbidden, NotFound):
        if resource is kinds.WORKLOADS:
            raise
        return None
