"""ObjectMeta checked as the real server checks it, on creation and on change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from hub.local.apiserver.schema import field_errors, name_rules
from hub.local.apiserver.schema.field_errors import FieldError
from worker_agent.api.document import Document

NameRule = Callable[[str], Sequence[str]]
IMMUTABLE: Final = "field is immutable"
STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
MOST_ANNOTATION_BYTES: Final = 256 * 1024


def errors(
    new: Document, old: Document | None, *, namespaced: bool, name_rule: NameRule = name_rules.dns1123_subdomain
) -> list[FieldError]:
    """Complaints about ``metadata``; ``old`` is None on creation."""
    metadata = new.get("metadata") or {}
    if old is not None:
        return [*_update_errors(metadata, old.get("metadata") or {})]
    return [*_name_errors(metadata, name_rule), *_namespace_errors(metadata, namespaced), *_shared_errors(metadata)]


def _name_errors(metadata: Mapping[str, Any], rule: NameRule) -> Iterator[FieldError]:
    name, prefix = metadata.get("name", ""), metadata.get("generateName", "")
    if prefix:
        for complaint in rule(prefix.removesuffix("-") + "a" if prefix.endswith("-") else prefix):
            yield field_errors.invalid("metadata.generateName", prefix, complaint)
    if not name:
        yield field_errors.required("metadata.name", "name or generateName is required")
        return
    for complaint in rule(name):
        yield field_errors.invalid("metadata.name", name, complaint)


def _namespace_errors(metadata: Mapping[str, Any], namespaced: bool) -> Iterator[FieldError]:
    namespace = metadata.get("namespace", "")
    if not namespaced:
        if namespace:
            yield field_errors.forbidden("metadata.namespace", "not allowed on this type")
    elif not namespace:
        yield field_errors.required("metadata.namespace")
    else:
        for complaint in name_rules.dns1123_label(namespace):
            yield field_errors.invalid("metadata.namespace", namespace, complaint)


def _update_errors(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[FieldError]:
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            listed = ", ".join(field_errors.quote(name) for name in added)
            words = "no new finalizers can be added if the object is being deleted, found new finalizers "
            yield field_errors.forbidden("metadata.finalizers", f"{words}[]string{{{listed}}}")
    if not new.get("resourceVersion"):
        yield field_errors.invalid("metadata.resourceVersion", "", "must be specified for an update")
    if new.get("generation", 0) < old.get("generation", 0):
        yield field_errors.invalid("metadata.generation", new.get("generation", 0), "must not be decremented")
    for field in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(field) != old.get(field):
            yield field_errors.invalid(f"metadata.{field}", new.get(field), IMMUTABLE)
    yield from _shared_errors(new)


def _shared_errors(metadata: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from label_errors(metadata.get("labels"), "metadata.labels")
    yield from annotation_errors(metadata.get("annotations"), "metadata.annotations")
    yield from _owner_errors(metadata.get("ownerReferences") or ())
    finalizers = metadata.get("finalizers") or ()
    for finalizer in finalizers:
        for complaint in name_rules.label_key(finalizer):
            yield field_errors.invalid("metadata.finalizers", finalizer, complaint)
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        words = "finalizer orphan and foregroundDeletion cannot be both set"
        yield field_errors.invalid("metadata.finalizers", list(finalizers), words)


def label_errors(labels: Mapping[str, str] | None, path: str) -> Iterator[FieldError]:
    """Complaints about a map of labels."""
    for key, value in (labels or {}).items():
        for complaint in name_rules.label_key(key):
            yield field_errors.invalid(path, key, complaint)
        for complaint in name_rules.label_value(value or ""):
            yield field_errors.invalid(path, value, complaint)


def annotation_errors(annotations: Mapping[str, str] | None, path: str) -> Iterator[FieldError]:
    """Complaints about a map of annotations: keys as labels (in any case), all of it at most 256 KiB."""
    size = 0
    for key, value in (annotations or {}).items():
        size += len(key) + len(value or "")
        for complaint in name_rules.label_key(key.lower()):
            yield field_errors.invalid(path, key, complaint)
    if size > MOST_ANNOTATION_BYTES:
        yield field_errors.too_long(path, MOST_ANNOTATION_BYTES)


def _owner_errors(owners: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    path, controller = "metadata.ownerReferences", ""
    for owner in owners:
        api_version = owner.get("apiVersion", "")
        if not api_version.rpartition("/")[2]:
            yield field_errors.invalid(f"{path}.apiVersion", api_version, "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                yield field_errors.invalid(f"{path}.{field}", "", "must not be empty")
        if (api_version, owner.get("kind")) == ("v1", "Event"):
            yield field_errors.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            this = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                words = 'Only one reference can have Controller set to true. Found "true" in references for'
                yield field_errors.invalid(path, list(owners), f"{words} {controller} and {this}")
            controller = controller or this


def finalizer_warnings(new: Document, old: Document | None) -> list[str]:
    """Warnings about finalizers a write of a custom resource adds: names should carry a domain and a path."""
    added = set((new.get("metadata") or {}).get("finalizers") or ())
    added -= set(((old or {}).get("metadata") or {}).get("finalizers") or ())
    warnings = []
    for name in sorted(added):
        place = f"metadata.finalizers: {field_errors.quote(name)}"
        warnings += [f"{place}: {complaint}" for complaint in name_rules.label_key(name)]
        if "/" not in name and name not in STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            words = "to avoid accidental conflicts with other finalizer writers"
            warnings.append(f"{place}: prefer a domain-qualified finalizer name{path} {words}")
    return warnings
