"""Objects that a definition's schema allows, for hypothesis: every field there or not, unknown fields among them."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from worker_agent.api.document import Document

Strategy = st.SearchStrategy[Any]
WORDS = st.sampled_from(["a", "b", "c-1", "default", "x.y", "zone-a", "zone-b"])
_PLAIN: Mapping[str, Strategy] = {
    "boolean": st.booleans(),
    "integer": st.integers(1, 9),
    "string": WORDS,
}


def of_schema(schema: Document, instead: Mapping[str, Strategy], path: str = "") -> Strategy:
    """Values of a structural schema; ``instead`` gives those at some paths (``spec.podSets[].template``)."""
    if path in instead:
        return instead[path]
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return st.sampled_from(["1", "2Gi", 3])
    match schema.get("type"):
        case "object":
            return _of_object(schema, instead, path)
        case "array":
            items = of_schema(schema["items"], instead, f"{path}[]")
            least = schema.get("minItems", 0)
            return st.lists(items, min_size=least, max_size=least + 2, unique_by=_name)
    return _PLAIN[str(schema["type"])]


def _of_object(schema: Document, instead: Mapping[str, Strategy], path: str) -> Strategy:
    if "properties" not in schema:
        values = schema.get("additionalProperties")
        return st.dictionaries(WORDS, of_schema(values, instead, f"{path}{{}}") if values else WORDS, max_size=2)
    required = set(schema.get("required") or ())
    fields = {
        name: of_schema(child, instead, f"{path}.{name}" if path else name)
        for name, child in schema["properties"].items()
    }
    optional = {name: found for name, found in fields.items() if name not in required}
    optional["newerField"] = st.just({"of": "a later release"})
    return st.fixed_dictionaries({name: fields[name] for name in required}, optional=optional)


def _name(item: Any) -> Any:
    return item.get("name", id(item)) if isinstance(item, dict) else id(item)
