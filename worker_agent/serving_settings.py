"""Settings of what the program listens on: webhooks, metrics, probes, the visibility API, and TLS on all of them."""

from typing import Any, Literal, Self

import msgspec
from pydantic import Field, model_validator

from worker_agent.api.meta import LabelSelector
from worker_agent.api.selectors import SelectorError, compile_selector
from worker_agent.setting_values import Address, AddressOrOff, DnsLabel, IpAddress, PortNumber, Stanza


class Webhook(Stanza):
    port: int = Field(default=9443, ge=0, le=65535)
    """0 takes any free port (local mode)."""
    host: str = ""
    cert_dir: str = ""
    url: str = ""
    """Ours: the base URL under which the API server reaches the webhooks; empty means the in-cluster Service."""
    lease_read_seconds: float = Field(default=3.0, gt=0, le=8)
    """Ours: how long the webhook of jobs waits for the hub's lease before it leaves the job held; the API server waits
    for the webhook 10 s."""


class LocalQueueMetrics(Stanza):
    enable: bool = False
    local_queue_selector: dict[str, Any] | None = None

    @property
    def selector(self) -> LabelSelector:
        return msgspec.convert(self.local_queue_selector or {}, LabelSelector)

    @model_validator(mode="after")
    def _compiles(self) -> Self:
        try:
            compile_selector(self.selector)
        except (SelectorError, msgspec.ValidationError) as error:
            raise ValueError(f"localQueueSelector: {error}") from None
        return self


class CustomLabel(Stanza):
    """A label of metrics, ``custom_<name>``, read from a label (by default of the same name) or an annotation."""

    name: str = Field(pattern="^[a-zA-Z][a-zA-Z0-9_]*$")
    source_label_key: str = ""
    source_annotation_key: str = ""
    source_kind: Literal["Cohort", "LocalQueue", "ClusterQueue", "Workload"] = "ClusterQueue"
    tracked_values: list[str] = Field(default=[], max_length=16)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.source_label_key and self.source_annotation_key:
            raise ValueError("at most one of sourceLabelKey and sourceAnnotationKey may be given")
        if len(set(self.tracked_values)) < len(self.tracked_values):
            raise ValueError("trackedValues must be unique")
        if self.source_kind == "Workload" and not 1 <= len(self.tracked_values) <= MOST_TRACKED_OF_WORKLOADS:
            raise ValueError(f"1 to {MOST_TRACKED_OF_WORKLOADS} trackedValues must be given with sourceKind Workload")
        return self


MOST_TRACKED_OF_WORKLOADS = 12
MOST_LABELS = {"Cohort": 6, "LocalQueue": 6, "ClusterQueue": 6, "Workload": 2}


class Metrics(Stanza):
    bind_address: AddressOrOff = ":8443"
    """Host and port; ``0`` switches metrics off."""
    secure_serving: bool = True
    """Ours: HTTPS, and only for those who may get ``/metrics``. False serves anybody over plain HTTP."""
    cert_dir: str = ""
    """Ours: where ``tls.crt`` and ``tls.key`` are without internal certificates; empty is Kueue's place."""
    enable_cluster_queue_resources: bool = False
    local_queue_metrics: LocalQueueMetrics | None = None
    custom_labels: list[CustomLabel] = Field(default=[], max_length=20)
    """Behind the gate CustomMetricLabels."""

    @model_validator(mode="after")
    def _few(self) -> Self:
        named = [label.name for label in self.custom_labels]
        if len(set(named)) < len(named):
            raise ValueError(f"customLabels[].name must be unique, found {', '.join(named)}")
        for kind, most in MOST_LABELS.items():
            if sum(label.source_kind == kind for label in self.custom_labels) > most:
                raise ValueError(f"customLabels: at most {most} may have sourceKind {kind}")
        return self


class Health(Stanza):
    health_probe_bind_address: Address = ":8081"
    readiness_endpoint_name: str = "readyz"
    liveness_endpoint_name: str = "healthz"


class VisibilityServer(Stanza):
    """The aggregated API ``visibility.kueue.x-k8s.io`` (gate VisibilityOnDemand)."""

    bind_address: IpAddress = ""
    """Empty is every address."""
    bind_port: PortNumber = 8082
    service_name: DnsLabel = "visibility-server"
    """Ours, as are the next three: the Service in the program's namespace that leads here. Nothing is registered while
    it does not exist: an APIService that leads nowhere would keep every namespace from being deleted."""
    service_port: PortNumber = 443
    external_host: str = ""
    """Where the program is found if it runs outside of its cluster: the Service is made to point there."""
    cert_dir: str = ""
    """Where ``tls.crt`` and ``tls.key`` are without internal certificates; empty is Kueue's place."""


class TransportSecurity(Stanza):
    min_version: Literal["", "VersionTLS12", "VersionTLS13"] = ""
    cipher_suites: list[str] = []
    curve_preferences: list[int] = []

    @model_validator(mode="after")
    def _suites(self) -> Self:
        if self.min_version == "VersionTLS13" and self.cipher_suites:
            raise ValueError("cipherSuites may not be set with minVersion VersionTLS13")
        return self
