"""A manifest on the way a user's takes: defaults and schema of the definitions, then our webhooks' functions."""

from functools import cache

from hub.local.apiserver.schema.registry import SchemaRegistry
from hub.local.apiserver.schemas import GVK
from worker_agent.api import crds
from worker_agent.api.document import Document
from worker_agent.validation import ValidationPolicy, registry

DEFAULT_POLICY = ValidationPolicy()
NAMESPACED = {crd["spec"]["names"]["kind"] for crd in crds.documents() if crd["spec"]["scope"] == "Namespaced"}


@cache
def schemas() -> SchemaRegistry:
    known = SchemaRegistry()
    for crd in crds.documents():
        known.add_crd(crd)
    return known


def gvk(document: Document) -> GVK:
    group, _, version = document["apiVersion"].rpartition("/")
    return GVK(group, version, document["kind"])


def unknown_fields(document: Document) -> list[str]:
    """Fields that the definition does not know and a server would drop."""
    return schemas().prune(gvk(document), document)[1]


def admitted(document: Document, policy: ValidationPolicy = DEFAULT_POLICY) -> Document:
    """The document as it comes to validation: named and placed, its defaults filled, then those of the webhook."""
    kind = gvk(document)
    filled = schemas().default(kind, schemas().prune(kind, _placed(document))[0])
    validator = registry.get((kind.group, kind.kind))
    return validator.default(filled, policy) if validator and validator.default else filled


def _placed(document: Document) -> Document:
    """What client and server add on the way: a name, a namespace, and the version that an update was made from."""
    found = document.get("metadata") or {}
    metadata = {"name": f"{found.get('generateName', 'thing-')}x", "resourceVersion": "1", **found}
    if document["kind"] in NAMESPACED:
        metadata.setdefault("namespace", "default")
    return {**document, "metadata": metadata}


def refusals(
    new: Document, old: Document | None = None, *, subresource: str = "", policy: ValidationPolicy = DEFAULT_POLICY
) -> list[str]:
    """What the user is told: the schema's errors, or else the webhook's; none when the manifest is taken."""
    kind = gvk(new)
    after, before = admitted(new, policy), None if old is None else admitted(old, policy)
    errors = [str(error) for error in schemas().validate(kind, after, before, subresource)]
    validator = registry.get((kind.group, kind.kind))
    if errors or validator is None:
        return errors
    return [str(error) for error in validator.validate(after, before, policy)]
