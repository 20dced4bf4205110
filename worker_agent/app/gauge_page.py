"""One scrape's gauges: families under Kueue's names, with the replica's role and the user's labels on every series."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily

from worker_agent.api.meta import Key
from worker_agent.engine.resources import UNLIMITED
from worker_agent.metric_labels import CustomLabels, Source

Row = Callable[..., None]


class GaugePage:
    """``gauge`` starts a family; the function it returns adds a series: values, the amount, the object it is about."""

    def __init__(self, role: str, custom: CustomLabels) -> None:
        self.custom = custom
        self._role = role
        self._families: list[GaugeMetricFamily] = []

    def __iter__(self) -> Iterator[GaugeMetricFamily]:
        return iter(self._families)

    def gauge(
        self, name: str, text: str, labels: Iterable[str], source: Source | None = None, *, by_workload: bool = False
    ) -> Row:
        """``by_workload``: series carry the custom labels of Workloads as well, in argument ``workload``."""
        names = [*labels, "replica_role"]
        names += self.custom.names(source) if source is not None else ()
        names += self.custom.names(Source.WORKLOAD) if by_workload else ()
        family = GaugeMetricFamily(f"kueue_{name}", text, labels=names)
        self._families.append(family)

        def add(*values: str, amount: float, key: Key | None = None, workload: tuple[str, ...] = ()) -> None:
            custom = self.custom.values(source, key) if source is not None and key is not None else ()
            family.add_metric([*values, self._role, *custom, *workload], amount)

        return add


def units(resource: str, amount: int) -> float:
    """Cores for cpu, units for the rest; no bound is infinite."""
    if amount == UNLIMITED:
        return float("inf")
    return amount / 1000 if resource == "cpu" else float(amount)
