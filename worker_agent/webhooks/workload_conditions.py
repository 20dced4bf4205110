"""When an API server asks the webhooks about a Workload, in CEL (``matchConditions``).

Every Workload is written several times on its way, and most of these writes change nothing that the rules look at:
conditions, whose form the schema keeps, owners and finalizers. For those a comparison inside the API server takes the
place of a request to the webhook.
"""

from typing import Final

from worker_agent.webhooks.change_conditions import NEW, any_of, differs

NAMES_LEAST_COUNTS: Final = "has(object.spec.podSets) && object.spec.podSets.exists(each, has(each.minCount))"
"""A least count is all that defaulting may take away."""

_STATUS_FIELDS: Final = ("admission", "admissionChecks", "clusterName", "reclaimablePods")
"""What ``validation.workload_update`` and ``validation.workload`` compare. Quota's condition is compared beside them;
``nominatedClusterNames`` only counts once ``clusterName`` is set."""


def _reserved(which: str) -> str:
    conditions = f"{which}.status.conditions"
    is_true = "each.type == 'QuotaReserved' && each.status == 'True'"
    return f"(has({conditions}) && {conditions}.exists(each, {is_true}))"


_OF_STATUS: Final = "has(request.subResource) && request.subResource == 'status'"
"""API servers leave the field out where there is no subresource."""

_IN_ITSELF: Final = f"!({_OF_STATUS}) && ({any_of(differs(f) for f in ('spec', 'metadata.annotations'))})"
_STATUS_COMES_OR_GOES: Final = "!has(object.status) || !has(oldObject.status)"
_IN_STATUS: Final = any_of(
    (
        _STATUS_COMES_OR_GOES,
        *(differs(f"status.{field}") for field in _STATUS_FIELDS),
        f"{_reserved('object')} != {_reserved('oldObject')}",
    )
)
CHANGES_WHAT_RULES_SAY: Final = any_of((NEW, _IN_ITSELF, f"{_OF_STATUS} && ({_IN_STATUS})"))
"""A creation, another spec or other annotations, or one of the fields of the status that have rules."""
