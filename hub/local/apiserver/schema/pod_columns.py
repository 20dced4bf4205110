"""The cells of a Pod: status, ready containers and restarts as kubectl shows them.

Source: kubernetes pkg/printers/internalversion/printers.go (printPod).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from hub.local.apiserver.schema import ages
from worker_agent.api.document import Document, get

TERMINAL: Final = {"Succeeded", "Failed"}


class _Summary:
    """What the containers' states add up to while they are walked."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self.sidecar_restarts = 0
        self.sidecar_last_restart = ""

    def restarted(self, status: Mapping[str, Any], sidecar: bool) -> None:
        count, finished = status.get("restartCount", 0), get(status, "lastState.terminated.finishedAt", "")
        self.restarts += count
        self.last_restart = max(self.last_restart, finished)
        if sidecar:
            self.sidecar_restarts += count
            self.sidecar_last_restart = max(self.sidecar_last_restart, finished)


def cells(pod: Document, now: datetime) -> list[Any]:
    """Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    init = {container["name"]: container for container in spec.get("initContainers") or ()}
    total = len(spec.get("containers") or ()) + sum(1 for container in init.values() if _is_sidecar(container))
    summary = _Summary(_phase_reason(status))
    initializing = _walk_init(summary, status.get("initContainerStatuses") or (), init)
    if not initializing or _condition(status, "Initialized"):
        _walk_containers(summary, status)
    reason = _deleted_reason(metadata, status) or summary.reason
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart:
        restarts = f"{restarts} ({ages.since(summary.last_restart, now)} ago)"
    return [
        metadata.get("name", ""),
        f"{summary.ready}/{total}",
        reason,
        restarts,
        ages.since(metadata.get("creationTimestamp"), now),
        next((address.get("ip") for address in status.get("podIPs") or ()), "") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _readiness_gates(spec, status),
    ]


def conditions(pod: Document) -> list[Document]:
    """What a row says about a finished pod, so that clients can dim or hide it."""
    phase = get(pod, "status.phase")
    if phase == "Succeeded":
        words = "The pod has completed successfully."
        return [{"type": "Completed", "status": "True", "reason": "Succeeded", "message": words}]
    if phase == "Failed":
        return [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}]
    return []


def _is_sidecar(container: Mapping[str, Any] | None) -> bool:
    return container is not None and container.get("restartPolicy") == "Always"


def _phase_reason(status: Mapping[str, Any]) -> str:
    reason = status.get("reason") or status.get("phase", "")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    return str(reason)


def _condition(status: Mapping[str, Any], kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in status.get("conditions") or ())


def _walk_init(summary: _Summary, statuses: Sequence[Mapping[str, Any]], init: Mapping[str, Mapping[str, Any]]) -> bool:
    """Count init containers until one is not done; True when there is one."""
    for index, status in enumerate(statuses):
        sidecar = _is_sidecar(init.get(status.get("name", "")))
        summary.restarted(status, sidecar)
        terminated = get(status, "state.terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if sidecar and status.get("started"):
            summary.ready += bool(status.get("ready"))
            continue
        waiting = get(status, "state.waiting.reason", "")
        if terminated is not None:
            summary.reason = f"Init:{_terminated_reason(terminated)}"
        elif waiting and waiting != "PodInitializing":
            summary.reason = f"Init:{waiting}"
        else:
            summary.reason = f"Init:{index}/{len(init)}"
        return True
    return False


def _terminated_reason(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _walk_containers(summary: _Summary, status: Mapping[str, Any]) -> None:
    summary.restarts, summary.last_restart = summary.sidecar_restarts, summary.sidecar_last_restart
    running, error = False, ""
    for container in reversed(status.get("containerStatuses") or ()):
        summary.restarted(container, False)
        terminated = get(container, "state.terminated")
        if get(container, "state.waiting.reason"):
            summary.reason = container["state"]["waiting"]["reason"]
        elif terminated is not None:
            summary.reason = _terminated_reason(terminated)
            error = summary.reason if terminated.get("exitCode") else error
        elif container.get("ready") and get(container, "state.running") is not None:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        if running and _condition(status, "Ready"):
            summary.reason = "Running"
        elif error:
            summary.reason = error
        elif running:
            summary.reason = "NotReady"


def _deleted_reason(metadata: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    if not metadata.get("deletionTimestamp"):
        return ""
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return "" if status.get("phase") in TERMINAL else "Terminating"


def _readiness_gates(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return "<none>"
    met = sum(1 for gate in gates if _condition(status, gate.get("conditionType", "")))
    return f"{met}/{len(gates)}"
