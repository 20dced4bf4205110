"""Tables of custom resources: Name, then the CRD's ``additionalPrinterColumns``, else Age."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hub.local.apiserver.schema import ages, field_errors, json_path
from worker_agent.api import openapi_data
from worker_agent.api.document import Document

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


@dataclass(frozen=True, slots=True)
class Columns:
    """What a kind's table shows: the column definitions and how the cells of one object are made."""

    definitions: Sequence[Document]
    cells: Callable[[Document, datetime], list[Any]]


def of_version(version: Mapping[str, Any]) -> Columns:
    """The columns of one version of a CRD. Raises JsonPathError for a path that cannot be read."""
    declared = version.get("additionalPrinterColumns") or [
        {**AGE, "description": metadata_text("creationTimestamp")},
    ]
    definitions: list[Document] = [name_column()]
    readers = []
    for column in declared:
        path = column["jsonPath"]
        definitions.append(
            {
                "name": column["name"],
                "type": column["type"],
                "format": column.get("format", ""),
                "description": column.get("description")
                or f"Custom resource definition column (in JSONPath format): {path}",
                "priority": column.get("priority", 0),
            }
        )
        readers.append((json_path.compile_path(path), column["type"]))

    def cells(document: Document, now: datetime) -> list[Any]:
        row: list[Any] = [document["metadata"].get("name", "")]
        for find, kind in readers:
            found = find(document)
            row.append(cell(kind, found[0], now) if found else None)
        return row

    return Columns(definitions, cells)


def metadata_text(field: str) -> str:
    return str(openapi_data.schema(OBJECT_META)["properties"][field]["description"])


def name_column() -> Document:
    return {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": metadata_text("name"),
        "priority": 0,
    }


def cell(kind: str, value: Any, now: datetime) -> Any:
    """One JSON value as a cell of a column type; None where it does not fit the type."""
    if kind == "string":
        return printed(value)
    if kind == "date":
        return ages.since(value, now) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if kind == "integer" else value


def printed(value: Any) -> str:
    """A value as JSONPath output prints it: text bare, maps and lists as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return field_errors.go_number(value)
    if isinstance(value, int):
        return str(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
