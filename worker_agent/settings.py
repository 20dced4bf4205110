"""Settings of an agent: a YAML file in Kueue's Configuration schema, then the environment, checked before a start.

File: ``config.kueue.x-k8s.io/v1beta2``, kind ``Configuration``; unknown fields are refused (spec/operations section 2).
Environment: ``FEDHUB_`` and the field's name in snake case, nested with two underscores, for example
``FEDHUB_METRICS__BIND_ADDRESS=:9090``; the environment wins over the file. A wrong setting raises SettingsError, whose
text names the setting, its value and what is allowed.
"""

from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from worker_agent.api.frameworks import FRAMEWORKS
from worker_agent.cluster_profile_settings import ClusterProfileStanza
from worker_agent.declared_kind_settings import DeclaredKindStanza
from worker_agent.serving_settings import Health, Metrics, TransportSecurity, VisibilityServer, Webhook
from worker_agent.setting_values import (
    DnsLabel,
    DnsSubdomain,
    ExternalKindName,
    NonNegative,
    NonNegativeDuration,
    PositiveDuration,
    QualifiedName,
    QuantityText,
    Seconds,
    Stanza,
)


class InternalCertificateManagement(Stanza):
    enable: bool = True
    webhook_service_name: DnsLabel = "kueue-webhook-service"
    webhook_secret_name: DnsSubdomain = "kueue-webhook-server-cert"


class LeaderElection(Stanza):
    leader_elect: bool = True
    resource_name: DnsSubdomain = "c1f6bfd2.kueue.x-k8s.io"
    resource_namespace: DnsLabel | Literal[""] = ""
    resource_lock: Literal["leases"] = "leases"
    lease_duration: PositiveDuration = timedelta(seconds=15)
    renew_deadline: PositiveDuration = timedelta(seconds=10)
    retry_period: PositiveDuration = timedelta(seconds=2)

    @model_validator(mode="after")
    def _order(self) -> Self:
        if not self.lease_duration > self.renew_deadline > self.retry_period:
            raise ValueError("must satisfy leaseDuration > renewDeadline > retryPeriod")
        return self


class ControllerOptions(Stanza):
    group_kind_concurrency: dict[str, Annotated[int, Field(ge=1)]] = {}
    cache_sync_timeout: int | None = Field(default=None, ge=0)
    """Nanoseconds, as in Kueue."""


class ClientConnection(Stanza):
    qps: float = Field(default=300.0, allow_inf_nan=False)
    """Negative switches the limit off."""
    burst: int = 500


class RequeuingStrategy(Stanza):
    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: NonNegative | None = None
    backoff_base_seconds: Seconds = 60
    backoff_max_seconds: Seconds = 3600


class WaitForPodsReady(Stanza):
    """Copies that a hub sent tell after five minutes that their pods are ready, but at once where much hangs on it:
    ``block_admission``, a ``timeout`` below ten minutes, a ``recovery_timeout`` other than that."""

    timeout: NonNegativeDuration = timedelta(minutes=30)
    block_admission: bool = False
    recovery_timeout: NonNegativeDuration | None = None
    """Defaults to ``timeout``; ``0s`` switches the recovery check off."""
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()


class Integrations(Stanza):
    frameworks: list[str] = ["batch/job"]
    external_frameworks: list[ExternalKindName] = []
    declared_kinds: list[DeclaredKindStanza] = []
    """Job kinds of one's own: described here, they are queued, admitted and dispatched like the built-in ones."""
    label_keys_to_copy: list[QualifiedName] = []

    @model_validator(mode="after")
    def _known(self) -> Self:
        for index, name in enumerate(self.frameworks):
            if name not in FRAMEWORKS:
                raise ValueError(f"frameworks[{index}] {name!r} must be one of {', '.join(FRAMEWORKS)}")
            if name in self.frameworks[:index]:
                raise ValueError(f"frameworks[{index}] {name!r} is there already")
        declared = [(each.api_version, each.kind) for each in self.declared_kinds]
        for index, gvk in enumerate(declared):
            if gvk in declared[:index]:
                raise ValueError(f"declaredKinds[{index}] {gvk[1]!r} of {gvk[0]} is there already")
        return self


class FairSharing(Stanza):
    ALLOWED: ClassVar = (
        ["LessThanOrEqualToFinalShare"],
        ["LessThanInitialShare"],
        ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
    )
    preemption_strategies: list[str]

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.preemption_strategies not in self.ALLOWED:
            raise ValueError(f"preemptionStrategies must be one of {', '.join(map(str, self.ALLOWED))}")
        return self


class AdmissionFairSharing(Stanza):
    usage_half_life_time: NonNegativeDuration
    usage_sampling_interval: PositiveDuration = timedelta(minutes=5)
    resource_weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = {}


class ResourceTransformation(Stanza):
    input: str = Field(min_length=1)
    strategy: Literal["Retain", "Replace"] = "Retain"
    multiply_by: str = ""
    outputs: dict[str, QuantityText] = {}


class CelSelector(Stanza):
    expression: str = Field(max_length=10 * 1024)


class DeviceSelector(Stanza):
    cel: CelSelector


class DeviceMeasure(Stanza):
    """A counter that devices consume, or a capacity that they offer, of one driver."""

    name: str = Field(min_length=1)
    driver: str = Field(min_length=1, max_length=63)
    device_selector: DeviceSelector


class DeviceSource(Stanza):
    counter: DeviceMeasure | None = None
    capacity: DeviceMeasure | None = None

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.counter is None) == (self.capacity is None):
            raise ValueError("exactly one of counter and capacity must be given")
        return self


