"""What ``fedhub enroll`` and ``unenroll`` do on the manager cluster."""

import shlex
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from hub.clusters.agents.enrolments import Enrolments
from hub.clusters.agents.tokens import Token
from worker_agent.api.document import Document
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS, SECRETS
from worker_agent.kube import authority
from worker_agent.kube.client import Client
from worker_agent.kube.errors import AlreadyExists, NotFound
from worker_agent.tunnel import protocol


class EnrollingError(Exception):
    """The cluster cannot be enrolled; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Invited:
    """A token and what goes with it. ``created``: the MultiKueueCluster was made for it."""

    agent: str
    token: Token
    pin: str
    expires_at: datetime
    created: bool

    def command(self, hubs: tuple[str, ...]) -> str:
        """For the shell of whoever administers the worker. Holds the token."""
        words = ["fedhub-agent", "join", self.agent]
        for hub in hubs:
            words += ["--hub", hub]
        return shlex.join([*words, "--ca-pin", self.pin, "--token", self.token.text])


async def invite(client: Client, namespace: str, cluster: str, lifetime: timedelta) -> Invited:
    """Raises EnrollingError, AuthorityUnusable, ApiError, ConnectionError."""
    found, created = await _cluster(client, cluster)
    source = found.spec.cluster_source.agent
    if source is None:
        raise EnrollingError(
            f"MultiKueueCluster {cluster} is reached in another way; set spec.clusterSource to"
            f" {{agent: {{name: {cluster}}}}} first"
        )
    if not protocol.is_agent_name(source.name):
        raise EnrollingError(
            f"MultiKueueCluster {cluster}: spec.clusterSource.agent.name {source.name!r} must be at most"
            f" {protocol.LONGEST_NAME} lower case letters, digits, '-' and '.'"
        )
    owner: Document = {
        "apiVersion": MULTIKUEUE_CLUSTERS.api_version,
        "kind": MULTIKUEUE_CLUSTERS.kind,
        "name": cluster,
        "uid": found.metadata.uid,
    }
    enrolments = Enrolments(client, namespace)
    pin = authority.pin((await enrolments.authority()).certificate)
    token = await enrolments.issue_token(source.name, lifetime, owner)
    return Invited(source.name, token, pin, client.clock.now() + lifetime, created)


async def withdraw(client: Client, namespace: str, cluster: str) -> bool:
    """False where there was nothing to withdraw. Raises ApiError, ConnectionError."""
    try:
        raw = await client.get(MULTIKUEUE_CLUSTERS, cluster)
        source = msgspec.json.decode(raw, type=MultiKueueCluster).spec.cluster_source.agent
        agent = source.name if source is not None else cluster
    except NotFound:
        agent = cluster
    page = await client.list(SECRETS, namespace)
    secrets: list[Any] = [msgspec.json.decode(item) for item in page.items]
    return await Enrolments(client, namespace).unenrol(agent, secrets)


async def _cluster(client: Client, name: str) -> tuple[MultiKueueCluster, bool]:
    document: Document = {
        "apiVersion": MULTIKUEUE_CLUSTERS.api_version,
        "kind": MULTIKUEUE_CLUSTERS.kind,
        "metadata": {"name": name},
        "spec": {"clusterSource": {"agent": {"name": name}}},
    }
    try:
        raw = await client.get(MULTIKUEUE_CLUSTERS, name)
        return msgspec.json.decode(raw, type=MultiKueueCluster), False
    except NotFound:
        pass
    try:
        raw = await client.create(MULTIKUEUE_CLUSTERS, document)
    except AlreadyExists:
        raw = await client.get(MULTIKUEUE_CLUSTERS, name)
        return msgspec.json.decode(raw, type=MultiKueueCluster), False
    return msgspec.json.decode(raw, type=MultiKueueCluster), True
