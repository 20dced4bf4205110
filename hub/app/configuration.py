"""What the federation's settings mean, as plain values: the controllers of the hub know no settings."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from hub.clusters import kubeconfig_path
from hub.clusters.cluster_profile import PluginProvider
from hub.clusters.credentials import AccessProvider
from hub.engine.fencing import FenceTiming
from hub.engine.remote_group import CAPACITY_AWARE, SyncPolicy
from hub.settings import Agents, HubSettings, JobViews
from worker_agent import cluster_profile_settings as settings_of_profiles
from worker_agent.api.job_kind import JobKind
from worker_agent.app import configuration as agent_configuration
from worker_agent.app.configuration import Configuration, ConfigurationError
from worker_agent.app.health import split_address
from worker_agent.jobs import KINDS, declared
from worker_agent.kube.exec_plugin import ExecPlugin

log = logging.getLogger(__name__)

DEFAULT_STEP_SIZE: Final = 3


@dataclass(frozen=True, slots=True)
class AgentService:
    """Where agents that dial in are served, and what their certificates are like. ``host`` None is every address."""

    host: str | None
    port: int
    addresses: tuple[str, ...]
    certificate_validity: timedelta = timedelta(days=30)
    heartbeat: float = 10.0


@dataclass(frozen=True, slots=True)
class ViewService:
    """Where users' questions about their remote jobs are answered. ``host`` None is every address; ``external_host`` is
    told to the API server where the hub runs outside of its cluster."""

    host: str | None
    port: int
    service: str = "fedhub-hub"
    service_port: int = 443
    external_host: str = ""


@dataclass(frozen=True, slots=True)
class FederationConfiguration:
    """Times without a type are seconds.

    ``gc_interval`` 0 collects no orphans. ``path_prefix`` is where kubeconfig files of workers must lie, None is
    anywhere. ``evaluation`` is ``inline``, ``ray`` or ``auto``.
    """

    namespace: str = "kueue-system"
    sync: SyncPolicy = field(default_factory=SyncPolicy)
    fence: FenceTiming = field(default_factory=FenceTiming)
    gc_interval: float = 60.0
    batch_period: float = 1.0
    round_timeout: timedelta = timedelta(minutes=5)
    step_size: int = DEFAULT_STEP_SIZE
    keep_config_order: bool = True
    path_prefix: Path | None = kubeconfig_path.ALLOWED_PREFIX
    profiles_enabled: bool = False
    access_providers: Mapping[str, AccessProvider] = field(default_factory=dict)
    quota_automation: bool = False
    evaluation: str = "inline"
    inline_budget: float = 0.5
    ray_address: str = ""
    ray_actors: int = 2
    watch_silence: float = 120.0
    request_timeout: float = 10.0
    """How long one request to a worker may take before the worker counts as lost."""
    external_kinds: tuple[JobKind, ...] = ()
    """Kinds whose Workloads are made by programs of others, and which are dispatched all the same."""
    agents: AgentService | None = None
    """None serves no agents that dial in."""
    views: ViewService | None = None
    """None answers no questions about pods and logs in workers."""
    threaded: bool = True
    """False evaluates in the event loop: for virtual time."""


def resolve(settings: HubSettings) -> tuple[Configuration, FederationConfiguration]:
    """The agent's configuration and the federation's. Raises what the agent's ``configuration.resolve`` raises."""
    agent = agent_configuration.resolve(settings)
    stanza, federation, gates = settings.multi_kueue, settings.federation, agent.gates
    step = stanza.incremental_dispatcher_config
    step_size = step.step_size if step is not None and gates["MultiKueueIncrementalDispatcherConfig"] else None
    validated = gates["MultiKueueKubeConfigPathValidation"]
    fence = FenceTiming.derived(
        stanza.worker_lost_timeout, federation.fencing.lease_duration, federation.fencing.stopping_time
    )
    _check_fence(fence, settings)
    sync = SyncPolicy(
        origin=stanza.origin or SyncPolicy().origin,
        worker_lost_timeout=stanza.worker_lost_timeout,
        dispatcher=stanza.dispatcher_name or CAPACITY_AWARE,
        lease_seconds=fence.lease_seconds,
        orchestrated_preemption=gates["MultiKueueOrchestratedPreemption"],
        priority_boost=gates["PriorityBoost"],
        jobs=agent.jobs,
    )
    return agent, FederationConfiguration(
        namespace=settings.namespace,
        sync=sync,
        fence=fence,
        gc_interval=stanza.gc_interval.total_seconds(),
        batch_period=federation.batch_period.total_seconds(),
        round_timeout=federation.round_timeout,
        step_size=step_size or DEFAULT_STEP_SIZE,
        keep_config_order=gates["MultiKueueIncrementalDispatcherRespectConfigOrder"],
        path_prefix=kubeconfig_path.ALLOWED_PREFIX if validated else None,
        profiles_enabled=gates["MultiKueueClusterProfile"],
        access_providers={each.name: _provider(each) for each in stanza.cluster_profile.providers},
        quota_automation=gates["MultiKueueManagerQuotaAutomation"],
        evaluation=federation.evaluation,
        inline_budget=federation.inline_budget.total_seconds(),
        ray_address=federation.ray.address,
        ray_actors=federation.ray.actors,
        external_kinds=tuple(_external(settings, agent.kinds)) if gates["MultiKueueAdaptersForCustomJobs"] else (),
        agents=_agents(federation.agents),
        views=_views(federation.job_views),
    )


