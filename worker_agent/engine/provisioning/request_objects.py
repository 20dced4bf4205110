"""The objects that ask: a ProvisioningRequest and the PodTemplates it names, and who owns them."""

from collections.abc import Mapping
from typing import Any

from worker_agent.api import names, pod_set_info
from worker_agent.api.document import Document, at, put
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.resource_type import POD_TEMPLATES, PROVISIONING_REQUESTS, WORKLOADS, ResourceType
from worker_agent.engine import job_pod_sets
from worker_agent.engine.intents import PatchObject
from worker_agent.engine.provisioning import request_names
from worker_agent.engine.provisioning.need import AskedPodSet
from worker_agent.engine.provisioning.view import ProvisioningError, name_of, uid_of

MANAGED_LABEL = names.MANAGED_FINALIZER


def parameters(workload: Document, config: ProvisioningRequestConfig) -> dict[str, str]:
    """The configured ones, and over them those that the Workload's annotations give."""
    return {**(config.spec.parameters or {}), **own_parameters(workload)}


def own_parameters(workload: Document) -> dict[str, str]:
    """Parameters from the Workload's annotations."""
    prefix = names.PROVISIONING_ANNOTATION_PREFIX
    annotations = at(workload, ("metadata", "annotations"), {})
    return {key.removeprefix(prefix): value for key, value in annotations.items() if key.startswith(prefix)}


def request(workload: Document, name: str, config: ProvisioningRequestConfig, asked: list[AskedPodSet]) -> Document:
    """The ProvisioningRequest for these pod sets."""
    pod_sets = [
        {"podTemplateRef": {"name": request_names.template_name(name, entry.name)}, "count": entry.count}
        for entry in asked
    ]
    return {
        "apiVersion": PROVISIONING_REQUESTS.api_version,
        "kind": PROVISIONING_REQUESTS.kind,
        "metadata": _metadata(workload, name),
        "spec": {
            "provisioningClassName": config.spec.provisioning_class_name,
            "parameters": parameters(workload, config),
            "podSets": pod_sets,
        },
    }


def template(
    workload: Document,
    request_name: str,
    entry: AskedPodSet,
    flavors: Mapping[str, ResourceFlavor],
    *,
    topology_aware: bool,
) -> Document:
    """The PodTemplate of one entry: a pod as it will be started, with limits as requests where it names none.

    Raises FlavorMissing, InvalidPodSetInfo.
    """
    info = job_pod_sets.info_of_assignment(entry.assignment, entry.pod_set, flavors, topology_aware=topology_aware)
    pods = pod_set_info.inject(entry.pod_set.get("template") or {}, info)
    return {
        "apiVersion": POD_TEMPLATES.api_version,
        "kind": POD_TEMPLATES.kind,
        "metadata": _metadata(workload, request_names.template_name(request_name, entry.name)),
        "template": _with_limits_as_requests(pods),
    }


def _metadata(workload: Document, name: str) -> Document:
    return {
        "name": name,
        "namespace": workload["metadata"].get("namespace", ""),
        "labels": {MANAGED_LABEL: "true"},
        "ownerReferences": [_controller(WORKLOADS, workload)],
    }


def _controller(kind: ResourceType, owner: Document) -> Document:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _with_limits_as_requests(pods: Document) -> Document:
    pods = _defaulted(pods, ("spec", "resources"))
    for kind in ("containers", "initContainers"):
        for position in range(len(at(pods, ("spec", kind), []))):
            pods = _defaulted(pods, ("spec", kind, position, "resources"))
    return pods


def _defaulted(pods: Document, path: tuple[str | int, ...]) -> Document:
    limits: dict[str, Any] = at(pods, (*path, "limits"), {})
    requests: dict[str, Any] = at(pods, (*path, "requests"), {})
    if limits.keys() <= requests.keys():
        return pods
    merged: Document = put(pods, (*path, "requests"), {**limits, **requests})
    return merged


# -- ownership -------------------------------------------------------------------------------------------------------


def handover(template: Document, request: Document, workload: Document) -> PatchObject | None:
    """Make the request, and no longer the Workload, the controller of a template; None where it is so.

    Raises ProvisioningError where somebody else controls it.
    """
    owners = at(template, ("metadata", "ownerReferences"), [])
    kept = [owner for owner in owners if not _is(owner, WORKLOADS, workload)]
    wanted = _controller(PROVISIONING_REQUESTS, request)
    others = [owner for owner in kept if not _is(owner, PROVISIONING_REQUESTS, request)]
    foreign = next((owner for owner in others if owner.get("controller")), None)
    if foreign is not None:
        other = f'{foreign.get("kind", "")} "{foreign.get("name", "")}"'
        raise ProvisioningError(f'PodTemplate "{name_of(template)}" belongs to {other} already')
    current = next((owner for owner in kept if _is(owner, PROVISIONING_REQUESTS, request)), None)
    if current == wanted and kept == owners:
        return None
    after = put(template, ("metadata", "ownerReferences"), [*others, wanted])
    return PatchObject(
        resource=POD_TEMPLATES, before=template, after=after, field_manager=names.PROVISIONING_CONTROLLER
    )


def is_leftover(template: Document, wanted: Document, workload: Document) -> bool:
    """Whether a template that stands where one is to be made for a new request is of an earlier one: of an earlier
    admission, an earlier Workload, or a request that is gone and takes it along any moment.

    Only what an admission changes is compared; the API server adds defaults to everything else.
    """
    owners = at(template, ("metadata", "ownerReferences"), [])
    if not any(owner.get("kind") in (WORKLOADS.kind, PROVISIONING_REQUESTS.kind) for owner in owners):
        return False
    if any(owner.get("kind") == PROVISIONING_REQUESTS.kind and owner.get("uid") for owner in owners):
        return True
    if any(_is(owner, WORKLOADS, workload) and owner.get("uid", "") != uid_of(workload) for owner in owners):
        return True
    fields = ("nodeSelector", "tolerations", "schedulingGates")
    have, want = (at(document, ("template", "spec"), {}) for document in (template, wanted))
    return any((have.get(name) or None) != (want.get(name) or None) for name in fields)


def _is(owner: Document, kind: ResourceType, document: Document) -> bool:
    group = str(owner.get("apiVersion", "")).rpartition("/")[0]
    return owner.get("kind") == kind.kind and group == kind.group and owner.get("name") == name_of(document)
