"""What the settings mean: every switch resolved once into the values that engine, lifecycles and jobs are given."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec

from worker_agent.api import names, selectors
from worker_agent.api.document import Document
from worker_agent.api.job_kind import JobKind
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import LabelSelector
from worker_agent.app import tls
from worker_agent.engine import feature_gates, job_first_wait
from worker_agent.engine import policy as engine_policy
from worker_agent.engine.devices import selectors as selectors_of_devices
from worker_agent.engine.devices.selectors import SelectorError
from worker_agent.engine.pods_ready import PodsReadyRules
from worker_agent.engine.policy import Policy
from worker_agent.engine.provisioning.view import ProvisioningRules
from worker_agent.engine.reservation import Observability
from worker_agent.engine.tas.node_failures import FailureRules
from worker_agent.engine.workload_turn import LifecycleRules
from worker_agent.jobs import KINDS, declared
from worker_agent.settings import AgentSettings, DeviceClassMapping, DeviceMeasure, WaitForPodsReady, WorkloadRetention

SYSTEM_NAMESPACE: Final = "kube-system"
SPARK: Final = "sparkoperator.k8s.io/sparkapplication"


class ConfigurationError(ValueError):
    """Settings that are well-formed but cannot be served; the text names the setting, its value and what is allowed."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings and everything derived from them."""

    settings: AgentSettings
    gates: Mapping[str, bool]
    policy: Policy
    rules: LifecycleRules
    jobs: JobPolicy
    provisioning: ProvisioningRules
    job_namespaces: Document
    """The selector of ``jobs.namespaces`` as a LabelSelector document."""
    kinds: Mapping[str, JobKind]
    """The enabled job kinds by framework name, those that the settings declare included."""
    node_failures: FailureRules | None
    """What makes a node fail for the workloads placed on it; None: nobody looks."""


def resolve(settings: AgentSettings) -> Configuration:
    """Raises ConfigurationError, feature_gates.FeatureGateError."""
    gates = feature_gates.resolve(settings.feature_gates)
    _check_frameworks(settings.integrations.frameworks, gates)
    if settings.pprof_bind_address not in ("", "0"):
        raise ConfigurationError(
            f"pprofBindAddress: {settings.pprof_bind_address!r}: profiles of Go are not served by this program;"
            " leave it out, and follow a running program with py-spy"
        )
    if wrong := tls.problem(settings.tls.cipher_suites, settings.tls.curve_preferences):
        raise ConfigurationError(f"tls.{wrong}")
    selector = _job_namespaces(settings)
    retention = settings.object_retention_policies.workloads if settings.object_retention_policies else None
    pods_ready = None if gates["DisableWaitForPodsReady"] else settings.wait_for_pods_ready
    return Configuration(
        settings=settings,
        gates=gates,
        policy=engine_policy.resolve(settings.feature_gates, engine_stanzas(settings)),
        rules=_rules(gates, pods_ready, retention),
        jobs=_job_policy(settings, gates, pods_ready, retention),
        provisioning=ProvisioningRules(
            cleanup_on_eviction=gates["CleanupProvisioningRequestsOnEviction"],
            topology_aware=gates["TopologyAwareScheduling"],
        ),
        job_namespaces=selector,
        kinds=_kinds(settings),
        node_failures=_failure_rules(gates) if gates["TASFailedNodeReplacement"] else None,
    )


def engine_stanzas(settings: AgentSettings) -> Document:
    """The stanzas the engine reads, in Kueue's own spelling."""
    stanzas: Document = {}
    waiting = settings.wait_for_pods_ready
    if waiting is not None:
        strategy = {"timestamp": waiting.requeuing_strategy.timestamp}
        stanzas["waitForPodsReady"] = {"blockAdmission": waiting.block_admission, "requeuingStrategy": strategy}
    if settings.fair_sharing is not None:
        stanzas["fairSharing"] = {"preemptionStrategies": list(settings.fair_sharing.preemption_strategies)}
    if settings.admission_fair_sharing is not None:
        sharing = settings.admission_fair_sharing
        stanzas["admissionFairSharing"] = {
            "usageHalfLifeTime": sharing.usage_half_life_time.total_seconds(),
            "usageSamplingInterval": sharing.usage_sampling_interval.total_seconds(),
            "resourceWeights": dict(sharing.resource_weights),
        }
    resources = settings.resources
    stanzas["resources"] = {
        "quotaCheckStrategy": resources.quota_check_strategy,
        "excludeResourcePrefixes": list(resources.exclude_resource_prefixes),
        "transformations": [
            {"input": t.input, "strategy": t.strategy, "multiplyBy": t.multiply_by, "outputs": dict(t.outputs)}
            for t in resources.transformations
        ],
        "deviceClassMappings": [_mapping(mapping) for mapping in resources.device_class_mappings],
    }
    return stanzas


def _mapping(mapping: DeviceClassMapping) -> Document:
    """In Kueue's own spelling, with its selectors known to compile."""
    sources = []
    for index, source in enumerate(mapping.sources):
        place = f"resources.deviceClassMappings[{mapping.name}].sources[{index}]"
        measures = (("counter", source.counter), ("capacity", source.capacity))
        sources += [{kind: _measure(measure, f"{place}.{kind}")} for kind, measure in measures if measure is not None]
    return {"name": mapping.name, "deviceClassNames": list(mapping.device_class_names), "sources": sources}


def _measure(measure: DeviceMeasure, place: str) -> Document:
    expression = measure.device_selector.cel.expression
    try:
        selectors_of_devices.compiled(expression)
    except SelectorError as error:
        raise ConfigurationError(f"{place}.deviceSelector.cel.expression: {expression!r}: {error}") from None
    selector = {"cel": {"expression": expression}}
    return {"name": measure.name, "driver": measure.driver, "deviceSelector": selector}


