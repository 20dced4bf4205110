"""What the core asks of the package ``schema``: the narrow interface, so that tests may put a table in its place."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from hub.local.apiserver.schema.field_errors import FieldError
from worker_agent.api.document import Document


class GVK(NamedTuple):
    group: str
    version: str
    kind: str


class Apply(NamedTuple):
    """A server-side apply: who applies, whether it may take fields from others, to which subresource."""

    manager: str
    force: bool
    subresource: str
    now: datetime


class Schemas(Protocol):
    """Types by group, version and kind. Documents that go in are never changed; what comes out may share parts."""

    def default(self, gvk: GVK, document: Document) -> Document:
        """The document with its absent fields filled."""

    def prune(self, gvk: GVK, document: Document) -> tuple[Document, list[str]]:
        """The document without unknown fields, and their paths as in ``unknown field "spec.x"``."""

    def validate(self, gvk: GVK, new: Document, old: Document | None, subresource: str) -> Sequence[FieldError]: ...

    def warnings(self, gvk: GVK, new: Document, old: Document | None) -> Sequence[str]:
        """What a write that is accepted should still be told."""

    def strategic_merge(self, gvk: GVK, live: Document, patch: Document) -> Document: ...

    def apply(self, gvk: GVK, live: Document | None, applied: Document, how: Apply) -> Document:
        """The merged document with its managedFields; raises ApplyConflict."""

    def managed_fields_after_update(
        self, gvk: GVK, new: Document, old: Document | None, manager: str, subresource: str, now: datetime
    ) -> list[Document]: ...

    def table(self, gvk: GVK, documents: Sequence[Document], now: datetime) -> Document: ...

    def add_crd(self, crd: Document) -> None: ...

    def remove_crd(self, crd: Document) -> None: ...

    def openapi_v3(self, group: str, version: str) -> Document | None: ...
