"""Where a worker's credential comes from: a Secret, a file, or a ClusterProfile (spec section 5.1)."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from hub.clusters import cluster_profile, kubeconfig_path, kubeconfig_safety
from hub.clusters.kubeconfig_path import RefusedPath
from hub.clusters.kubeconfig_safety import ClientSettings, InsecureKubeconfig
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import KubeConfigSource, MultiKueueCluster
from worker_agent.api.resource_type import ResourceType

CLUSTER_PROFILES: Final = ResourceType("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile", "clusterprofiles")

PATH: Final = "Path"


@dataclass(frozen=True, slots=True)
class Credential:
    """What a connection is made from. Two equal ones need no new connection. Kept out of ``repr``: it is a secret."""

    kubeconfig: bytes | None = field(default=None, repr=False)
    settings: ClientSettings | None = field(default=None, repr=False)
    agent: str = ""
    """The worker is reached through the connection of this agent; it was there ``meeting`` times so far."""
    meeting: int = 0


class CredentialError(Exception):
    """No credential can be had. ``reason`` goes into the Active condition; ``missing`` says that an object is not
    there, whose arrival will be noticed, so that no retry is needed."""

    def __init__(self, reason: str, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.missing = missing


class AgentDirectory(Protocol):
    """What is known of agents that dial in."""

    def enrolled(self, agent: str) -> bool: ...

    def meeting(self, agent: str) -> int:
        """How often the agent came into contact: when it grows the worker is tried at once."""


class AccessProvider(Protocol):
    """Turns a ClusterProfile's data into client settings. Raises ValueError where it cannot."""

    def __call__(self, profile: Document) -> ClientSettings: ...


@dataclass(frozen=True, slots=True)
class CredentialSources:
    """``secret`` and ``profile`` read objects of the hub's own ``namespace``; None where there is no such object.

    ``path_prefix`` is where files must lie; None (the gate is off) reads any path. ``profiles_enabled`` is the gate
    MultiKueueClusterProfile.
    """

    namespace: str
    secret: Callable[[Key], Document | None]
    profile: Callable[[Key], Document | None] = lambda key: None
    read_file: Callable[[Path], bytes] = Path.read_bytes
    path_prefix: Path | None = kubeconfig_path.ALLOWED_PREFIX
    profiles_enabled: bool = False
    access_providers: Mapping[str, AccessProvider] = field(default_factory=dict)
    agents: AgentDirectory | None = None
    """None where this hub serves no agents."""


def uses_path(cluster: MultiKueueCluster) -> bool:
    source = cluster.spec.cluster_source.kube_config
    return source is not None and source.location_type == PATH


def load(cluster: MultiKueueCluster, sources: CredentialSources) -> Credential:
    """The credential a MultiKueueCluster names, checked. Raises CredentialError."""
    source = cluster.spec.cluster_source
    if source.cluster_profile_ref is not None:
        return _from_profile(source.cluster_profile_ref.name, sources)
    if source.agent is not None:
        return _of_agent(source.agent.name, sources)
    if source.kube_config is None:
        raise CredentialError(
            "BadKubeConfig", "spec.clusterSource names none of kubeConfig, clusterProfileRef and agent"
        )
    content = _content(source.kube_config, sources)
    try:
        kubeconfig_safety.check(content)
    except InsecureKubeconfig as error:
        raise CredentialError("InsecureKubeConfig", str(error)) from error
    return Credential(kubeconfig=content)


def _of_agent(name: str, sources: CredentialSources) -> Credential:
    if sources.agents is None:
        raise CredentialError(
            "AgentsNotServed",
            "spec.clusterSource.agent: this hub serves no agents; set federation.agents.bindAddress and addresses",
        )
    if not sources.agents.enrolled(name):
        message = f'no agent has enrolled as "{name}"; to invite it: fedhub enroll {name}'
        raise CredentialError("AgentNotEnrolled", message, missing=True)
    return Credential(agent=name, meeting=sources.agents.meeting(name))


def _content(source: KubeConfigSource, sources: CredentialSources) -> bytes:
    if source.location_type == PATH:
        return _file(source.location, sources)
    secret = sources.secret(Key(sources.namespace, source.location))
    if secret is None:
        raise CredentialError("BadKubeConfig", f'secrets "{source.location}" not found', missing=True)
    data = value_at(secret, "data", {})
    if names.KUBECONFIG_SECRET_KEY not in data:
        message = f'key "{names.KUBECONFIG_SECRET_KEY}" not found in secret "{source.location}"'
        raise CredentialError("BadKubeConfig", message)
    try:
        return base64.b64decode(data[names.KUBECONFIG_SECRET_KEY], validate=True)
    except (binascii.Error, TypeError) as error:
        message = f'key "{names.KUBECONFIG_SECRET_KEY}" in secret "{source.location}" is not base64'
        raise CredentialError("BadKubeConfig", message) from error


def _file(location: str, sources: CredentialSources) -> bytes:
    try:
        if sources.path_prefix is not None:
            kubeconfig_path.validate(location, sources.path_prefix)
        return sources.read_file(Path(location))
    except RefusedPath as error:
        raise CredentialError("BadKubeConfig", str(error)) from error
    except OSError as error:
        raise CredentialError("BadKubeConfig", f"open {location}: {error.strerror}") from error


def _from_profile(name: str, sources: CredentialSources) -> Credential:
    if not sources.profiles_enabled:
        raise CredentialError(
            "MultiKueueClusterProfileFeatureDisabled", "MultiKueueClusterProfile feature gate is disabled"
        )
    profile = sources.profile(Key(sources.namespace, name))
    if profile is None:
        message = f'{CLUSTER_PROFILES.plural}.{CLUSTER_PROFILES.group} "{name}" not found'
        raise CredentialError("BadClusterProfile", message, missing=True)
    settings = _provided(profile, sources)
    try:
        kubeconfig_safety.check_settings(settings, exec_allowed=True)
    except InsecureKubeconfig as error:
        raise CredentialError("BadRestConfig", str(error)) from error
    return Credential(settings=settings)


def _provided(profile: Document, sources: CredentialSources) -> ClientSettings:
    """What the first configured provider that the profile offers makes of it."""
    if not sources.access_providers:
        raise CredentialError("BadClusterProfile", "no access provider configured")
    try:
        for entry in cluster_profile.offers(profile):
            provider = sources.access_providers.get(entry["name"])
            if provider is not None:
                return provider(profile)
    except ValueError as error:
        raise CredentialError("BadClusterProfile", str(error)) from error
    message = f'no access provider of cluster profile "{profile["metadata"]["name"]}" is configured'
    raise CredentialError("BadClusterProfile", message)
