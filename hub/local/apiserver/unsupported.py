"""What this server does not do, written down: asking for it is answered with 501 and these words, never silently.

Everything else that kube-apiserver serves and this one does not (whole groups such as ``networking.k8s.io``) is
answered with 404, as the real server answers for what it does not know.
"""

SUBRESOURCES: dict[tuple[str, str], str] = {
    ("pods", "exec"): "exec in a pod: simulated pods run nothing",
    ("pods", "attach"): "attach to a pod: simulated pods run nothing",
    ("pods", "portforward"): "port-forward to a pod: simulated pods run nothing",
    ("pods", "proxy"): "proxying to a pod",
    ("nodes", "proxy"): "proxying to a node",
    ("services", "proxy"): "proxying to a service",
    ("serviceaccounts", "token"): "issuing tokens of service accounts (TokenRequest)",
}

FEATURES: dict[str, str] = {
    "authorization": "authorisation is off: who is recognised may do everything; access reviews answer yes",
    "anonymous": "anonymous requests: only /healthz, /livez, /readyz and /version answer without credentials",
    "protobuf": "protobuf and CBOR bodies: clients are answered in JSON, bodies in them are refused with 415",
    "openapi-v2": "/openapi/v2: clients of today read /openapi/v3",
    "legacy-watch": "the /watch/ path prefix: use ?watch=true",
    "conversion-webhooks": "conversion of what admission webhooks and field managers of another version see: only "
    "apiVersion differs there",
    "aggregation": "APIService objects of the groups served here: only those of other servers exist",
    "admission-policies": "ValidatingAdmissionPolicy and MutatingAdmissionPolicy: admission webhooks only",
    "quota": "admission by ResourceQuota and LimitRange: the objects are stored and do nothing",
    "service-accounts": "service account tokens and their controller: tokens come from configuration",
    "node-taint": "the taint not-ready on new nodes, and finalizers that protect volumes: their controllers are absent",
    "disruption-budgets": "PodDisruptionBudget: stored, not consulted by evictions",
}

_WATCH_PREFIX = "watch"


def reason(parts: list[str]) -> str | None:
    """Why a path is refused with 501; None when it is not on the list."""
    if parts[:2] == ["openapi", "v2"]:
        return FEATURES["openapi-v2"]
    rest = parts[2:] if parts[:1] == ["api"] else parts[3:] if parts[:1] == ["apis"] else []
    if rest[:1] == [_WATCH_PREFIX]:
        return FEATURES["legacy-watch"]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return subresource(rest[0], rest[2]) if len(rest) > 2 else None


def subresource(plural: str, name: str) -> str | None:
    """Why a subresource is refused with 501; None when it is not on the list."""
    return SUBRESOURCES.get((plural, name))
