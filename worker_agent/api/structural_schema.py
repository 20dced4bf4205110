"""From typed views to the structural OpenAPI v3 schemas that a CustomResourceDefinition holds.

``of_view`` reads the annotations (``schema.Field``) of a msgspec Struct. ``crds`` is the caller.
"""

import types
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from worker_agent.api import builtin_schema
from worker_agent.api.document import Document
from worker_agent.api.meta import Quantity, View
from worker_agent.api.schema import QUANTITY_SCHEMA, UNSET, Field

_SIMPLE: Final = {
    "enum": "enum",
    "format": "format",
    "pattern": "pattern",
    "minimum": "minimum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "max_properties": "maxProperties",
    "list_type": "x-kubernetes-list-type",
    "list_map_keys": "x-kubernetes-list-map-keys",
    "map_type": "x-kubernetes-map-type",
}


def of_view(view: type[View]) -> Document:
    """The schema of an object: its documented fields, sorted, and the rules of its class."""
    hints = get_type_hints(view, include_extras=True)
    properties: Document = {}
    required = []
    for field in msgspec.structs.fields(view):
        stated = _stated(hints[field.name])
        properties[field.encode_name] = _of_type(hints[field.name])
        if stated.required:
            required.append(field.encode_name)
    schema: Document = {"type": "object", "properties": dict(sorted(properties.items()))}
    if required:
        schema["required"] = sorted(required)
    return _limited(schema, Field((view.__doc__ or "").split("\n")[0]).merged(view.schema))


def _of_type(hint: Any) -> Document:
    """The schema of one field: of its bare type first, then narrowed by its Fields."""
    stated = _stated(hint)
    bare = _bare(hint)
    if stated.view is not None:
        return _limited(of_view(stated.view), stated)
    if stated.builtin:
        return _limited(builtin_schema.of_builtin(stated.builtin), stated)
    return _limited(_of_bare(bare), stated)


def _of_bare(bare: Any) -> Document:
    if bare == Quantity:
        return dict(QUANTITY_SCHEMA)
    if bare in _SCALARS:
        return dict(_SCALARS[bare])
    if isinstance(bare, type) and issubclass(bare, View):
        return of_view(bare)
    arguments = get_args(bare)
    if get_origin(bare) is list:
        return {"type": "array", "items": _of_type(arguments[0])}
    if get_origin(bare) is dict:
        return {"type": "object", "additionalProperties": _of_type(arguments[1])}
    raise TypeError(f"{bare!r} has no schema; annotate it with Field(view=...) or Field(builtin=...)")


_SCALARS: Final[dict[Any, Document]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
}


def _bare(hint: Any) -> Any:
    """The type without Annotated and without ``| None``."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, types.UnionType) and hint != Quantity:
        kept = [option for option in get_args(hint) if option is not type(None)]
        if len(kept) == 1:
            return _bare(kept[0])
        if {_bare(option) for option in kept} == set(get_args(Quantity)):
            return Quantity
    return hint


def _stated(hint: Any) -> Field:
    """All Fields on the type and on what it wraps, the outermost last."""
    merged = Field()
    for field in _fields(hint):
        merged = merged.merged(field)
    return merged


def _fields(hint: Any) -> Iterator[Field]:
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        yield from _fields(inner)
        yield from (note for note in notes if isinstance(note, Field))
    elif get_origin(hint) in (Union, types.UnionType):
        for option in get_args(hint):
            yield from _fields(option)


def _limited(schema: Document, stated: Field) -> Document:
    limited = dict(schema)
    for name, keyword in _SIMPLE.items():
        value = getattr(stated, name)
        if value not in ("", (), None):
            limited[keyword] = list(value) if isinstance(value, tuple) else value
    if stated.doc:
        limited["description"] = stated.doc
    if stated.default is not UNSET:
        limited["default"] = stated.default
    if stated.rules:
        before = limited.get("x-kubernetes-validations", [])
        rules = [{"message": rule.message, "rule": rule.rule} for rule in stated.rules]
        limited["x-kubernetes-validations"] = before + rules
    return limited
