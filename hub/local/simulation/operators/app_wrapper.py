"""workload.codeflare.dev/v1beta2 AppWrapper: what it wraps, made and watched."""

from datetime import datetime
from typing import Final

from hub.local.simulation.operators.plan import Children, Kind, Plan, child, condition, phase, with_conditions
from worker_agent.api import pod_set_info
from worker_agent.api.document import Document, Path, at, get, put
from worker_agent.api.job_kind import JobKind
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.api.resource_type import (
    APP_WRAPPERS,
    DEPLOYMENTS,
    JOB_SETS,
    JOBS,
    LEADER_WORKER_SETS,
    PODS,
    PYTORCH_JOBS,
    RAY_CLUSTERS,
    RAY_JOBS,
    STATEFUL_SETS,
    ResourceType,
)
from worker_agent.jobs import KINDS
from worker_agent.jobs.app_wrapper import AppWrapper

WRAPPED: Final = (
    JOBS,
    JOB_SETS,
    PYTORCH_JOBS,
    RAY_CLUSTERS,
    RAY_JOBS,
    PODS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    LEADER_WORKER_SETS,
)
_RESOURCES: Final = {(each.api_version, each.kind): each for each in WRAPPED}
_KINDS: Final[dict[ResourceType, JobKind]] = {kind.resource: kind for kind in KINDS.values()}
KIND: Final = AppWrapper()


def decide(wrapper: Document, children: Children, now: datetime) -> Plan:
    present = [(resource, each) for resource, objects in children.items() for each in objects]
    if get(wrapper, "status.phase") in ("Succeeded", "Failed"):
        return Plan()
    if KIND.is_suspended(wrapper):
        told = {name: (False, "Suspended", "") for name in ("QuotaReserved", "ResourcesDeployed", "PodsReady")}
        status = {"phase": "Suspended", "conditions": with_conditions(wrapper, told, now)}
        gone = [(resource, each) for resource, each in present if not each["metadata"].get("deletionTimestamp")]
        return Plan(delete=gone, status=status)
    known = {(resource, each["metadata"]["name"]) for resource, each in present}
    wanted = list(_components(wrapper))
    missing = [(resource, each) for resource, each in wanted if (resource, each["metadata"]["name"]) not in known]
    return Plan(create=missing, status=_status(wrapper, present, len(wanted), now))


def _components(wrapper: Document) -> list[tuple[ResourceType, Document]]:
    made = []
    spots = KIND.templates(wrapper)
    for place, component in enumerate(get(wrapper, "spec.components", [])):
        template = component.get("template") or {}
        resource = _RESOURCES.get((template.get("apiVersion", ""), template.get("kind", "")))
        if resource is None:
            continue
        infos = component.get("podSetInfos") or []
        base: Path = ("spec", "components", place, "template")
        paths = [spot.path[len(base) :] for spot in spots if spot.path[: len(base)] == base]
        for path, info in zip(paths, infos, strict=False):
            template = (
                put(template, path, _injected(at(template, path, {}), info)) if path else _injected(template, info)
            )
        metadata = template.get("metadata") or {}
        content = {name: value for name, value in template.items() if name not in ("apiVersion", "kind", "metadata")}
        if resource in (JOBS, JOB_SETS, RAY_JOBS, RAY_CLUSTERS):
            content["spec"] = {**(content.get("spec") or {}), "suspend": False}
        made.append(
            (
                resource,
                child(
                    wrapper,
                    resource,
                    metadata.get("name", f"{wrapper['metadata']['name']}-{place}"),
                    labels=dict(metadata.get("labels") or {}),
                    annotations=dict(metadata.get("annotations") or {}),
                    **content,
                ),
            )
        )
    return made


def _injected(template: Document, info: Document) -> Document:
    found = PodSetInfo(
        name="",
        labels=info.get("labels") or {},
        annotations=info.get("annotations") or {},
        node_selector=info.get("nodeSelector") or {},
        tolerations=tuple(info.get("tolerations") or ()),
        scheduling_gates=tuple(info.get("schedulingGates") or ()),
    )
    return pod_set_info.inject(template, found)


def _status(wrapper: Document, present: list[tuple[ResourceType, Document]], total: int, now: datetime) -> Document:
    ends = [_end(resource, each) for resource, each in present]
    ready = len(present) == total and all(_is_ready(resource, each) for resource, each in present)
    told = {
        "QuotaReserved": (True, "Running", ""),
        "ResourcesDeployed": (len(present) == total, "Created", ""),
        "PodsReady": (ready, "SufficientPodsReady" if ready else "InsufficientPodsReady", ""),
    }
    name = "Running"
    if any(end == "Failed" for end in ends):
        name = "Failed"
    elif present and len(present) == total and all(end == "Succeeded" for end in ends):
        name = "Succeeded"
    if name != "Running":
        told |= {each: (False, name, "") for each in ("QuotaReserved", "ResourcesDeployed", "PodsReady")}
    return {"phase": name, "conditions": with_conditions(wrapper, told, now)}


def _end(resource: ResourceType, document: Document) -> str:
    if resource == PODS:
        return phase(document) if phase(document) in ("Succeeded", "Failed") else ""
    kind = _KINDS.get(resource)
    finish = None if kind is None else kind.finished(document)
    if finish is None:
        return ""
    return "Succeeded" if finish.success else "Failed"


def _is_ready(resource: ResourceType, document: Document) -> bool:
    if resource in (DEPLOYMENTS, STATEFUL_SETS, LEADER_WORKER_SETS):
        return bool(get(document, "status.readyReplicas", 0) >= get(document, "spec.replicas", 1))
    kind = _KINDS.get(resource)
    return condition(document, "Ready") == "True" if kind is None else kind.pods_ready(document)


OPERATOR: Final = Kind(APP_WRAPPERS, WRAPPED, decide)