class DeviceClassMapping(Stanza):
    """DeviceClasses that count as one quota resource; ``sources`` charge what their devices take, not their number."""

    name: QualifiedName
    device_class_names: list[QualifiedName] = Field(min_length=1, max_length=8)
    sources: list[DeviceSource] = []


class Resources(Stanza):
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] | None = None
    exclude_resource_prefixes: list[str] = []
    transformations: list[ResourceTransformation] = []
    device_class_mappings: list[DeviceClassMapping] = Field(default=[], max_length=16)

    @model_validator(mode="after")
    def _together(self) -> Self:
        inputs = [transformation.input for transformation in self.transformations]
        if len(set(inputs)) < len(inputs):
            raise ValueError(f"transformations[].input must be unique, found {', '.join(inputs)}")
        for what, named in self._named_once():
            if len(set(named)) < len(named):
                raise ValueError(f"deviceClassMappings[].{what} must be unique, found {', '.join(named)}")
        if self.quota_check_strategy == "IgnoreUndeclared" and self.exclude_resource_prefixes:
            raise ValueError("quotaCheckStrategy IgnoreUndeclared may not be used with excludeResourcePrefixes")
        return self

    def _named_once(self) -> list[tuple[str, list[str]]]:
        mappings = self.device_class_mappings
        classes = [name for mapping in mappings for name in mapping.device_class_names]
        return [("name", [mapping.name for mapping in mappings]), ("deviceClassNames", classes)]


class WorkloadRetention(Stanza):
    after_finished: NonNegativeDuration | None = None
    after_deactivated_by_kueue: NonNegativeDuration | None = None


class ObjectRetentionPolicies(Stanza):
    workloads: WorkloadRetention | None = None


class IncrementalDispatcher(Stanza):
    step_size: int = Field(default=3, ge=1)


class ExternalFramework(Stanza):
    name: str = Field(pattern=r"^[A-Z][A-Za-z0-9]*\.v[0-9][a-z0-9]*\.[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
    """``Kind.version.group``"""
    plural: str = Field(default="", pattern=r"^[a-z0-9]*$")
    """Where it does not follow from the kind by the usual rule."""


class MultiKueueStanza(Stanza):
    INCREMENTAL: ClassVar = "kueue.x-k8s.io/multikueue-dispatcher-incremental"

    gc_interval: NonNegativeDuration = timedelta(minutes=1)
    origin: str = Field(default="multikueue", max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")
    worker_lost_timeout: NonNegativeDuration = timedelta(minutes=15)
    dispatcher_name: str = ""
    """Empty takes the program's default: ``fedhub.dev/capacity-aware`` in the hub."""
    external_frameworks: list[ExternalFramework] = []
    """Kinds whose Workloads are made by programs of others on the manager: their jobs are dispatched too."""
    cluster_profile: ClusterProfileStanza = ClusterProfileStanza()
    """How credentials are got for clusters that a ClusterProfile tells of (gate MultiKueueClusterProfile)."""
    incremental_dispatcher_config: IncrementalDispatcher | None = None

    @model_validator(mode="after")
    def _dispatcher_of_its_own(self) -> Self:
        if self.incremental_dispatcher_config is not None and self.dispatcher_name != self.INCREMENTAL:
            raise ValueError(f"incrementalDispatcherConfig may only be set with dispatcherName {self.INCREMENTAL}")
        return self


class AllowRule(Stanza):
    """What the hub may read or do beyond the allow-list; writes under it are not tied to the hub's own objects."""

    api_group: str = ""
    resource: Annotated[str, Field(pattern=r"^[a-z]+(/[a-z]+)?$")]
    """A plural, or one with its subresource: ``pods/log``."""
    verbs: Annotated[list[Literal["get", "list", "watch", "create", "update", "patch", "delete"]], Field(min_length=1)]
    namespaced: bool = True


class HubTunnel(Stanza):
    """The connection this agent dials to its hub once the cluster has joined, and what may come through it."""

    enable: bool = True
    namespaces: list[str] = ["*"]
    """Shell patterns of the namespaces open to the hub; never ``kube-*`` and the agent's own."""
    protected_namespaces: list[str] = []
    """Shell patterns of namespaces that are closed whatever ``namespaces`` says."""
    additional_rules: list[AllowRule] = []
    heartbeat: PositiveDuration = timedelta(seconds=10)


class AgentSettings(BaseSettings):
    """Everything an agent can be told. Field docs stand at the field; defaults are Kueue's."""

    model_config = SettingsConfigDict(
        env_prefix="FEDHUB_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )
    api_version: Literal["config.kueue.x-k8s.io/v1beta2"] = "config.kueue.x-k8s.io/v1beta2"
    kind: Literal["Configuration"] = "Configuration"
    namespace: DnsLabel = "kueue-system"
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: dict[str, Any] | None = None
    internal_cert_management: InternalCertificateManagement = InternalCertificateManagement()
    webhook: Webhook = Webhook()
    metrics: Metrics = Metrics()
    health: Health = Health()
    pprof_bind_address: str = ""
    leader_election: LeaderElection = LeaderElection()
    controller: ControllerOptions = ControllerOptions()
    client_connection: ClientConnection = ClientConnection()
    tls: TransportSecurity = TransportSecurity()
    wait_for_pods_ready: WaitForPodsReady | None = WaitForPodsReady()
    integrations: Integrations = Integrations()
    multi_kueue: MultiKueueStanza = MultiKueueStanza()
    fair_sharing: FairSharing | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    resources: Resources = Resources()
    feature_gates: dict[str, bool] = {}
    object_retention_policies: ObjectRetentionPolicies | None = None
    visibility_server: VisibilityServer = VisibilityServer()
    hub_tunnel: HubTunnel = HubTunnel()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment before the file: init arguments carry what the file says."""
        return env_settings, init_settings
