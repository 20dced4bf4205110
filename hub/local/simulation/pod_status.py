"""Pod status as a kubelet writes it, for each station of a pod's life."""

import zlib
from datetime import datetime

from worker_agent.api.document import Document
from worker_agent.api.timestamps import rfc3339

RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"


def running(pod: Document, now: datetime) -> Document:
    """All containers started and ready."""
    at = rfc3339(now)
    address = _address(pod)
    status = dict(pod.get("status") or {})
    status |= {
        "phase": RUNNING,
        "startTime": status.get("startTime") or at,
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "containerStatuses": [_container(pod, container, {"running": {"startedAt": at}}) for container in _all(pod)],
    }
    return _with_conditions(status, {name: ("True", "") for name in _READINESS}, at)


def ended(pod: Document, exit_code: int, now: datetime, reason: str = "") -> Document:
    """All containers ended with ``exit_code``; the pod is Succeeded or Failed."""
    at = rfc3339(now)
    status = dict(pod.get("status") or {})
    why = reason or ("Completed" if exit_code == 0 else "Error")
    status["phase"] = SUCCEEDED if exit_code == 0 else FAILED
    status["startTime"] = status.get("startTime") or at
    status["containerStatuses"] = [
        _container(pod, container, {"terminated": _terminated(pod, container, exit_code, why, at)})
        for container in _all(pod)
    ]
    not_ready = ("False", "PodCompleted" if exit_code == 0 else "PodFailed")
    done = ("True", "PodCompleted") if exit_code == 0 else ("True", "")
    conditions = {"PodReadyToStartContainers": ("False", ""), "Initialized": done}
    return _with_conditions(status, conditions | {"Ready": not_ready, "ContainersReady": not_ready}, at)


def lost(pod: Document, now: datetime) -> Document:
    """The pod's node no longer exists. Source: pkg/controller/podgc."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
        "lastProbeTime": None,
        "lastTransitionTime": rfc3339(now),
    }
    status = dict(pod.get("status") or {})
    others = [known for known in status.get("conditions") or () if known["type"] != "DisruptionTarget"]
    return status | {"phase": FAILED, "conditions": [*others, condition]}


def waiting(pod: Document, exit_code: int, now: datetime) -> Document:
    """The container ended and will be started again after its backoff (restartPolicy OnFailure or Always)."""
    at = rfc3339(now)
    status = dict(pod.get("status") or {})
    why = "Completed" if exit_code == 0 else "Error"
    statuses = []
    for container in _all(pod):
        ended_state = {"terminated": _terminated(pod, container, exit_code, why, at)}
        told = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}}
        statuses.append(
            _container(pod, container, told)
            | {"lastState": ended_state, "restartCount": _known(pod, container).get("restartCount", 0) + 1}
        )
    status["containerStatuses"] = statuses
    not_ready = ("False", "ContainersNotReady")
    return _with_conditions(status, {"Ready": not_ready, "ContainersReady": not_ready}, at)


_READINESS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def _all(pod: Document) -> list[Document]:
    return list((pod.get("spec") or {}).get("containers") or ())


def _known(pod: Document, container: Document) -> Document:
    """The status of that container as it stands."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if status.get("name") == container.get("name"):
            return dict(status)
    return {}


def _container(pod: Document, container: Document, state: Document) -> Document:
    known = _known(pod, container)
    name = container.get("name", "")
    is_running = "running" in state
    return {
        "name": name,
        "image": container.get("image", ""),
        "imageID": f"simulated://{container.get('image', '')}",
        "containerID": f"simulated://{pod['metadata'].get('uid', '')}/{name}",
        "lastState": known.get("lastState", {}),
        "ready": is_running,
        "restartCount": known.get("restartCount", 0),
        "started": is_running,
        "state": state,
    }


def _terminated(pod: Document, container: Document, exit_code: int, reason: str, at: str) -> Document:
    before = _known(pod, container).get("state") or {}
    return {
        "containerID": f"simulated://{pod['metadata'].get('uid', '')}/{container.get('name', '')}",
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": (before.get("running") or {}).get("startedAt", at),
        "finishedAt": at,
    }


def _with_conditions(status: Document, wanted: dict[str, tuple[str, str]], at: str) -> Document:
    """Conditions brought to ``wanted`` (status, reason); times move only where the status does."""
    conditions = [dict(condition) for condition in status.get("conditions") or ()]
    known = {condition["type"]: condition for condition in conditions}
    for type, (value, reason) in wanted.items():
        condition = known.get(type)
        if condition is None:
            condition = {"type": type, "lastProbeTime": None}
            conditions.append(condition)
        if condition.get("status") != value:
            condition["lastTransitionTime"] = at
        condition["status"] = value
        if reason:
            condition["reason"] = reason
        else:
            condition.pop("reason", None)
    return status | {"conditions": conditions}


def _address(pod: Document) -> str:
    """An address in 10.128.0.0/9 that follows from the UID: unique enough, and the same after a restart."""
    number = zlib.crc32(str(pod["metadata"].get("uid", "")).encode())
    return f"10.{128 + (number >> 16) % 128}.{number >> 8 & 255}.{number & 255}"
