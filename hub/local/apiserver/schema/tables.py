"""Tables for kubectl: columns of a kind over a list of objects."""

from collections.abc import Sequence
from datetime import datetime

from hub.local.apiserver.schema import pod_columns
from hub.local.apiserver.schema.custom_columns import Columns
from worker_agent.api.document import Document


def table(columns: Columns, documents: Sequence[Document], now: datetime) -> Document:
    """A ``meta.k8s.io/v1`` Table; each row carries its object as PartialObjectMetadata. List metadata stays empty."""
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": list(columns.definitions),
        "rows": [_row(columns, document, now) for document in documents],
    }


def _row(columns: Columns, document: Document, now: datetime) -> Document:
    row: Document = {"cells": columns.cells(document, now)}
    if document.get("kind") == "Pod":
        conditions = pod_columns.conditions(document)
        if conditions:
            row["conditions"] = conditions
    row["object"] = partial_metadata(document)
    return row


def partial_metadata(document: Document) -> Document:
    """The object reduced to its metadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": document.get("metadata", {}),
    }
