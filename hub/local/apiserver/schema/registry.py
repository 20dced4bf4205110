"""Every type the embedded API server knows: the real server's own, and those of CRDs while they exist.

``SchemaRegistry`` is what the core asks (``hub.local.apiserver.schemas.Schemas``). Documents that go in are never
changed; what comes out may share parts with them. Nothing here reads a clock or does I/O, save that the packaged data
file is read once.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

from hub.local.apiserver.schema import (
    builtin_columns,
    builtin_validation,
    defaulting,
    go_decoding,
    patch_error,
    pruning,
    published_schemas,
    quick_decoding,
    server_side_apply,
    strategic_merge,
    tables,
    type_defaults,
    write_warnings,
)
from hub.local.apiserver.schema.custom_kind import CustomKind
from hub.local.apiserver.schema.field_errors import FieldError
from hub.local.apiserver.schema.node import OBJECT_META, BuiltinNodes, Node
from hub.local.apiserver.schema.server_side_apply import MissingVersion, Typing
from hub.local.apiserver.schemas import GVK, Apply
from worker_agent.api import openapi_data
from worker_agent.api.document import Document

NO_STRATEGIC_MERGE: Final = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
)
STATUS: Final[dict[str, Any]] = {"f:status": {}}
SPEC: Final[dict[str, Any]] = {"f:spec": {}}
STATUS_RESETS: Final[dict[str, dict[str, Any]]] = {
    "Pod": {"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
    "Deployment": {"f:spec": {}, "f:metadata": {"f:labels": {}}},
}
"""What the status subresource of a built-in kind resets, where it is more than the spec."""


class SchemaRegistry:
    """Types by group, version and kind. Unknown kinds raise KeyError."""

    def __init__(self) -> None:
        data = openapi_data.load()
        self._builtin = _builtin_nodes()
        self._names = _names_by_kind(data.schemas)
        self._with_status = _kinds(data.discovery, lambda resource: resource["name"].endswith("/status"))
        self._namespaced = _kinds(data.discovery, lambda resource: bool(resource["namespaced"]))
        self._custom: dict[GVK, CustomKind] = {}
        self._documents: dict[tuple[str, str], Document | None] = {}
        self._typings: dict[tuple[GVK, str], Typing] = {}
        """By kind and subresource, until a CRD changes."""

    def add_crd(self, crd: Document) -> None:
        """Take up every version of a CRD, replacing what was known of it.

        Raises ValueError naming the place of a schema, rule or column path that cannot be compiled; nothing is taken
        up then.
        """
        spec = crd["spec"]
        kinds: dict[GVK, CustomKind] = {}
        for version in spec["versions"]:
            gvk = GVK(spec["group"], version["name"], spec["names"]["kind"])
            kinds[gvk] = self._compiled(gvk, crd, version)
        self.remove_crd(crd)
        self._custom.update(kinds)

    def _compiled(self, gvk: GVK, crd: Document, version: Document) -> CustomKind:
        """The version compiled, or as it was when nothing about it changed."""
        known = self._custom.get(gvk)
        if known is not None and known.version == version and known.crd["spec"]["scope"] == crd["spec"]["scope"]:
            return known
        return CustomKind.compile(crd, version, self._builtin.node(OBJECT_META), trusted=known is None)

    def remove_crd(self, crd: Document) -> None:
        """Forget every version of a CRD; unknown ones are ignored."""
        group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
        self._documents = {key: made for key, made in self._documents.items() if key[0] != group}
        self._typings.clear()
        self._custom = {gvk: known for gvk, known in self._custom.items() if (gvk.group, gvk.kind) != (group, kind)}

    def schema(self, gvk: GVK) -> Node:
        """The root node of a kind."""
        custom = self._custom.get(gvk)
        return custom.node if custom is not None else self._builtin.node(self._names[gvk])

    def default(self, gvk: GVK, document: Document) -> Document:
        """The document with its absent fields filled."""
        return self._filled(gvk, document, self.schema(gvk))

    def _filled(self, gvk: GVK, document: Document, node: Node) -> Document:
        fill = defaulting.fill if gvk in self._custom else type_defaults.fill
        filled: Document = fill(document, node)
        return filled

    def prune(self, gvk: GVK, document: Document) -> tuple[Document, list[str]]:
        """The document without unknown fields, and their paths as in ``unknown field "spec.x"``.

        A built-in kind also comes in canonical form, as its Go struct writes it, and so does the metadata of any
        other; raises DecodeError for a value the struct cannot hold.
        """
        node = self.schema(gvk)
        if gvk in self._custom:
            return pruning.prune(self._with_decoded_metadata(document), node)
        try:
            return pruning.with_clean_metadata(self._decoded(document, node)), []
        except quick_decoding.NotPlain:
            return pruning.prune(go_decoding.decode(document, node), node, nulls=False)

    def _decoded(self, document: Document, node: Node) -> Document:
        """A built-in object decoded the quick way. Raises NotPlain."""
        decoded: Document = quick_decoding.decode(document, node)
        return go_decoding.with_encoded_data(decoded, node)

    def _as_written(self, document: Document, node: Node) -> Document:
        """A built-in object in canonical form. Raises DecodeError."""
        try:
            return self._decoded(document, node)
        except quick_decoding.NotPlain:
            return go_decoding.decode(document, node)

    def _with_decoded_metadata(self, document: Document) -> Document:
        """A custom resource with its metadata decoded: the one part of it that is a Go struct. Raises DecodeError."""
        metadata, node = document.get("metadata"), self._builtin.node(OBJECT_META)
        if metadata is None:
            return document
        try:
            decoded = quick_decoding.decode(metadata, node)
        except quick_decoding.NotPlain:
            return go_decoding.decode_metadata(document, node)
        return document if decoded is metadata else {**document, "metadata": decoded}

    def validate(self, gvk: GVK, new: Document, old: Document | None, subresource: str) -> Sequence[FieldError]:
        """What the real server would say against creating ``new`` (``old`` is None) or changing ``old`` into it."""
        custom = self._custom.get(gvk)
        if custom is not None:
            return custom.validate(new, old, subresource)
        return builtin_validation.errors(gvk.kind, gvk in self._namespaced, new, old, subresource)

    def warnings(self, gvk: GVK, new: Document, old: Document | None) -> list[str]:
        """What a write that is accepted should still be told."""
        if gvk in self._custom:
            return write_warnings.of_custom(new, old)
        return write_warnings.of_builtin(gvk.kind, new, old)

    def strategic_merge(self, gvk: GVK, live: Document, patch: Document) -> Document:
        """``live`` with a strategic merge patch applied. Raises PatchError, with status 415 for custom resources."""
        if gvk in self._custom:
            raise patch_error.PatchError(415, NO_STRATEGIC_MERGE)
        return strategic_merge.merge(live, patch, self.schema(gvk))

    def apply(self, gvk: GVK, live: Document | None, applied: Document, how: Apply) -> Document:
        """The merged document with its managedFields, defaults filled.

        Raises ApplyConflict where others own fields with other values, ApplyError for what cannot be applied.
        """
        typing = self._typing(gvk, how.subresource)
        start = live if live is not None else typing.empty
        manager = (how.manager, how.subresource)
        merged = server_side_apply.apply(start, applied, typing, manager, how.force, how.now)
        clean = pruning.with_clean_metadata(merged)
        merged = clean if gvk in self._custom else self._as_written(clean, typing.node)
        filled = self._filled(gvk, merged, typing.node)
        return filled if live is None else server_side_apply.with_old_times(filled, live)

    def managed_fields_after_update(
        self, gvk: GVK, new: Document, old: Document | None, manager: str, subresource: str, now: datetime
    ) -> list[Document]:
        """The managedFields of ``new`` after a create (``old`` is None), update or patch that was not an apply."""
        typing = self._typing(gvk, subresource)
        return server_side_apply.track_update(old, new, typing, (manager, subresource), now)

    def openapi_v3(self, group: str, version: str) -> Document | None:
        """The OpenAPI v3 document of a group version, None for one that is not known. Kept until a CRD changes."""
        key = (group, version)
        if key not in self._documents:
            crds = [
                (kind.crd, kind.version)
                for gvk, kind in sorted(self._custom.items())
                if (gvk.group, gvk.version) == key
            ]
            made = published_schemas.custom(group, version, crds) if crds else published_schemas.builtin(group, version)
            self._documents[key] = made
        return self._documents[key]

    def _typing(self, gvk: GVK, subresource: str) -> Typing:
        known = self._typings.get((gvk, subresource))
        if known is None:
            known = self._typings[gvk, subresource] = self._made_typing(gvk, subresource)
        return known

    def _made_typing(self, gvk: GVK, subresource: str) -> Typing:
        def node_of(api_version: str) -> Node:
            group, _, version = api_version.rpartition("/")
            try:
                return self.schema(GVK(group, version, gvk.kind))
            except KeyError:
                raise MissingVersion(api_version) from None

        api_version = f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version
        node = self.schema(gvk)
        empty: Document = {"apiVersion": api_version, "kind": gvk.kind}
        if gvk not in self._custom:
            empty = go_decoding.zero_object(api_version, gvk.kind, node)
        return Typing(api_version, gvk.kind, node, self._ignored(gvk, subresource), empty, node_of)

    def _ignored(self, gvk: GVK, subresource: str) -> dict[str, Any]:
        """Fields that a write through this door resets, so that nobody comes to own them."""
        custom = self._custom.get(gvk)
        if subresource == "status":
            return {"f:metadata": {}, "f:spec": {}} if custom is not None else STATUS_RESETS.get(gvk.kind, SPEC)
        has_status = custom.has_status if custom is not None else gvk in self._with_status
        return STATUS if has_status and not subresource else {}

    def table(self, gvk: GVK, documents: Sequence[Document], now: datetime) -> Document:
        """The objects as kubectl's columns."""
        custom = self._custom.get(gvk)
        columns = custom.columns if custom is not None else builtin_columns.of_kind(gvk.kind)
        return tables.table(columns, documents, now)


@cache
def _builtin_nodes() -> BuiltinNodes:
    """The same for every registry of this process: nothing changes them, and their walks keep what they worked out."""
    return BuiltinNodes(openapi_data.load().schemas)


def _names_by_kind(schemas: dict[str, dict[str, Any]]) -> dict[GVK, str]:
    """OpenAPI names of the kinds that have exactly one name (DeleteOptions and the like belong to every group)."""
    names: dict[GVK, str] = {}
    for name, schema in schemas.items():
        kinds = schema.get("x-kubernetes-group-version-kind", ())
        if len(kinds) == 1:
            names[GVK(kinds[0]["group"], kinds[0]["version"], kinds[0]["kind"])] = name
    return names


def _kinds(discovery: Sequence[dict[str, Any]], wanted: Callable[[dict[str, Any]], bool]) -> frozenset[GVK]:
    return frozenset(
        GVK(listed["group"], listed["version"], resource["kind"])
        for listed in discovery
        for resource in listed["resources"]
        if wanted(resource)
    )
