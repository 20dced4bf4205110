"""Values checked against the schema of a CRD, with the real server's messages.

``Validator.errors`` first asks a compiled jsonschema-rs validator whether all is well (some ten microseconds for a
Workload); only an object that fails is walked here to say what is wrong. On an update, what did not change is not
complained about (ratcheting).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import jsonschema_rs

from hub.local.apiserver.schema import field_errors, formats, go_patterns
from hub.local.apiserver.schema.field_errors import FieldError
from hub.local.apiserver.schema.node import MISSING

Schema = Mapping[str, Any]
COPIED_KEYWORDS: Final = (
    "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "maxItems", "minItems",
    "uniqueItems", "multipleOf", "enum", "maxProperties", "minProperties", "required",
)  # fmt: skip


class Validator:
    """One schema, compiled. Raises ValueError for a schema jsonschema-rs cannot read (a wrong pattern)."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        checks = {f"k8s-{name}": check for name, check in formats.CHECKS.items()}
        for pattern in _special_patterns(schema):
            checks[f"go-{pattern}"] = _searcher(pattern)
        try:
            self._fast = jsonschema_rs.Draft4Validator(translated(schema), formats=checks, validate_formats=True)
        except jsonschema_rs.ValidationError as problem:
            raise ValueError(f"schema: {problem.message}") from problem

    def errors(self, new: Any, old: Any = MISSING, prefix: str = "") -> list[FieldError]:
        """What is wrong with ``new``; with ``old``, only what is wrong in changed parts. ``prefix`` names its place."""
        if self._fast.is_valid(new):
            return []
        found = _errors(new, old, self.schema, "")
        return [error if not prefix else _moved(error, prefix) for error in found]


def _special_patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not go_patterns.plain(pattern):
            yield pattern
        for child in schema.values():
            yield from _special_patterns(child)
    elif isinstance(schema, list):
        for child in schema:
            yield from _special_patterns(child)


def _searcher(pattern: str) -> Callable[[str], bool]:
    compiled = go_patterns.compiled(pattern)
    return lambda text: compiled.search(text) is not None


def _moved(error: FieldError, prefix: str) -> FieldError:
    field = f"{prefix}.{error.field}" if error.field != "<nil>" else prefix
    return FieldError(error.type, field, error.detail, error.value)


def translated(schema: Schema) -> dict[str, Any]:
    """The schema in the words of JSON Schema draft 4, with nullable, int-or-string, formats and ranges spelled out."""
    result: dict[str, Any] = {key: schema[key] for key in COPIED_KEYWORDS if key in schema}
    types = ["integer", "string"] if schema.get("x-kubernetes-int-or-string") else []
    if not types and schema.get("type"):
        types = [schema["type"]]
    if types and schema.get("nullable"):
        types.append("null")
    if types:
        result["type"] = types
    if formats.check_of(schema):
        result["format"] = "k8s-" + schema["format"].replace("-", "")
    conditions: list[Any] = [translated(item) for item in schema.get("allOf", ())]
    if schema.get("format") in formats.INTEGER_RANGES and types == ["integer"]:
        low, high = formats.INTEGER_RANGES[schema["format"]]
        conditions.append({"minimum": low, "maximum": high})
    pattern = schema.get("pattern")
    if pattern and go_patterns.plain(pattern):
        result["pattern"] = pattern
    elif pattern:
        conditions.append({"format": f"go-{pattern}"})
    if conditions:
        result["allOf"] = conditions
    result.update(_translated_children(schema))
    return result


def _translated_children(schema: Schema) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for keyword in ("oneOf", "anyOf"):
        if schema.get(keyword):
            result[keyword] = [translated(item) for item in schema[keyword]]
    for keyword in ("not", "items", "additionalProperties"):
        if isinstance(schema.get(keyword), Mapping):
            result[keyword] = translated(schema[keyword])
        elif schema.get(keyword) is False:
            result[keyword] = False
    if "properties" in schema:
        result["properties"] = {name: translated(child) for name, child in schema["properties"].items()}
    return result


