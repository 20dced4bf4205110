"""The quick way through ``go_decoding`` and ``pruning`` for objects that hold nothing unknown and nothing misplaced.

One pass along functions made once for each type. ``decode`` raises ``NotPlain`` for the first thing that needs a word
of explanation; the caller then goes the long way, which finds the words.
"""

from collections.abc import Callable
from typing import Any, Final

from hub.local.apiserver.schema import defaulting, go_decoding
from hub.local.apiserver.schema.node import MISSING, Node

Decode = Callable[[Any], Any]
_NOWHERE: Final = go_decoding.Place("", "", "")


class NotPlain(Exception):
    """Something is unknown or does not fit."""


def decode(value: Any, node: Node) -> Any:
    """The value as its Go struct would write it again, with no unknown field in it. Raises NotPlain."""
    return (node.decoder or _compiled(node))(value)


def _compiled(node: Node) -> Decode:
    node.decoder = made = _made(node)
    return made


def _made(node: Node) -> Decode:
    special = go_decoding.SPECIAL.get(node.name)
    if special is not None:
        return _refusing(lambda value: special(value, _NOWHERE))
    if node.fields:
        return _struct(node)
    if node.type == "object":
        return _map(node)
    if node.type == "array":
        return _list(node)
    if not node.type:
        return _anything
    return _refusing(lambda value: go_decoding.decode_scalar(value, node, _NOWHERE))


def _anything(value: Any) -> Any:
    return value


def _refusing(convert: Decode) -> Decode:
    def run(value: Any) -> Any:
        try:
            return convert(value)
        except go_decoding.DecodeError:
            raise NotPlain from None

    return run


def _struct(node: Node) -> Decode:
    fields, always = go_decoding.fields_of(node), go_decoding.always_present(node)

    def run(value: Any) -> Any:
        if type(value) is not dict:
            raise NotPlain
        changed: dict[str, Any] = {}
        for key, old in value.items():
            field = fields.get(key)
            if field is None:
                raise NotPlain
            if not field.fits(old):
                new = _field_value(old, field)
                if new is not old:
                    changed[key] = new
            elif field.omits_empty and not old:
                changed[key] = MISSING
        if changed:
            value = {key: changed.get(key, old) for key, old in value.items() if changed.get(key) is not MISSING}
        return _with_zeros(value, always) if always else value

    return run


def _field_value(old: Any, field: go_decoding.Field) -> Any:
    """The value of a field that is no plain scalar; MISSING where it is not written."""
    if old is None:
        return MISSING
    new = (field.node.decoder or _compiled(field.node))(old)
    if new is None or (field.omits_empty and not new and go_decoding.is_empty(new, field.node)):
        return MISSING
    return new


def _with_zeros(value: dict[str, Any], always: dict[str, Any]) -> dict[str, Any]:
    missing = {key: zero for key, zero in always.items() if key not in value}
    return {**value, **defaulting.copied(missing)} if missing else value


def _map(node: Node) -> Decode:
    element = node.element

    def run(value: Any) -> Any:
        if type(value) is not dict:
            raise NotPlain
        if element is None:
            return value
        convert = element.decoder or _compiled(element)
        changed = {}
        for key, old in value.items():
            new = go_decoding.zero(element) if old is None else convert(old)
            if new is not old:
                changed[key] = new
        return {**value, **changed} if changed else value

    return run


def _list(node: Node) -> Decode:
    element = node.element

    def run(value: Any) -> Any:
        if type(value) is not list:
            raise NotPlain
        if element is None:
            return value
        convert = element.decoder or _compiled(element)
        items = [go_decoding.zero(element) if item is None else convert(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value

    return run
