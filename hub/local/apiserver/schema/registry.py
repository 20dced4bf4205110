"""Every type the embedded API server knows: the real server's own, and those of CRDs while they exist.

``SchemaRegistry`` is what the core asks (``hub.local.apiserver.schemas.Schemas``). Documents that go in are never
changed; what comes out may share parts with them. Nothing here reads a clock or does I/O, save that the packaged data
file is read once.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from hub.local.apiserver.schema import defaulting, pruning, strategic_merge, tables
from hub.local.apiserver.schema.custom_kind import CustomKind
from hub.local.apiserver.schema.field_errors import FieldError
from hub.local.apiserver.schema.node import OBJECT_META, BuiltinNodes, Node
from hub.local.apiserver.schemas import GVK
from worker_agent.api import openapi_data
from worker_agent.api.document import Document


class SchemaRegistry:
    """Types by group, version and kind. Unknown kinds raise KeyError."""

    def __init__(self) -> None:
        data = openapi_data.load()
        self._builtin = BuiltinNodes(data.schemas)
        self._names = _names_by_kind(data.schemas)
        self._custom: dict[GVK, CustomKind] = {}

    def add_crd(self, crd: Document) -> None:
        """Take up every version of a CRD, replacing what was known of it.

        Raises ValueError naming the place of a schema, rule or column path that cannot be compiled; nothing is taken
        up then.
        """
        metadata = self._builtin.node(OBJECT_META)
        spec = crd["spec"]
        kinds = {
            GVK(spec["group"], version["name"], spec["names"]["kind"]): CustomKind.compile(crd, version, metadata)
            for version in spec["versions"]
        }
        self.remove_crd(crd)
        self._custom.update(kinds)

    def remove_crd(self, crd: Document) -> None:
        """Forget every version of a CRD; unknown ones are ignored."""
        group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
        self._custom = {gvk: known for gvk, known in self._custom.items() if (gvk.group, gvk.kind) != (group, kind)}

    def schema(self, gvk: GVK) -> Node:
        """The root node of a kind."""
        custom = self._custom.get(gvk)
        return custom.node if custom is not None else self._builtin.node(self._names[gvk])

    def default(self, gvk: GVK, document: Document) -> Document:
        """The document with its absent fields filled."""
        filled: Document = defaulting.fill(document, self.schema(gvk))
        return filled

    def prune(self, gvk: GVK, document: Document) -> tuple[Document, list[str]]:
        """The document without unknown fields, and their paths as in ``unknown field "spec.x"``."""
        return pruning.prune(document, self.schema(gvk))

    def validate(self, gvk: GVK, new: Document, old: Document | None, subresource: str) -> Sequence[FieldError]:
        """What the real server would say against creating ``new`` (``old`` is None) or changing ``old`` into it."""
        custom = self._custom.get(gvk)
        return custom.validate(new, old, subresource) if custom is not None else []

    def strategic_merge(self, gvk: GVK, live: Document, patch: Document) -> Document:
        """``live`` with a strategic merge patch applied. Raises PatchError, with status 415 for custom resources."""
        return strategic_merge.merge(live, patch, self.schema(gvk))

    def table(self, gvk: GVK, documents: Sequence[Document], now: datetime) -> Document:
        """The objects as kubectl's columns."""
        custom = self._custom.get(gvk)
        if custom is None:
            raise KeyError(gvk)
        return tables.table(custom.columns, documents, now)


def _names_by_kind(schemas: dict[str, dict[str, Any]]) -> dict[GVK, str]:
    """OpenAPI names of the kinds that have exactly one name (DeleteOptions and the like belong to every group)."""
    names: dict[GVK, str] = {}
    for name, schema in schemas.items():
        kinds = schema.get("x-kubernetes-group-version-kind", ())
        if len(kinds) == 1:
            names[GVK(kinds[0]["group"], kinds[0]["version"], kinds[0]["kind"])] = name
    return names


Defaulter = Callable[[Document], Document]
