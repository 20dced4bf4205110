"""Protobuf bodies of Kubernetes' own kinds, read into JSON documents: kubectl's ``create`` commands send them.

The wire format is protobuf's inside Kubernetes' envelope (four magic bytes and a runtime.Unknown). Which number is
which field comes from a packaged data file (``scripts/gen-protobuf``). Answers are always JSON.
"""

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import zstandard

from worker_agent.api.document import Document

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
_META = "k8s.io.apimachinery.pkg.apis.meta.v1."
_ROOT_KINDS = {"DeleteOptions": f"{_META}DeleteOptions"}

Wire = int | bytes
Field = tuple[str, str, str, bool]
"""JSON name ("" for an inlined message), shape (one, many, map), type, and whether a zero is kept."""


class ProtobufError(ValueError):
    """The body is not what it says it is."""


@cache
def _messages() -> dict[str, dict[int, Field]]:
    packed = files("hub.local.apiserver").joinpath("data", "protobuf.json.zst").read_bytes()
    content = msgspec.json.decode(zstandard.ZstdDecompressor().decompress(packed))
    return {
        name: {int(number): tuple(field) for number, field in fields.items()}
        for name, fields in content["messages"].items()
    }


def read(body: bytes) -> Document:
    """The document of an enveloped object, with its apiVersion and kind. Raises ProtobufError."""
    if not body.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix 6b 38 73 00")
    try:
        envelope = dict(_fields(body[len(MAGIC) :]))
        type_meta = dict(_fields(_bytes(envelope.get(1, b""))))
        api_version, kind = _text(type_meta.get(1, b"")), _text(type_meta.get(2, b""))
        document = _message(_message_name(api_version, kind), _bytes(envelope.get(2, b"")))
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ProtobufError(f"the body ends early or is damaged: {error}") from None
    return {"apiVersion": api_version, "kind": kind, **document}


def _message_name(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    name = _ROOT_KINDS.get(kind) or f"k8s.io.api.{group.partition('.')[0] or 'core'}.{version}.{kind}"
    if name not in _messages():
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    return name


def _bytes(value: Wire) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("a number stands where a message is expected")
    return value


def _text(value: Wire) -> str:
    return _bytes(value).decode()


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, Wire]]:
    """The numbered values of a message, in wire order."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield number, value
        elif wire == 2:
            length, position = _varint(data, position)
            if position + length > len(data):
                raise ProtobufError("a field is longer than the body")
            yield number, data[position : position + length]
            position += length
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            yield number, data[position : position + size]
            position += size
        else:
            raise ProtobufError(f"unknown wire type {wire}")


def _message(name: str, data: bytes) -> Document:
    known = _messages()[name]
    document: Document = {}
    for number, wire in _fields(data):
        field = known.get(number)
        if field is not None:
            _put(document, field, wire)
    return document


def _put(document: Document, field: Field, wire: Wire) -> None:
    name, shape, kind, keep = field
    if shape == "map":
        entry = dict(_fields(_bytes(wire)))
        document.setdefault(name, {})[_text(entry.get(1, b""))] = _value(kind, entry.get(2, b""))
        return
    value = _value(kind, wire)
    if shape == "many":
        document.setdefault(name, []).append(value)
    elif not name:
        document.update(value)
    elif keep or (value not in ("", 0, None) and value is not False):
        document[name] = value


def _value(kind: str, wire: Wire) -> Any:
    scalar = _SCALARS.get(kind)
    return scalar(wire) if scalar is not None else _message(kind, _bytes(wire))


def _integer(wire: Wire) -> int:
    """Negative numbers travel as 64 bits of two's complement."""
    value = wire if isinstance(wire, int) else 0
    return value - (1 << 64) if value >> 63 else value


def _quantity(wire: Wire) -> str:
    return _text(dict(_fields(_bytes(wire))).get(1, b""))


def _time(wire: Wire) -> str | None:
    moment = _moment(wire)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(wire: Wire) -> str | None:
    moment = _moment(wire)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(wire: Wire) -> datetime | None:
    parts = dict(_fields(_bytes(wire)))
    if not parts:
        return None
    nanoseconds = _integer(parts.get(2, 0))
    moment = datetime.fromtimestamp(_integer(parts.get(1, 0)), UTC)
    return moment.replace(microsecond=nanoseconds // 1000)


def _duration(wire: Wire) -> str:
    return f"{_integer(dict(_fields(_bytes(wire))).get(1, 0)) / 1e9:g}s"


def _int_or_string(wire: Wire) -> int | str:
    parts = dict(_fields(_bytes(wire)))
    return _text(parts.get(3, b"")) if parts.get(1) == 1 else _integer(parts.get(2, 0))


def _raw(wire: Wire) -> Any:
    raw = _bytes(dict(_fields(_bytes(wire))).get(1, b""))
    return msgspec.json.decode(raw) if raw else None


def _strings(wire: Wire) -> list[str]:
    return [_text(value) for number, value in _fields(_bytes(wire)) if number == 1]


_SCALARS: dict[str, Callable[[Wire], Any]] = {
    "string": _text,
    "bool": lambda wire: bool(_integer(wire)),
    "int32": _integer,
    "int64": _integer,
    "uint32": _integer,
    "double": lambda wire: struct.unpack("<d", _bytes(wire))[0],
    "bytes": lambda wire: base64.b64encode(_bytes(wire)).decode(),
    "quantity": _quantity,
    "time": _time,
    "micro-time": _micro_time,
    "duration": _duration,
    "int-or-string": _int_or_string,
    "raw": _raw,
    "strings": _strings,
}
