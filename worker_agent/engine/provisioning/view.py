"""What a decision about one Workload's ProvisioningRequests is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine import workload_status


@dataclass(frozen=True, slots=True)
class ProvisioningRules:
    """``cleanup_on_eviction``: gate CleanupProvisioningRequestsOnEviction; ``topology_aware``: the gate of TAS."""

    cleanup_on_eviction: bool = True
    topology_aware: bool = True


@dataclass(frozen=True, slots=True)
class ProvisioningView:
    """``requests`` are those in the Workload's namespace that name it as an owner."""

    workload: Document
    checks: Mapping[str, AdmissionCheck]
    configs: Mapping[str, ProvisioningRequestConfig]
    requests: tuple[Document, ...]
    flavors: Mapping[str, ResourceFlavor]
    template: Callable[[str], Document | None]
    """The PodTemplate of that name in the Workload's namespace."""

    @property
    def key(self) -> Key:
        return workload_status.key_of(self.workload)

    @property
    def uid(self) -> str:
        return uid_of(self.workload)


class ProvisioningError(Exception):
    """The reconcile ends here; the text says why. It is tried again, and when anything it rests on changes."""


def name_of(document: Document) -> str:
    return str(document["metadata"].get("name", ""))


def uid_of(document: Document) -> str:
    return str(document["metadata"].get("uid") or "")


def is_named_owner(request: Document, workload: str) -> bool:
    """Whether the request says that a Workload of this name owns it, this one or an earlier one."""
    return any(_is_workload(owner, workload) for owner in request["metadata"].get("ownerReferences") or ())


def is_owned(request: Document, workload: Document) -> bool:
    """Whether the request was made for this very Workload, and not for an earlier one of the same name."""
    mine = uid_of(workload)
    return any(
        _is_workload(owner, name_of(workload)) and (not mine or owner.get("uid", "") in ("", mine))
        for owner in request["metadata"].get("ownerReferences") or ()
    )


def _is_workload(owner: Document, name: str) -> bool:
    return owner.get("name") == name and owner.get("kind", "") in ("", WORKLOADS.kind)


def holds(request: Document, condition: str) -> bool:
    """Whether the autoscaler says so of the request."""
    return workload_status.is_true(request, condition)
