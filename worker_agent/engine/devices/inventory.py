"""What is known of claims and devices: templates, DeviceClasses, and the devices that drivers publish."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from worker_agent.api import timestamps
from worker_agent.api.device import DeviceClass, ResourceClaimTemplate, ResourceSlice
from worker_agent.api.document import Document, get
from worker_agent.api.meta import Key


class Device(NamedTuple):
    """One published device and the driver that publishes it."""

    driver: str
    document: Document

    @property
    def name(self) -> str:
        return str(self.document.get("name", ""))


class DeviceInventory:
    """Kept by whoever follows the cluster. ``version`` grows with every change."""

    def __init__(self) -> None:
        self.version = 0
        self.unreadable = ""
        """Why published devices are not known; empty when they are."""
        self._templates: dict[Key, Document] = {}
        self._classes: dict[str, DeviceClass] = {}
        self._slices: dict[str, Document] = {}

    def put_template(self, template: ResourceClaimTemplate) -> None:
        self._templates[template.metadata.key] = template.spec
        self.version += 1

    def delete_template(self, key: Key) -> None:
        self._templates.pop(key, None)
        self.version += 1

    def put_class(self, device_class: DeviceClass) -> None:
        self._classes[device_class.metadata.name] = device_class
        self.version += 1

    def delete_class(self, name: str) -> None:
        self._classes.pop(name, None)
        self.version += 1

    def put_slice(self, slice_: ResourceSlice) -> None:
        self._slices[slice_.metadata.name] = slice_.spec
        self.version += 1

    def delete_slice(self, name: str) -> None:
        self._slices.pop(name, None)
        self.version += 1

    def claim_spec(self, template: Key) -> Document | None:
        """What a claim made of the template asks for; None where there is no such template."""
        found = self._templates.get(template)
        return None if found is None else found.get("spec") or {}

    def class_spec(self, name: str) -> Document | None:
        """The spec of a DeviceClass; None where there is no such class."""
        found = self._classes.get(name)
        return None if found is None else found.spec

    def serving(self, extended_resource: str) -> str:
        """The DeviceClass that stands for an extended resource: of several the latest, then the first by name."""
        found = [c.metadata for c in self._classes.values() if c.spec.get("extendedResourceName") == extended_resource]
        if not found:
            return ""
        latest = max(timestamps.micros(metadata.creation_timestamp) for metadata in found)
        return min(m.name for m in found if timestamps.micros(m.creation_timestamp) == latest)

    def devices(self, driver: str = "") -> Iterator[Device]:
        """Every published device, of one driver or of all."""
        for spec in self._slices.values():
            if driver in ("", spec.get("driver")):
                for device in spec.get("devices") or ():
                    yield Device(spec.get("driver", ""), device)

    def complete_devices(self, driver: str) -> Iterator[Device]:
        """Devices of the driver's pools of which all slices of the newest generation are there."""
        mine = [spec for spec in self._slices.values() if spec.get("driver") == driver]
        for pool in sorted({get(spec, "pool.name", "") for spec in mine}):
            yield from self._pool(driver, [spec for spec in mine if get(spec, "pool.name", "") == pool])

    @staticmethod
    def _pool(driver: str, slices: Iterable[Document]) -> Iterator[Device]:
        slices = list(slices)
        newest = max(get(spec, "pool.generation", 0) for spec in slices)
        current = [spec for spec in slices if get(spec, "pool.generation", 0) == newest]
        if len(current) == get(current[0], "pool.resourceSliceCount", 0):
            for spec in current:
                for device in spec.get("devices") or ():
                    yield Device(driver, device)
