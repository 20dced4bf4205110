"""CEL on devices: ``device.driver``, ``device.attributes[domain].name`` and ``device.capacity[domain].name``.

Source: the DRA API of Kubernetes, resource.k8s.io/v1 (CELDeviceSelector).
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from worker_agent.api import cel_functions
from worker_agent.api.cel_engine import engine
from worker_agent.api.document import Document
from worker_agent.engine.devices.inventory import Device

DOMAINS: Final = re.compile(r"""device\s*\.\s*(?:attributes|capacity)\s*\[\s*(?:"([^"]*)"|'([^']*)')\s*\]""")


class SelectorError(ValueError):
    """An expression that does not compile, or does not come to a verdict on a device; the text says why."""


class Selector:
    """One compiled expression."""

    def __init__(self, expression: str) -> None:
        """Raises SelectorError."""
        try:
            self._program = engine().compile(cel_functions.without_namespaces(expression))
        except ValueError as error:
            raise SelectorError(str(error)) from None
        wanted = self._program.functions()
        self._functions = {n: cel_functions.FUNCTIONS[n] for n in wanted if n in cel_functions.FUNCTIONS}
        # A domain of which a device says nothing is an empty map, so that has() can ask for its parts.
        self._domains = {double or single for double, single in DOMAINS.findall(expression)}

    def matches(self, device: Device) -> bool:
        """Raises SelectorError, also where the outcome is no boolean."""
        context = engine().Context(variables={"device": self._variable(device)}, functions=self._functions)
        try:
            verdict = self._program.execute(context)
        except (ValueError, TypeError, RuntimeError, KeyError) as error:
            raise SelectorError(str(error)) from None
        if not isinstance(verdict, bool):
            raise SelectorError(f"must evaluate to bool, not to {type(verdict).__name__}")
        return verdict

    def _variable(self, device: Device) -> Document:
        document = device.document
        attributes = self._by_domain(device.driver, document.get("attributes") or {}, _attribute)
        capacity = self._by_domain(device.driver, document.get("capacity") or {}, _capacity)
        multiple = bool(document.get("allowMultipleAllocations"))
        return {
            "driver": device.driver,
            "attributes": attributes,
            "capacity": capacity,
            "allowMultipleAllocations": multiple,
        }

    def _by_domain(self, driver: str, values: Mapping[str, Any], read: Any) -> dict[str, dict[str, Any]]:
        """``domain/name`` split up; a name without a domain is of the driver's own."""
        found: dict[str, dict[str, Any]] = {domain: {} for domain in self._domains}
        for qualified, value in values.items():
            domain, _, name = qualified.rpartition("/")
            found.setdefault(domain or driver, {})[name] = read(value)
        return found


def _attribute(value: Mapping[str, Any]) -> Any:
    for kind in ("bool", "int", "string"):
        if value.get(kind) is not None:
            return value[kind]
    return cel_functions.semver(str(value.get("version", "")))


def _capacity(value: Mapping[str, Any]) -> Any:
    return cel_functions.as_quantity(str(value.get("value", "0")))


@lru_cache(maxsize=256)
def compiled(expression: str) -> Selector:
    """Raises SelectorError."""
    return Selector(expression)


def expressions(selectors: Iterable[Document] | None) -> list[str]:
    """The CEL expressions of a list of DeviceSelectors."""
    return [selector["cel"]["expression"] for selector in selectors or () if selector.get("cel")]
