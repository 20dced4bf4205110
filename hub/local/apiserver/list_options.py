"""The checks on options of list and watch. Source: apimachinery pkg/apis/meta/internalversion/validation."""

from hub.local.apiserver import failure, request_path
from hub.local.apiserver.call import Call
from hub.local.apiserver.schema.field_errors import FieldError, forbidden, not_supported

_MATCHES = ("Exact", "NotOlderThan")


def check_list(call: Call) -> None:
    faults = []
    query = call.query
    match = query.get("resourceVersionMatch", "")
    if match:
        name = "resourceVersionMatch"
        if not query.get("resourceVersion"):
            faults.append(forbidden(name, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if query.get("continue"):
            faults.append(forbidden(name, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in _MATCHES:
            faults.append(not_supported(name, match, (*_MATCHES, "")))
        if match == "Exact" and query.get("resourceVersion") == "0":
            faults.append(forbidden(name, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if request_path.flag(query, "sendInitialEvents") is not None:
        faults.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    _refuse(faults)
    if query.get("continue") and query.get("resourceVersion") not in (None, "", "0"):
        raise failure.bad_request("specifying resource version is not allowed when using continue")


def check_watch(call: Call) -> None:
    faults = []
    query = call.query
    match = query.get("resourceVersionMatch", "")
    initial = request_path.flag(query, "sendInitialEvents")
    name = "resourceVersionMatch"
    if initial is not None and match != "NotOlderThan":
        faults.append(forbidden(name, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match:
        if initial is None:
            faults.append(
                forbidden(name, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != "NotOlderThan":
            faults.append(not_supported(name, match, ("NotOlderThan",)))
        if query.get("continue"):
            faults.append(forbidden(name, "resourceVersionMatch is forbidden when continue is provided"))
    _refuse(faults)


def _refuse(faults: list[FieldError]) -> None:
    if faults:
        raise failure.invalid("meta.k8s.io", "ListOptions", "", faults)
