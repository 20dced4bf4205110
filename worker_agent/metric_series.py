"""Families of metrics with the labels that all of them carry: the replica's role and the user's own."""

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from worker_agent.api.meta import Key, ObjectMeta
from worker_agent.metric_labels import CustomLabels, Source

E14: Final = (1.0, *(2.5 * 2**i for i in range(13)))
E16: Final = (1.0, *(2.5 * 2**i for i in range(15)))
"""Kueue's buckets: 1, then 2.5 doubling, 14 or 16 bounds in total."""

LATENCY: Final = tuple(0.01 * 2**i for i in range(11))
DEFAULT: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The defaults of Go's client, which Kueue's dashboards expect."""

F = TypeVar("F", Counter, Gauge, Histogram)


class Series(Generic[F]):
    """One family. ``at`` is the series with these values; custom labels are read from object ``key``."""

    def __init__(
        self,
        family: F,
        role: Callable[[], str],
        custom: CustomLabels,
        source: Source | None,
        by_workload: bool,
    ) -> None:
        self._family: Any = family
        self._role = role
        self._custom = custom
        self._source = source
        self._by_workload = by_workload

    def at(self, *values: str, key: Key | None = None, workload: ObjectMeta | None = None) -> F:
        custom = () if self._source is None or key is None else self._custom.values(self._source, key)
        if self._by_workload:
            custom += self._custom.of(Source.WORKLOAD, workload)
        series: F = self._family.labels(*values, self._role(), *custom)
        return series


class SeriesMaker:
    """Makes families named ``kueue_<name>`` and remembers them, so that series of objects that are gone can go too."""

    def __init__(self, registry: CollectorRegistry, role: Callable[[], str], custom: CustomLabels) -> None:
        self._registry = registry
        self._role = role
        self._custom = custom
        self._families: list[tuple[Counter | Gauge | Histogram, frozenset[str]]] = []

    def counter(
        self, name: str, text: str, labels: tuple[str, ...], source: Source | None = None, *, by_workload: bool = False
    ) -> Series[Counter]:
        names = self._names(labels, source, by_workload)
        return self._series(Counter(f"kueue_{name}", text, names, registry=self._registry), names, source, by_workload)

    def gauge(self, name: str, text: str, labels: tuple[str, ...], source: Source | None = None) -> Series[Gauge]:
        names = self._names(labels, source, False)
        return self._series(Gauge(f"kueue_{name}", text, names, registry=self._registry), names, source, False)

    def histogram(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        buckets: tuple[float, ...],
        source: Source | None = None,
        *,
        by_workload: bool = False,
    ) -> Series[Histogram]:
        names = self._names(labels, source, by_workload)
        family = Histogram(f"kueue_{name}", text, names, buckets=buckets, registry=self._registry)
        return self._series(family, names, source, by_workload)

    def remove(self, **labels: str) -> None:
        """Drop every series that has all of these values."""
        for family, names in self._families:
            if names.issuperset(labels):
                family.remove_by_labels(labels)

    def _names(self, labels: tuple[str, ...], source: Source | None, by_workload: bool) -> tuple[str, ...]:
        custom = () if source is None else self._custom.names(source)
        more = self._custom.names(Source.WORKLOAD) if by_workload else ()
        return (*labels, "replica_role", *custom, *more)

    def _series(self, family: F, names: tuple[str, ...], source: Source | None, by_workload: bool) -> Series[F]:
        self._families.append((family, frozenset(names)))
        return Series(family, self._role, self._custom, source, by_workload)
