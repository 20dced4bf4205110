"""Typed views of Dynamic Resource Allocation (resource.k8s.io/v1): their specs are read as documents."""

from typing import Any

from worker_agent.api.meta import Object


class ResourceClaimTemplate(Object):
    """``spec.spec`` is what a claim made of it asks for."""

    spec: dict[str, Any] = {}


class DeviceClass(Object):
    """Devices that match its selectors; ``spec.extendedResourceName`` is what containers may ask for instead."""

    spec: dict[str, Any] = {}


class ResourceSlice(Object):
    """Devices that one driver publishes, a part of a pool."""

    spec: dict[str, Any] = {}
