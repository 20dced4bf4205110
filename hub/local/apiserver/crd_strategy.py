"""CustomResourceDefinitions before they are stored: names completed, stored versions kept.

Source: apiextensions-apiserver pkg/registry/customresourcedefinition, pkg/apis/apiextensions/v1/defaults.go.
"""

from collections.abc import Iterator

from hub.local.apiserver.call import Call
from hub.local.apiserver.schema import client_config_validation, structural_schema
from hub.local.apiserver.schema.field_errors import FieldError, forbidden, invalid, not_supported, required
from worker_agent.api import document as documents
from worker_agent.api.document import Document

_STRATEGIES = ("None", "Webhook")
_SCOPES = ("Cluster", "Namespaced")


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
    stored = [name for name in [_storage(crd)] if name]
    crd["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}


def prepare_changed(call: Call, crd: Document, old: Document) -> None:
    status = dict(crd.get("status") or {})
    stored = list(status.get("storedVersions") or ())
    storage = _storage(crd)
    if storage and storage not in stored and call.target.subresource != "status":
        stored.append(storage)
        crd["status"] = {**status, "storedVersions": stored}


def _storage(crd: Document) -> str:
    versions = (crd.get("spec") or {}).get("versions") or ()
    return next((version.get("name", "") for version in versions if version.get("storage")), "")


def faults(crd: Document, *, new: bool) -> list[FieldError]:
    """The rules between fields that no schema states; ``new`` for a creation."""
    conversion = crd["spec"].get("conversion") or {}
    return [*_spec_faults(crd, new), *_conversion_faults(conversion), *structural_schema.errors(crd)]


def _conversion_faults(conversion: Document) -> Iterator[FieldError]:
    """The names are those of the internal type, as the real server prints them."""
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    client_path, versions_path = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
    if strategy not in _STRATEGIES:
        yield not_supported("spec.conversion.strategy", strategy, _STRATEGIES)
    elif strategy == "Webhook":
        if client is None:
            yield required(client_path, "required when strategy is set to Webhook")
        else:
            yield from client_config_validation.errors(client, client_path)
        yield from client_config_validation.review_version_errors(versions, versions_path)
    else:
        words = "should not be set when strategy is not set to Webhook"
        yield from (
            forbidden(path, words) for path, given in ((client_path, client), (versions_path, versions)) if given
        )


def _spec_faults(crd: Document, new: bool) -> Iterator[FieldError]:
    spec, names, versions = crd["spec"], crd["spec"]["names"], crd["spec"].get("versions") or ()
    yield from (required(f"spec.{name}") for name in ("group",) if not spec.get(name))
    if spec.get("scope") not in _SCOPES:
        yield not_supported("spec.scope", spec.get("scope") or "", _SCOPES)
    needed = ("plural", "singular", "kind", "listKind")
    yield from (required(f"spec.names.{name}") for name in needed if not names.get(name))
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    name, wanted = crd["metadata"].get("name", ""), f"{names.get('plural', '')}.{spec.get('group', '')}"
    if new and name != wanted:
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if sum(1 for version in versions if version.get("storage")) != 1:
        yield invalid("spec.versions", list(versions), "must have exactly one version marked as storage version")
    if not documents.get(crd, "status.storedVersions"):
        yield invalid("status.storedVersions", None, "must have at least one stored version")


def changes(crd: Document, old: Document) -> list[FieldError]:
    """What a definition cannot change: objects are stored under it."""
    found = []
    for path in (("scope",), ("names", "kind"), ("group",), ("names", "plural")):
        name = ".".join(path)
        new, before = documents.get(crd["spec"], name), documents.get(old["spec"], name)
        if new != before:
            found.append(invalid(f"spec.{name}", new or "", "field is immutable"))
    return found
