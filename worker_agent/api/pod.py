"""Typed views of pod templates and nodes: the fields that quota, flavors and placement read."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from worker_agent.api.meta import LabelSelectorRequirement, Object, Quantity, View
from worker_agent.api.schema import Field, Int64, Rule


class ResourceRequirements(View):
    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None
    claims: list[Any] | None = None


class Container(View):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements | None = None
    restart_policy: str = ""
    ports: list[Any] | None = None


_EFFECTS = "'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
TAINT_RULES = (Rule(f"self.all(x, x.effect in [{_EFFECTS}])", f"supported taint effect values: {_EFFECTS}"),)
TOLERATION_RULES = (
    Rule(
        "self.all(x, !has(x.key) ? x.operator == 'Exists' : true)",
        "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
    ),
    Rule(
        "self.all(x, has(x.tolerationSeconds) ? x.effect == 'NoExecute' : true)",
        "effect must be 'NoExecute' when 'tolerationSeconds' is set",
    ),
    Rule(
        "self.all(x, !has(x.operator) || x.operator in ['Equal', 'Exists'])",
        "supported toleration values: 'Equal'(default), 'Exists'",
    ),
    Rule(
        "self.all(x, has(x.operator) && x.operator == 'Exists' ? !has(x.value) : true)",
        "a value must be empty when 'operator' is 'Exists'",
    ),
    Rule(
        f"self.all(x, !has(x.effect) || x.effect in [{_EFFECTS}])",
        f"supported taint effect values: {_EFFECTS}",
    ),
)


class Toleration(View):
    """Lets a pod run on nodes with a matching taint."""

    key: Annotated[str, Field("The taint's key; empty, with Exists, matches every taint.")] = ""
    operator: Annotated[str, Field("Equal (the default) or Exists.")] = ""
    value: Annotated[str, Field("The taint's value, for Equal.")] = ""
    effect: Annotated[str, Field("The taint's effect; empty matches every effect.")] = ""
    toleration_seconds: Annotated[
        Int64 | None, Field("For NoExecute: how long a running pod may stay. Absent is for ever.")
    ] = None


class Taint(View):
    """Keeps pods without a matching toleration away from a node."""

    key: Annotated[str, Field("The taint's key.", required=True)]
    value: Annotated[str, Field("The taint's value.")] = ""
    effect: Annotated[str, Field("NoSchedule, PreferNoSchedule or NoExecute.", required=True)] = ""
    time_added: Annotated[datetime | None, Field("When the taint was added; for NoExecute only.")] = None


class NodeSelectorTerm(View):
    match_expressions: list[LabelSelectorRequirement] | None = None
    match_fields: list[LabelSelectorRequirement] | None = None


class NodeSelector(View):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredSchedulingTerm(View):
    weight: int = 0
    preference: NodeSelectorTerm = msgspec.field(default_factory=NodeSelectorTerm)


class NodeAffinity(View):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None


class Affinity(View):
    node_affinity: NodeAffinity | None = None
    pod_affinity: dict[str, Any] | None = None
    pod_anti_affinity: dict[str, Any] | None = None


class PodSpec(View):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    runtime_class_name: str | None = None
    overhead: dict[str, Quantity] | None = None
    priority: int | None = None
    priority_class_name: str = ""
    resources: ResourceRequirements | None = None
    resource_claims: list[Any] | None = None
    topology_spread_constraints: list[Any] | None = None
    scheduling_gates: list[Any] | None = None
    node_name: str = ""


class PodTemplateMeta(View):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class PodTemplate(View):
    """The view of a PodTemplateSpec; decode it from the Raw that a PodSet keeps: ``decode_template(raw)``."""

    metadata: PodTemplateMeta = msgspec.field(default_factory=PodTemplateMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class NodeSpec(View):
    taints: list[Taint] | None = None
    unschedulable: bool = False


class NodeCondition(View):
    type: str
    status: str = "Unknown"
    last_transition_time: str | None = None


class NodeStatus(View):
    allocatable: dict[str, Quantity] | None = None
    conditions: list[NodeCondition] | None = None


class Node(Object):
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class PodStatus(View):
    phase: str = ""


class Pod(Object):
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class PriorityClass(Object):
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class RuntimeClassOverhead(View):
    pod_fixed: dict[str, Quantity] | None = None


class RuntimeClass(Object):
    overhead: RuntimeClassOverhead | None = None


class LimitRangeItem(View):
    type: str = ""
    max: dict[str, Quantity] | None = None
    min: dict[str, Quantity] | None = None
    default: dict[str, Quantity] | None = None
    default_request: dict[str, Quantity] | None = None
    max_limit_request_ratio: dict[str, Quantity] | None = None


class LimitRangeSpec(View):
    limits: list[LimitRangeItem] | None = None


class LimitRange(Object):
    spec: LimitRangeSpec = msgspec.field(default_factory=LimitRangeSpec)


_template_decoder = msgspec.json.Decoder(PodTemplate)


def decode_template(raw: msgspec.Raw | bytes) -> PodTemplate:
    """The typed view of a PodTemplateSpec. An empty Raw is an empty template."""
    return _template_decoder.decode(raw) if bytes(raw) else PodTemplate()
