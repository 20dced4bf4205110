"""Types without schemas: nothing is defaulted, pruned or refused; for tests of the core alone."""

from collections.abc import Sequence
from datetime import datetime

from hub.local.apiserver.schema import json_merge
from hub.local.apiserver.schema.field_errors import FieldError, required
from hub.local.apiserver.schemas import GVK, Apply
from worker_agent.api.document import Document


class PlainSchemas:
    """``Schemas`` that knows no type."""

    def default(self, gvk: GVK, document: Document) -> Document:
        return document

    def prune(self, gvk: GVK, document: Document) -> tuple[Document, list[str]]:
        return document, []

    def validate(self, gvk: GVK, new: Document, old: Document | None, subresource: str) -> Sequence[FieldError]:
        if not new["metadata"].get("name"):
            return [required("metadata.name", "name or generateName is required")]
        return []

    def warnings(self, gvk: GVK, new: Document, old: Document | None) -> Sequence[str]:
        return ()

    def strategic_merge(self, gvk: GVK, live: Document, patch: Document) -> Document:
        merged: Document = json_merge.merge(live, patch)
        return merged

    def apply(self, gvk: GVK, live: Document | None, applied: Document, how: Apply) -> Document:
        merged: Document = json_merge.merge(live or {}, applied)
        entry = {"manager": how.manager, "operation": "Apply", "apiVersion": applied["apiVersion"]}
        merged["metadata"] = {**merged["metadata"], "managedFields": [entry]}
        return merged

    def managed_fields_after_update(
        self, gvk: GVK, new: Document, old: Document | None, manager: str, subresource: str, now: datetime
    ) -> list[Document]:
        return []

    def table(self, gvk: GVK, documents: Sequence[Document], now: datetime) -> Document:
        columns = [{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]
        rows = [{"cells": [document["metadata"]["name"]]} for document in documents]
        return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": columns, "rows": rows}

    def add_crd(self, crd: Document) -> None:
        pass

    def remove_crd(self, crd: Document) -> None:
        pass

    def openapi_v3(self, group: str, version: str) -> Document | None:
        return None
