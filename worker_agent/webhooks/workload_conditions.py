"""When an API server asks the webhooks about a Workload, in CEL (``matchConditions``).

Every Workload is written several times on its way, and most of these writes change nothing that the rules look at:
conditions, whose form the schema keeps, owners and finalizers. For those a comparison inside the API server takes the
place of a request to the webhook. Without optional fields (``object.?status``), which servers before 1.30 refuse.
"""

from collections.abc import Iterable
from typing import Final

NAMES_LEAST_COUNTS: Final = "has(object.spec.podSets) && object.spec.podSets.exists(each, has(each.minCount))"
"""A least count is all that defaulting may take away."""

_STATUS_FIELDS: Final = ("admission", "admissionChecks", "clusterName", "reclaimablePods")
"""What ``validation.workload_update`` and ``validation.workload`` compare. Quota's condition is compared beside them;
``nominatedClusterNames`` only counts once ``clusterName`` is set."""


def _differs(path: str) -> str:
    """Whether the field of the object is not as it was; its parent is there in both."""
    new, old = f"object.{path}", f"oldObject.{path}"
    return f"has({new}) != has({old}) || (has({new}) && {new} != {old})"


def _reserved(which: str) -> str:
    conditions = f"{which}.status.conditions"
    is_true = "each.type == 'QuotaReserved' && each.status == 'True'"
    return f"(has({conditions}) && {conditions}.exists(each, {is_true}))"


def _any(alternatives: Iterable[str]) -> str:
    return " || ".join(f"({each})" for each in alternatives)


_NEW: Final = "oldObject == null"
_OF_STATUS: Final = "has(request.subResource) && request.subResource == 'status'"
"""API servers leave the field out where there is no subresource."""

_IN_ITSELF: Final = f"!({_OF_STATUS}) && ({_any(_differs(f) for f in ('spec', 'metadata.annotations'))})"
_STATUS_COMES_OR_GOES: Final = "!has(object.status) || !has(oldObject.status)"
_IN_STATUS: Final = _any(
    (
        _STATUS_COMES_OR_GOES,
        *(_differs(f"status.{field}") for field in _STATUS_FIELDS),
        f"{_reserved('object')} != {_reserved('oldObject')}",
    )
)
CHANGES_WHAT_RULES_SAY: Final = _any((_NEW, _IN_ITSELF, f"{_OF_STATUS} && ({_IN_STATUS})"))
"""A creation, another spec or other annotations, or one of the fields of the status that have rules."""