def _rules(
    gates: Mapping[str, bool], pods_ready: WaitForPodsReady | None, retention: WorkloadRetention | None
) -> LifecycleRules:
    after_finished = retention.after_finished if retention else None
    return LifecycleRules(
        observability=Observability(
            fine=gates["UnadmittedWorkloadsObservability"], explicit=gates["UnadmittedWorkloadsExplicitStatus"]
        ),
        pods_ready=_pods_ready(pods_ready) if pods_ready else None,
        retention_after_finished=after_finished.total_seconds() if after_finished is not None else None,
        finish_orphans=gates["FinishOrphanedWorkloads"],
        admission_gates=gates["AdmissionGatedBy"],
        equivalence_hashing=gates["SchedulingEquivalenceHashing"],
        orchestrated_preemption=gates["MultiKueueOrchestratedPreemption"],
        concurrent_admission=gates["ConcurrentAdmission"],
    )


def _failure_rules(gates: Mapping[str, bool]) -> FailureRules:
    return FailureRules(
        on_taints=gates["TASReplaceNodeOnNodeTaints"],
        on_pod_termination=gates["TASReplaceNodeOnPodTermination"],
        after_fixed_time=gates["TASReplaceNodeDueToNotReadyOverFixedTime"],
    )


def _pods_ready(stanza: WaitForPodsReady) -> PodsReadyRules:
    recovery = stanza.timeout if stanza.recovery_timeout is None else stanza.recovery_timeout
    strategy = stanza.requeuing_strategy
    return PodsReadyRules(
        timeout=stanza.timeout.total_seconds(),
        recovery_timeout=recovery.total_seconds() or None,
        backoff_limit_count=strategy.backoff_limit_count,
        backoff_base_seconds=strategy.backoff_base_seconds,
        backoff_max_seconds=strategy.backoff_max_seconds,
    )


def _job_policy(
    settings: AgentSettings,
    gates: Mapping[str, bool],
    pods_ready: WaitForPodsReady | None,
    retention: WorkloadRetention | None,
) -> JobPolicy:
    kept: timedelta | None = retention.after_deactivated_by_kueue if retention else None
    return JobPolicy.from_gates(
        gates,
        manage_without_queue_name=settings.manage_jobs_without_queue_name,
        namespaces=_query(_job_namespaces(settings)),
        frameworks=frozenset(settings.integrations.frameworks),
        external_frameworks=frozenset(_external(settings)),
        label_keys_to_copy=tuple(settings.integrations.label_keys_to_copy),
        wait_for_pods_ready=pods_ready is not None,
        retain_deactivated=kept,
        copies_keep_ready_back=_ready_kept_back(pods_ready),
        pods_first=True,
    )


def _ready_kept_back(rules: WaitForPodsReady | None) -> timedelta:
    """How long copies may leave it unsaid that their pods are ready: not at all where a decision hangs on that word.

    Admissions may wait for it; a short timeout would take silence for pods that never came; and where a recovery has
    other limits than a start, a pod that fails early must not be taken for one that never started.
    """
    if rules is None or rules.block_admission or rules.timeout < 2 * job_first_wait.OF_COPIES:
        return timedelta()
    return job_first_wait.OF_COPIES if rules.recovery_timeout in (None, rules.timeout) else timedelta()


POD: Final = "pod"
_THROUGH_PODS: Final = frozenset({"deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"})
"""Integrations that queue the pods of their objects, and so need the pods' own."""


def _kinds(settings: AgentSettings) -> dict[str, JobKind]:
    """The kinds of the enabled integrations, with pods where another one works through them, and the declared ones."""
    named = list(settings.integrations.frameworks)
    if POD not in named and _THROUGH_PODS.intersection(named):
        named.append(POD)
    made = declared.kinds_of([stanza.declaration() for stanza in settings.integrations.declared_kinds])
    return {**{name: KINDS[name] for name in named if name in KINDS}, **made}


def _external(settings: AgentSettings) -> Iterable[str]:
    """Kinds that are no integrations of ours and yet may own jobs, as ``Kind.version.group``."""
    yield from settings.integrations.external_frameworks
    for stanza in settings.integrations.declared_kinds:
        group, _, version = stanza.api_version.rpartition("/")
        yield f"{stanza.kind}.{version}.{group}"


def _check_frameworks(frameworks: Iterable[str], gates: Mapping[str, bool]) -> None:
    """Raises ConfigurationError for an integration behind a gate that is off."""
    if SPARK in frameworks and not gates["SparkApplicationIntegration"]:
        raise ConfigurationError(
            f"integrations.frameworks: {SPARK} integration is alpha feature. "
            "please enable SparkApplicationIntegration featuregate"
        )


def _job_namespaces(settings: AgentSettings) -> Document:
    protected = [SYSTEM_NAMESPACE, settings.namespace]
    if settings.managed_jobs_namespace_selector is None:
        expression = {"key": names.NAMESPACE_NAME_LABEL, "operator": "NotIn", "values": protected}
        return {"matchExpressions": [expression]}
    selector: Document = settings.managed_jobs_namespace_selector
    query = _query(selector)
    for namespace in protected:
        if query.matches({names.NAMESPACE_NAME_LABEL: namespace}):
            raise ConfigurationError(
                f'managedJobsNamespaceSelector: {selector}: should not match the "{namespace}" namespace'
            )
    return selector


def _query(selector: dict[str, Any]) -> selectors.Query:
    try:
        return selectors.compile_selector(msgspec.convert(selector, LabelSelector))
    except (selectors.SelectorError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"managedJobsNamespaceSelector: {selector}: {error}") from None
