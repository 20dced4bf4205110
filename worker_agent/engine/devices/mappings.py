"""Which DeviceClass counts as which quota resource, and by what measure: ``resources.deviceClassMappings``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Source:
    """Charge not devices but what they take of a counter, or offer of a capacity, of this driver's matching devices."""

    name: str
    driver: str
    selector: str
    """CEL; empty matches every device."""


@dataclass(frozen=True, slots=True)
class ClassMapping:
    """One DeviceClass: its quota resource, and what of its devices is charged where not their number is."""

    resource: str
    counters: tuple[Source, ...] = ()
    capacities: tuple[Source, ...] = ()

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.counters + self.capacities


@dataclass(frozen=True, slots=True)
class DeviceRules:
    """Gates and mappings. ``enabled`` False: claims are refused if ``reject``, else they count for nothing."""

    enabled: bool = True
    reject: bool = True
    extended_resources: bool = True
    counters: bool = True
    capacities: bool = False
    classes: Mapping[str, ClassMapping] = field(default_factory=dict)

    def counters_of(self, device_class: str) -> tuple[Source, ...]:
        found = self.classes.get(device_class)
        return found.counters if found is not None and self.counters else ()

    def capacities_of(self, device_class: str) -> tuple[Source, ...]:
        found = self.classes.get(device_class)
        return found.capacities if found is not None and self.capacities else ()

    def measured(self, device_class: str) -> bool:
        """Not charged by the number of devices."""
        return bool(self.counters_of(device_class) or self.capacities_of(device_class))


DEFAULT_DEVICE_RULES: Final = DeviceRules()


def read_device_rules(on: Mapping[str, bool], mappings: Iterable[Mapping[str, Any]]) -> DeviceRules:
    """``on`` are all gates, ``mappings`` as the configuration has them."""
    return DeviceRules(
        enabled=on["KueueDRAIntegration"],
        reject=on["KueueDRARejectWorkloadsWhenDRADisabled"],
        extended_resources=on["KueueDRAIntegrationExtendedResource"],
        counters=on["KueueDRAIntegrationPartitionableDevices"],
        capacities=on["KueueDRAIntegrationConsumableCapacity"],
        classes={name: _class(mapping) for mapping in mappings for name in mapping.get("deviceClassNames") or ()},
    )


def _class(mapping: Mapping[str, Any]) -> ClassMapping:
    sources = mapping.get("sources") or ()
    return ClassMapping(
        resource=mapping["name"],
        counters=tuple(_source(source["counter"]) for source in sources if source.get("counter")),
        capacities=tuple(_source(source["capacity"]) for source in sources if source.get("capacity")),
    )


def _source(stanza: Mapping[str, Any]) -> Source:
    selector = (stanza.get("deviceSelector") or {}).get("cel") or {}
    return Source(stanza["name"], stanza["driver"], str(selector.get("expression", "")))
