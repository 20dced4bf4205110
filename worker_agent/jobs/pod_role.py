"""The role of a pod in its group: a hash over what decides where it fits and what it uses (spec/jobs 9.10).

The hash is taken over JSON as Kueue's own serialiser writes it: API structs in the order of their fields, maps by key.
Pods that both programs have seen must carry the same hash.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from worker_agent.api import quantity
from worker_agent.api.document import Document

FIELDS: Final = (
    "affinity",
    "containers",
    "initContainers",
    "nodeSelector",
    "overhead",
    "priority",
    "resourceClaims",
    "runtimeClassName",
    "tolerations",
    "topologySpreadConstraints",
)
"""The fields of a pod's spec that are part of its role; of containers only ports and requests count."""

_SELECTOR: Final = ("matchLabels", "matchExpressions")
_REQUIREMENT: Final = ("key", "operator", "values")
_RULES: Final = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")
_TERM: Final = (
    "labelSelector",
    "namespaces",
    "topologyKey",
    "namespaceSelector",
    "matchLabelKeys",
    "mismatchLabelKeys",
    *("weight", "preference", "podAffinityTerm", "nodeSelectorTerms", "matchExpressions", "matchFields"),
)
_ORDER: Final[dict[str, Sequence[str]]] = {
    "affinity": ("nodeAffinity", "podAffinity", "podAntiAffinity"),
    "nodeAffinity": _RULES,
    "podAffinity": _RULES,
    "podAntiAffinity": _RULES,
    _RULES[0]: _TERM,
    _RULES[1]: _TERM,
    "preference": _TERM,
    "podAffinityTerm": _TERM,
    "nodeSelectorTerms": _TERM,
    "labelSelector": _SELECTOR,
    "namespaceSelector": _SELECTOR,
    "matchExpressions": _REQUIREMENT,
    "matchFields": _REQUIREMENT,
    "ports": ("name", "hostPort", "containerPort", "protocol", "hostIP"),
    "tolerations": ("key", "operator", "value", "effect", "tolerationSeconds"),
    "resourceClaims": ("name", "resourceClaimName", "resourceClaimTemplateName"),
    "topologySpreadConstraints": (
        "maxSkew",
        "topologyKey",
        "whenUnsatisfiable",
        "labelSelector",
        "minDomains",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "matchLabelKeys",
    ),
}
"""Fields of the struct that stands under each name; what is not listed is a map and goes by key."""


def shape(spec: Document) -> Document:
    """What is hashed of a pod's spec."""
    found: Document = {name: spec.get(name) for name in FIELDS}
    for name in ("containers", "initContainers"):
        found[name] = [_container(each) for each in spec.get(name) or ()] or None
    found["overhead"] = _canonical(spec.get("overhead"))
    if spec.get("resources") is not None:
        found["resources"] = _canonical(spec["resources"].get("requests"))
    return found


def role_hash(spec: Document) -> str:
    """Eight hexadecimal digits that pods of one role share."""
    text = json.dumps({"spec": _ordered("", shape(spec))}, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _container(container: Document) -> Document:
    requests = (container.get("resources") or {}).get("requests")
    return {"ports": container.get("ports"), "resources": {"requests": _canonical(requests)}}


def _canonical(amounts: Document | None) -> Document | None:
    return None if amounts is None else {name: quantity.canonical(str(value)) for name, value in amounts.items()}


def _ordered(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(name, each) for each in value]
    if not isinstance(value, dict):
        return value
    order = _ORDER.get(name, ())
    keys = sorted(value, key=lambda key: (order.index(key), "") if key in order else (len(order), key))
    return {key: _ordered(key, value[key]) for key in keys}
