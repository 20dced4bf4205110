"""Labels of metrics that a user defines: taken from labels or annotations of the object that a series is about."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from worker_agent.api.meta import Key, Object, ObjectMeta

UNTRACKED: Final = "kueue.x-k8s.io/_UNTRACKED_VALUE_"
"""Stands for every value that is not among the tracked ones."""


class Source(StrEnum):
    """What kind of object a custom label is read from."""

    CLUSTER_QUEUE = "ClusterQueue"
    LOCAL_QUEUE = "LocalQueue"
    COHORT = "Cohort"
    WORKLOAD = "Workload"


@dataclass(frozen=True, slots=True)
class CustomLabel:
    """``custom_<name>``; exactly one of ``label`` and ``annotation`` is the key that it is read from."""

    name: str
    source: Source = Source.CLUSTER_QUEUE
    label: str = ""
    annotation: str = ""
    tracked: frozenset[str] = frozenset()
    """Empty: all values are shown as they are."""

    def value(self, metadata: ObjectMeta | None) -> str:
        if metadata is None:
            return ""
        value = metadata.label(self.label) if self.label else metadata.annotation(self.annotation)
        return UNTRACKED if value and self.tracked and value not in self.tracked else value


LookUp = Callable[[Source, Key], Object | None]


class CustomLabels:
    """``look_up`` finds the object that a series is about; an unknown one has empty labels."""

    def __init__(self, labels: Iterable[CustomLabel] = (), look_up: LookUp = lambda source, key: None) -> None:
        self._by_source: Mapping[Source, tuple[CustomLabel, ...]] = {
            source: tuple(label for label in labels if label.source is source) for source in Source
        }
        self._look_up = look_up

    def names(self, source: Source) -> tuple[str, ...]:
        return tuple(f"custom_{label.name}" for label in self._by_source[source])

    def values(self, source: Source, key: Key) -> tuple[str, ...]:
        """Of the object ``key``; nothing is looked up where no label asks for it."""
        wanted = self._by_source[source]
        if not wanted:
            return ()
        found = self._look_up(source, key)
        return self.of(source, None if found is None else found.metadata)

    def of(self, source: Source, metadata: ObjectMeta | None) -> tuple[str, ...]:
        return tuple(label.value(metadata) for label in self._by_source[source])


def read_custom_labels(stanzas: Iterable[Mapping[str, Any]]) -> tuple[CustomLabel, ...]:
    """``metrics.customLabels`` as the configuration has them, already checked."""
    found = []
    for stanza in stanzas:
        annotation = stanza.get("source_annotation_key") or ""
        label = stanza.get("source_label_key") or ("" if annotation else stanza["name"])
        tracked = frozenset(stanza.get("tracked_values") or ())
        source = Source(stanza.get("source_kind") or Source.CLUSTER_QUEUE)
        found.append(CustomLabel(stanza["name"], source, label, annotation, tracked))
    return tuple(found)
