"""A schema compiled for walking: one Node per place in an object, whatever the schema came from.

Everything in this package walks documents along Nodes: defaults, pruning, validation, field ownership and strategic
merge. ``compile_structural`` reads the ``openAPIV3Schema`` of a CRD, ``BuiltinNodes`` the data file of the real
kube-apiserver. The typing of field ownership follows kube-openapi's ``schemaconv``: a place without a type may hold
anything, an object without properties is free-form, lists are atomic unless they say otherwise.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from worker_agent.api import openapi_data

MISSING: Final[Any] = object()
"""Stands for "no default" and "no value": None is a value in JSON."""

RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class Node:
    """One place in a schema. ``fields`` are the declared properties, ``element`` what any other key or an item holds,
    ``owned_element`` the same for field ownership, where undeclared keys may be owned though no schema speaks of them.

    ``default`` is MISSING where there is none. ``list_keys`` is empty for a set. ``deep_defaults`` says that this
    place or one below has a default, ``deep_rules`` the same for CEL rules, ``deep_transitions`` for those that read
    ``oldSelf``, and ``deep_lists`` for lists whose items must be unique, so that walks can stop early. What walks work
    out about a place once (``decoder``, ``defaulted``, ``own_defaults``) they keep with it.
    """

    __slots__ = (
        "associative",
        "atomic_map",
        "decoder",
        "deep_defaults",
        "deep_lists",
        "deep_rules",
        "deep_transitions",
        "default",
        "defaulted",
        "element",
        "embedded",
        "fields",
        "free_form",
        "holds_list",
        "holds_map",
        "holds_scalar",
        "int_or_string",
        "list_keys",
        "merge_key",
        "name",
        "nullable",
        "own_defaults",
        "owned_element",
        "patch_strategy",
        "preserve",
        "raw",
        "rules",
        "type",
        "validator",
    )

    def __init__(self, raw: Mapping[str, Any], name: str = "") -> None:
        self.raw = raw
        self.name = name
        self.type: str = raw.get("type", "")
        self.fields: dict[str, Node] = {}
        self.element: Node | None = None
        self.owned_element: Node | None = None
        self.default: Any = raw.get("default", MISSING)
        self.nullable: bool = bool(raw.get("nullable", False))
        self.preserve: bool = raw.get("x-kubernetes-preserve-unknown-fields") is True
        self.embedded: bool = raw.get("x-kubernetes-embedded-resource") is True
        self.int_or_string: bool = raw.get("x-kubernetes-int-or-string") is True
        self.atomic_map: bool = raw.get("x-kubernetes-map-type") == "atomic"
        self.patch_strategy: tuple[str, ...] = tuple(
            part for part in raw.get("x-kubernetes-patch-strategy", "").split(",") if part
        )
        self.merge_key: str = raw.get("x-kubernetes-patch-merge-key", "")
        self.associative, self.list_keys = list_ownership(raw)
        self.holds_map = self.type in {"", "object"}
        self.holds_list = self.type in {"", "array"}
        self.holds_scalar = self.type not in {"object", "array"}
        self.free_form = False
        self.deep_defaults = False
        self.defaulted: tuple[tuple[str, Node], ...] | None = None
        self.deep_lists = self.associative
        self.deep_rules = False
        self.deep_transitions = False
        self.rules: list[Any] = []
        self.validator: Callable[..., Any] | None = None
        self.own_defaults: Any = None
        self.decoder: Callable[[Any], Any] | None = None

    def child(self, key: str) -> "Node | None":
        """The node of a map key: declared, or the one any other key has; None for an undeclared field."""
        return self.fields.get(key) or self.element


def list_ownership(raw: Mapping[str, Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether items are owned one by one, and by which keys; the patch strategy stands in for a missing list type."""
    list_type = raw.get("x-kubernetes-list-type")
    if list_type is not None:
        keys = tuple(raw.get("x-kubernetes-list-map-keys", ())) if list_type == "map" else ()
        return list_type in {"set", "map"}, keys
    strategy = raw.get("x-kubernetes-patch-strategy")
    if strategy in {"merge", "merge,retainKeys"}:
        key = raw.get("x-kubernetes-patch-merge-key")
        return True, (key,) if key else ()
    return False, ()


def _untyped() -> Node:
    node = Node({})
    node.atomic_map = True
    node.preserve = True
    node.owned_element = node
    return node


def _deduced() -> Node:
    node = Node({})
    node.preserve = True
    node.free_form = True
    node.owned_element = node
    return node


UNTYPED: Final = _untyped()
"""Any value, owned as one piece."""
DEDUCED: Final = _deduced()
"""Any value; maps are owned field by field, lists as one piece."""


NOTHING: Final = Node({})
"""A place about which nothing is declared: pruning leaves no field in it (``additionalProperties: true``)."""


