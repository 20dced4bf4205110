"""Objects of one version in another: nothing is lost on the way there and back.

What the other version cannot say stays with the object in an annotation (``kept``) and comes back with it; fields that
nobody writes any more go for good. Fields that neither version knows are left as they are.
"""

from typing import Final

from worker_agent.api.document import Document
from worker_agent.api.resource_type import KUEUE
from worker_agent.api.versions import kept
from worker_agent.api.versions.kinds import OLD_VERSIONS
from worker_agent.api.versions.old_version import V1BETA1, V1BETA2, Rewrite, Rewrites

_VERSIONS: Final = {f"{KUEUE}/{version}": version for version in (V1BETA1, V1BETA2)}
_BROKEN: Final = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


class ConversionError(ValueError):
    """The object cannot be shown in that version; the text says why."""


def convert(document: Document, api_version: str) -> Document:
    """The object with ``api_version``. Raises ConversionError for other kinds and versions, and for broken objects."""
    present = str(document.get("apiVersion"))
    if present == api_version:
        return document
    if present not in _VERSIONS or api_version not in _VERSIONS:
        raise ConversionError(f"{document.get('kind')} cannot be converted from {present} to {api_version}")
    old = OLD_VERSIONS.get(str(document.get("kind")))
    if old is None:
        raise ConversionError(f"{present} has no kind {document.get('kind')}")
    if old.rewrites is None:
        return {**document, "apiVersion": api_version}
    try:
        converted = _converted(document, old.rewrites, _VERSIONS[api_version])
    except _BROKEN as error:
        raise ConversionError(f"{document['kind']} {_name(document)} is not as {present} has it: {error!r}") from error
    return {**converted, "apiVersion": api_version}


def _name(document: Document) -> str:
    metadata = document.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


def _converted(document: Document, rewrites: Rewrites, wanted: str) -> Document:
    there, back = _ways(rewrites, wanted)
    before, kept_operations = kept.taken(document)
    if wanted == V1BETA2:
        before = rewrites.forget(before)
    made = there(before)
    if kept_operations:
        made = kept.put_back(made, kept_operations, before, back)
    return kept.with_difference(made, back(made), before)


def _ways(rewrites: Rewrites, wanted: str) -> tuple[Rewrite, Rewrite]:
    """How to get to a version, and how back."""
    if wanted == V1BETA2:
        return rewrites.to_v1beta2, rewrites.to_v1beta1
    return rewrites.to_v1beta1, rewrites.to_v1beta2
