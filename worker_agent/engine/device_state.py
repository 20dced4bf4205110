"""The part of the state that knows of devices: which workloads' totals depend on it, and how it changes."""

from worker_agent.api.device import DeviceClass, ResourceClaimTemplate, ResourceSlice
from worker_agent.api.meta import Key
from worker_agent.engine.policy import Policy
from worker_agent.engine.queue_state import QueueState


class DeviceState(QueueState):
    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.claimants: dict[Key, None] = {}
        """Workloads whose totals depend on what is known of devices."""

    def put_resource_claim_template(self, view: ResourceClaimTemplate) -> None:
        self.shapes.devices.put_template(view)
        self._devices_changed()

    def delete_resource_claim_template(self, key: Key) -> None:
        self.shapes.devices.delete_template(key)
        self._devices_changed()

    def put_device_class(self, view: DeviceClass) -> None:
        self.shapes.devices.put_class(view)
        self._devices_changed()

    def delete_device_class(self, name: str) -> None:
        self.shapes.devices.delete_class(name)
        self._devices_changed()

    def put_resource_slice(self, view: ResourceSlice) -> None:
        self.shapes.devices.put_slice(view)
        self._devices_changed()

    def delete_resource_slice(self, name: str) -> None:
        self.shapes.devices.delete_slice(name)
        self._devices_changed()

    def reckon_anew(self, key: Key) -> None:
        """Build the row of a pending workload again and put it where it belongs now."""
        raise TypeError(f"{type(self).__name__} has no workloads")

    def _devices_changed(self) -> None:
        for key in list(self.claimants):
            self.reckon_anew(key)
