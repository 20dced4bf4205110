"""CustomResourceDefinitions before they are stored: names completed, stored versions kept.

Source: apiextensions-apiserver pkg/registry/customresourcedefinition, pkg/apis/apiextensions/v1/defaults.go.
"""

from hub.local.apiserver.call import Call
from hub.local.apiserver.schema.field_errors import FieldError, invalid
from worker_agent.api.document import Document


def complete(crd: Document) -> None:
    """Defaults of names and conversion, in place."""
    spec = crd["spec"] = dict(crd.get("spec") or {})
    names = spec["names"] = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})


def prepare_new(call: Call, crd: Document) -> None:
    complete(crd)
    crd["status"] = {"storedVersions": [name for name in [_storage(crd)] if name]}


def prepare_changed(call: Call, crd: Document, old: Document) -> None:
    complete(crd)
    status = dict(crd.get("status") or {})
    stored = list(status.get("storedVersions") or ())
    storage = _storage(crd)
    if storage and storage not in stored and call.target.subresource != "status":
        stored.append(storage)
        crd["status"] = {**status, "storedVersions": stored}


def _storage(crd: Document) -> str:
    versions = (crd.get("spec") or {}).get("versions") or ()
    return next((version.get("name", "") for version in versions if version.get("storage")), "")


def faults(crd: Document) -> list[FieldError]:
    """The rules between fields that no schema states."""
    spec = crd["spec"]
    found = []
    name, wanted = crd["metadata"].get("name", ""), f"{spec['names'].get('plural', '')}.{spec.get('group', '')}"
    if name != wanted:
        found.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    versions = spec.get("versions") or ()
    if sum(1 for version in versions if version.get("storage")) != 1:
        found.append(
            invalid("spec.versions", list(versions), "must have exactly one version marked as storage version")
        )
    return found