def finish(node: Node, *, preserve: bool) -> None:
    """Settle what undeclared keys are owned as, and the deep flags, once the declared children stand.

    ``preserve`` says that this place or an enclosing one keeps unknown fields: then undeclared keys are owned too.
    """
    additional = node.raw.get("additionalProperties")
    if node.holds_map:
        if isinstance(additional, Mapping):
            node.owned_element = node.element
        elif additional is True or (additional is None and (preserve or not node.fields)):
            node.owned_element = DEDUCED
    if node.type == "array":
        node.owned_element = node.element
    node.free_form = node.holds_map and not node.fields and node.owned_element is DEDUCED
    children = [*node.fields.values(), *([node.element] if node.element else [])]
    node.deep_defaults = node.default is not MISSING or any(child.deep_defaults for child in children)
    node.deep_lists = node.associative or any(child.deep_lists for child in children)
    node.deep_rules = bool(node.raw.get("x-kubernetes-validations")) or any(child.deep_rules for child in children)


def compile_structural(schema: Mapping[str, Any], object_meta: Node) -> Node:
    """The root node of a CRD version. Kind, apiVersion and metadata are added as the real server adds them."""
    root = _compile_structural(schema, preserve=False, object_meta=object_meta)
    _add_resource_fields(root, object_meta)
    return root


def _add_resource_fields(node: Node, object_meta: Node) -> None:
    text = Node({"type": "string"})
    node.fields = {"apiVersion": text, "kind": text, **node.fields, "metadata": object_meta}


def _compile_structural(schema: Mapping[str, Any], *, preserve: bool, object_meta: Node) -> Node:
    node = Node(schema)
    if node.int_or_string:
        node.type, node.holds_map, node.holds_list, node.holds_scalar = "", True, True, True
    below = preserve or node.preserve
    for name, child in schema.get("properties", {}).items():
        node.fields[name] = _compile_structural(child, preserve=below, object_meta=object_meta)
    for keyword in ("additionalProperties", "items"):
        child = schema.get(keyword)
        if isinstance(child, Mapping):
            node.element = _compile_structural(child, preserve=below, object_meta=object_meta)
        elif child is True:
            node.element = NOTHING
    finish(node, preserve=below)
    if node.embedded:
        _add_resource_fields(node, object_meta)
    return node


class BuiltinNodes:
    """Nodes of the real server's own types, by OpenAPI name, compiled when first asked for.

    A type that contains itself (JSONSchemaProps) makes a cycle of Nodes. An edge that changes its target (a default, a
    patch strategy, another map type) gets a copy of the target sharing its children.
    """

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]]) -> None:
        self._schemas = schemas
        self._nodes: dict[str, Node] = {}
        self._open: list[tuple[Node, Node]] = []
        self._depth = 0

    def node(self, name: str) -> Node:
        """The node of one OpenAPI name. Raises KeyError for a name the data file does not have."""
        found = self._nodes.get(name)
        if found is not None:
            return found
        schema = self._schemas[name]
        if name == RAW_EXTENSION:
            node = self._nodes[name] = UNTYPED
            return node
        node = self._nodes[name] = Node(schema, name)
        self._depth += 1
        self._fill(node, schema)
        self._depth -= 1
        if name == QUANTITY:
            node.holds_map = node.holds_list = False
        if self._depth == 0:
            self._close()
        return node

    def _close(self) -> None:
        for copy, target in self._open:
            copy.fields, copy.element, copy.owned_element = target.fields, target.element, target.owned_element
            copy.free_form, copy.preserve = target.free_form, target.preserve
            copy.deep_defaults = copy.default is not MISSING or target.deep_defaults
        self._open.clear()

    def _fill(self, node: Node, schema: Mapping[str, Any]) -> None:
        for field, child in schema.get("properties", {}).items():
            node.fields[field] = self._edge(child)
        for keyword in ("additionalProperties", "items"):
            child = schema.get(keyword)
            if isinstance(child, Mapping):
                node.element = self._edge(child)
        node.preserve = node.holds_map and not node.fields and node.element is None
        finish(node, preserve=False)

    def _edge(self, schema: Mapping[str, Any]) -> Node:
        name = openapi_data.referenced(schema)
        if not name:
            node = Node(schema)
            self._fill(node, schema)
            return node
        target = self.node(name)
        changes = {key: value for key, value in schema.items() if key not in {"$ref", "allOf", "description"}}
        if not changes or target is UNTYPED:
            return target
        copy = Node({**target.raw, **changes}, name)
        copy.holds_map, copy.holds_list, copy.holds_scalar = target.holds_map, target.holds_list, target.holds_scalar
        if name == QUANTITY:
            copy.holds_map = copy.holds_list = False
        self._open.append((copy, target))
        return copy
