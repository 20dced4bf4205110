"""Settings of the hub: those of an agent (the hub is one on its manager cluster) and the ``federation`` stanza.

Kueue's own ``multiKueue`` stanza keeps its meaning (origin, gcInterval, workerLostTimeout, dispatcherName).
"""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from worker_agent.setting_values import AddressOrOff, NonNegativeDuration, PositiveDuration, Stanza
from worker_agent.settings import AgentSettings
from worker_agent.tunnel import protocol


class Ray(Stanza):
    address: str = ""
    """An existing Ray cluster (``ray://host:10001`` or ``auto``); empty starts a local one when it is needed."""
    actors: Annotated[int, Field(ge=1, le=256)] = 2
    """Long-lived actors over which the worker clusters are sharded."""


class Fencing(Stanza):
    """What is left out is derived from ``multiKueue.workerLostTimeout``."""

    lease_duration: PositiveDuration | None = None
    """Without a sign of life from the hub for so long, a worker's agent stops jobs that may be started elsewhere."""
    stopping_time: PositiveDuration | None = None
    """How long a job may take to stop, the grace period of its pods included."""


def _hub_addresses(values: list[str]) -> list[str]:
    return [protocol.address(value) for value in values]


class Agents(Stanza):
    """Workers whose agents dial in (``clusterSource.agent``)."""

    bind_address: AddressOrOff = "0"
    """Host and port where agents are served; ``0`` serves none."""
    addresses: Annotated[list[str], AfterValidator(_hub_addresses)] = []
    """``https://host:port`` as agents reach the hub: one that leads to any of its replicas, or one of each; its
    certificate is made for these hosts."""
    certificate_validity: PositiveDuration = timedelta(days=30)
    """Of an agent's certificate; it is renewed after two thirds of that."""
    heartbeat: PositiveDuration = timedelta(seconds=10)
    """A connection that is silent for three of them counts as dead."""

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.bind_address != "0" and not self.addresses:
            raise ValueError("addresses must name at least one https://host:port when bindAddress is set")
        return self


class JobViews(Stanza):
    """Pods, events and logs of jobs in workers, for users of the manager (``fedhub logs|pods|events``): an aggregated
    API, so the manager's API server must be able to reach it."""

    bind_address: AddressOrOff = "0"
    """Host and port where the manager's API server is answered; ``0`` serves none."""
    service_name: str = "fedhub-hub"
    """The Service in the hub's namespace that leads there."""
    service_port: Annotated[int, Field(ge=1, le=65535)] = 443
    external_host: str = ""
    """Where the hub is found if it runs outside of the manager's cluster: the Service is made to point there."""


class Federation(Stanza):
    evaluation: Literal["inline", "ray", "auto"] = "inline"
    """Where candidate clusters are evaluated; ``auto`` starts Ray only after inline rounds took too long."""
    inline_budget: PositiveDuration = timedelta(milliseconds=500)
    """What an inline round may take before ``auto`` counts it as too long."""
    ray: Ray = Ray()
    fencing: Fencing = Fencing()
    round_timeout: PositiveDuration = timedelta(minutes=5)
    """How long a nominated cluster may take to admit before the next one is tried."""
    batch_period: NonNegativeDuration = timedelta(milliseconds=200)
    """How long remote events are collected before their Workloads are looked at again."""
    reconnect_maximum: PositiveDuration = timedelta(minutes=5)
    """The longest pause between attempts to reach a lost worker."""
    agents: Agents = Agents()
    job_views: JobViews = JobViews()


class HubSettings(AgentSettings):
    """Everything the hub can be told; in the environment e.g. ``FEDHUB_FEDERATION__EVALUATION=ray``."""

    federation: Federation = Federation()
