"""What a kind states of its older version: how the schema differs, and how an object is rewritten, both ways."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType
from worker_agent.api.versions.schema_changes import Change

V1BETA1: Final = "v1beta1"
V1BETA2: Final = "v1beta2"
WARNING: Final = "This version is deprecated. Use v1beta2 instead."

Rewrite = Callable[[Document], Document]
"""An object's fields in another version; what both versions have, and what neither knows, stays as it is."""


@dataclass(frozen=True, slots=True)
class Rewrites:
    """``to_v1beta2`` and ``to_v1beta1`` are inverse but for fields that only one version has.

    ``forget`` takes away what a v1beta1 object may hold and nobody writes any more.
    """

    to_v1beta2: Rewrite
    to_v1beta1: Rewrite
    forget: Rewrite = lambda document: document


@dataclass(frozen=True, slots=True)
class OldVersion:
    """v1beta1 of one kind: ``changes`` lead from the schema of v1beta2 to its own.

    Without ``rewrites`` the two versions of an object differ in nothing but the name of the version, and the API
    server needs nobody to convert. ``columns`` maps JSON paths of columns to those of v1beta1.
    """

    resource: ResourceType
    changes: tuple[Change, ...] = ()
    rewrites: Rewrites | None = None
    columns: tuple[tuple[str, str], ...] = ()
    deprecated: bool = True
    selectable: bool = True
    """Whether it can be selected by the fields of v1beta2."""
