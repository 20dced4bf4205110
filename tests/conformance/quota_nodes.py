"""Quota nodes of a ClusterState in the form of the recorded data, and their comparison."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.conformance.case import Document
from worker_agent.engine.quota import Quota, QuotaNode
from worker_agent.engine.resources import UNLIMITED, FlavorResource


def nested(amounts: Mapping[FlavorResource, Any]) -> Document:
    """``{flavor: {resource: amount}}``."""
    result: Document = {}
    for (flavor, resource), amount in amounts.items():
        result.setdefault(flavor, {})[resource] = "unlimited" if amount == UNLIMITED else amount
    return result


def flat(amounts: Mapping[str, Mapping[str, int]]) -> dict[FlavorResource, int]:
    """The inverse of ``nested``."""
    return {(flavor, resource): n for flavor, of in amounts.items() for resource, n in of.items()}


def document(node: QuotaNode) -> Document:
    return {
        "quotas": nested({fr: _quota(quota) for fr, quota in node.quotas.items()}),
        "subtreeQuota": nested(node.subtree),
        "usage": nested(node.usage),
    }


def _quota(quota: Quota) -> Document:
    limits = {"borrowingLimit": quota.borrowing_limit, "lendingLimit": quota.lending_limit}
    return {"nominal": _amount(quota.nominal), **{name: _amount(limit) for name, limit in limits.items()}}


def _amount(amount: int | None) -> Any:
    return "unlimited" if amount == UNLIMITED else amount


def differences(where: str, expected: Document, node: QuotaNode | None) -> Iterator[str]:
    """Zero amounts of subtree quota and usage may be left out on either side."""
    if node is None:
        yield f"{where}: missing"
        return
    actual = document(node)
    for part in ("quotas", "subtreeQuota", "usage"):
        wanted, found = expected.get(part) or {}, actual[part]
        if part != "quotas":
            wanted, found = _without_zeros(wanted), _without_zeros(found)
        if wanted != found:
            yield f"{where}.{part}: expected {wanted}, got {found}"


def _without_zeros(amounts: Document) -> Document:
    kept = {flavor: {r: n for r, n in of.items() if n} for flavor, of in amounts.items()}
    return {flavor: of for flavor, of in kept.items() if of}