def _errors(value: Any, old: Any, schema: Schema, path: str) -> list[FieldError]:
    if old is not MISSING and value == old:
        return []
    if value is None:
        return [*_type_errors(value, schema, path), *_enum_errors(value, schema, path)]
    return [
        *_type_errors(value, schema, path),
        *_combined_errors(value, schema, path),
        *_string_errors(value, schema, path),
        *_number_errors(value, schema, path),
        *_list_errors(value, old, schema, path),
        *_enum_errors(value, schema, path),
        *_map_errors(value, old, schema, path),
    ]


def type_name(value: Any) -> str:
    """The JSON type of a value as the real server names it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names[type(value)]


def _invalid(path: str, value: Any, detail: str) -> FieldError:
    return field_errors.invalid(path.removeprefix(".") or "<nil>", value, detail)


def _type_errors(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    expected = ["integer", "string"] if schema.get("x-kubernetes-int-or-string") else [schema.get("type", "")]
    actual = type_name(value)
    if not expected[0] or actual in expected or (value is None and schema.get("nullable")):
        return
    if actual == "integer" and "number" in expected:
        return
    if actual == "number" and "integer" in expected and float(value).is_integer():
        return
    if isinstance(value, (str, list)) and formats.check_of(schema) and "string" in expected:
        return
    wanted = ",".join(expected)
    if not isinstance(value, (str, list)) and value is not None and _has_format(schema):
        wanted, actual = schema["format"], {"integer": "int64", "number": "float64"}.get(actual, "")
    detail = f"{path or ''} in body must be of type {wanted}: {field_errors.quote(actual)}"
    yield field_errors.type_invalid(path.removeprefix(".") or "<nil>", actual, detail)


def _has_format(schema: Schema) -> bool:
    return formats.check_of(schema) is not None or (
        schema.get("type") in {"integer", "number"} and schema.get("format") in {"int32", "int64", "float", "double"}
    )


def _enum_errors(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    allowed = schema.get("enum")
    if not allowed or any(value == item and isinstance(value, bool) == isinstance(item, bool) for item in allowed):
        return
    texts = [item if isinstance(item, str) else field_errors.go_json(item) for item in allowed]
    yield field_errors.not_supported(path.removeprefix(".") or "<nil>", value, texts)


def _string_errors(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    if not isinstance(value, str):
        return
    yield from _length_errors(value, schema, path)
    check = formats.check_of(schema)
    if check is not None and not check(value):
        detail = f"{path} in body must be of type {schema['format']}: {field_errors.quote(value)}"
        yield field_errors.type_invalid(path.removeprefix(".") or "<nil>", value, detail)


def _length_errors(value: str, schema: Schema, path: str) -> Iterator[FieldError]:
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if longest is not None and len(value) > longest:
        yield field_errors.too_long(path.removeprefix(".") or "<nil>", int(longest))
    elif shortest is not None and len(value) < shortest:
        yield _invalid(path, value, f"{path} in body should be at least {shortest} chars long")
    elif pattern and not go_patterns.compiled(pattern).search(value):
        yield _invalid(path, value, f"{path} in body should match '{pattern}'")


def _number_errors(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return
    yield from _range_errors(value, schema, path)
    factor, least, most = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    if factor and value % factor:
        yield _invalid(path, value, f"{path} in body should be a multiple of {_limit(factor)}")
    if least is not None and (value < least or (schema.get("exclusiveMinimum") and value == least)):
        words = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield _invalid(path, value, f"{path} in body should be {words} {_limit(least)}")
    if most is not None and (value > most or (schema.get("exclusiveMaximum") and value == most)):
        words = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield _invalid(path, value, f"{path} in body should be {words} {_limit(most)}")


def _range_errors(value: float, schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.get("type") != "integer":
        return
    name = schema.get("format", "")
    low, high = formats.INTEGER_RANGES.get(name, formats.INTEGER_RANGES["int64"])
    if not low <= value <= high or not float(value).is_integer():
        form = f"with format {name}" if name in formats.INTEGER_RANGES else "(default format)"
        yield field_errors.invalid("<nil>", "", f"Checked value must be of type integer {form} in {path}")


def _limit(number: float) -> str:
    return field_errors.go_number(number) if isinstance(number, float) else str(number)


def _list_errors(value: Any, old: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    if not isinstance(value, list):
        return
    items = schema.get("items")
    if isinstance(items, Mapping):
        correlate = correlation(schema, old)
        for index, item in enumerate(value):
            yield from _errors(item, correlate(item), items, f"{path}[{index}]")
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        yield _invalid(path, len(value), f"{path} in body should have at least {least} items")
    if most is not None and len(value) > most:
        yield field_errors.too_many(path.removeprefix(".") or "<nil>", len(value), most)
    if schema.get("uniqueItems") and any(item in value[:index] for index, item in enumerate(value)):
        yield _invalid(path, "", f"{path} in body shouldn't contain duplicates")


def correlation(schema: Schema, old: Any) -> Any:
    """A function from an item to the old item it goes on from; only lists of type map know one."""
    keys = schema.get("x-kubernetes-list-map-keys", ())
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return lambda _item: MISSING
    known: dict[Any, Any] = {}
    for item in old:
        if isinstance(item, dict):
            known.setdefault(_map_key(item, keys, schema), item)

    def find(item: Any) -> Any:
        return known.get(_map_key(item, keys, schema), MISSING) if isinstance(item, dict) else MISSING

    return find


def _map_key(item: Mapping[str, Any], keys: Any, schema: Schema) -> tuple[object, ...]:
    """Texts stand for themselves; other values, which Python may hold for equal, as the JSON they are written as."""
    if len(keys) == 1 and type(text := item.get(keys[0])) is str:
        return (text,)
    declared = schema.get("items", {}).get("properties", {})
    values = (item.get(key, declared.get(key, {}).get("default")) for key in keys)
    return tuple(value if type(value) is str else (field_errors.go_json(value),) for value in values)


def _map_errors(value: Any, old: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    if not isinstance(value, dict):
        return
    yield from _size_errors(value, schema, path)
    properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
    before = old if isinstance(old, dict) else {}
    for key, item in value.items():
        if key not in properties and additional is False:
            yield _invalid(path, key, f"{path}.{key} in body is a forbidden property")
        elif key not in properties and isinstance(additional, Mapping):
            yield from _errors(item, before.get(key, MISSING), additional, f"{path}.{key}")
    for name, child in properties.items():
        if name in value:
            below = f"{path}.{name}" if path else name
            previous = MISSING if not path and name in {"apiVersion", "kind"} else before.get(name, MISSING)
            yield from _errors(value[name], previous, child, below)
    for name in schema.get("required", ()):
        if name not in value:
            yield field_errors.required(f"{path}.{name}".removeprefix("."))


def _size_errors(value: dict[str, Any], schema: Schema, path: str) -> Iterator[FieldError]:
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        yield _invalid(path, len(value), f"{path} in body should have at least {least} properties")
    if most is not None and len(value) > most:
        yield field_errors.too_many(path.removeprefix(".") or "<nil>", len(value), most)


def _combined_errors(value: Any, schema: Schema, path: str) -> Iterator[FieldError]:
    name = field_errors.quote(path)
    if schema.get("anyOf"):
        results = [_errors(value, MISSING, item, path) for item in schema["anyOf"]]
        if all(results):
            yield field_errors.invalid("<nil>", "", f"{name} must validate at least one schema (anyOf)")
            yield from min(results, key=len)
    if schema.get("oneOf"):
        results = [_errors(value, MISSING, item, path) for item in schema["oneOf"]]
        valid = results.count([])
        if valid != 1:
            found = f"Found {valid} valid alternatives" if valid else "Found none valid"
            yield field_errors.invalid("<nil>", "", f"{name} must validate one and only one schema (oneOf). {found}")
            if not valid:
                yield from min(results, key=len)
    if schema.get("allOf"):
        results = [_errors(value, MISSING, item, path) for item in schema["allOf"]]
        yield from (error for result in results for error in result)
        if any(results):
            none = ". None validated" if all(results) else ""
            yield field_errors.invalid("<nil>", "", f"{name} must validate all the schemas (allOf){none}")
    if schema.get("not") is not None and not _errors(value, MISSING, schema["not"], path):
        yield field_errors.invalid("<nil>", "", f"{name} must not validate the schema (not)")