def _provider(stanza: settings_of_profiles.AccessProvider) -> PluginProvider:
    config = stanza.exec_config
    plugin = ExecPlugin(
        config.command,
        config.api_version,
        tuple(config.args),
        tuple((variable.name, variable.value) for variable in config.env),
        config.install_hint,
    )
    return PluginProvider(stanza.name, plugin, config.provide_cluster_info)


def _external(settings: HubSettings, enabled: Mapping[str, JobKind]) -> Iterator[JobKind]:
    """``multiKueue.externalFrameworks`` as kinds. Raises ConfigurationError."""
    taken = {(kind.resource.group, kind.resource.kind) for kind in (*KINDS.values(), *enabled.values())}
    for index, stanza in enumerate(settings.multi_kueue.external_frameworks):
        place = f"multiKueue.externalFrameworks[{index}].name"
        name = stanza.name
        kind = declared.external(name, stanza.plural)
        found = (kind.resource.group, kind.resource.kind)
        if found in taken:
            raise ConfigurationError(f"{place}: {name!r}: there is already an adapter for this kind; leave it out")
        taken.add(found)
        yield kind


def _agents(stanza: Agents) -> AgentService | None:
    if stanza.bind_address == "0":
        return None
    host, port = split_address(stanza.bind_address)
    validity, heartbeat = stanza.certificate_validity, stanza.heartbeat.total_seconds()
    return AgentService(host, port, tuple(stanza.addresses), validity, heartbeat)


def _views(stanza: JobViews) -> ViewService | None:
    if stanza.bind_address == "0":
        return None
    host, port = split_address(stanza.bind_address)
    return ViewService(host, port, stanza.service_name, stanza.service_port, stanza.external_host)


def _check_fence(fence: FenceTiming, settings: HubSettings) -> None:
    """Times that were asked for must leave an agent the time to stop a job before the hub starts it elsewhere.

    A worker-lost timeout that is too short for any lease is served as Kueue does. Raises ConfigurationError.
    """
    wrong = fence.too_long_for(settings.multi_kueue.worker_lost_timeout)
    if not wrong:
        return
    asked = settings.federation.fencing
    if asked.lease_duration is not None or asked.stopping_time is not None:
        raise ConfigurationError(wrong)
    log.warning("jobs of lost workers may run twice for a while: %s", wrong)
