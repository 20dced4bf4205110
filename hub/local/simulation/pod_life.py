"""What happens to a bound pod: it starts, runs for its seconds, ends; or is told to end and does.

Pure, and derived from what the pod's status says: a kubelet killed and started again goes on with each pod where it
was, so that every pod is run to its end exactly once. How a pod behaves is said by annotations on its template:
``fedhub.dev/run-seconds`` (default 5), ``fedhub.dev/exit-code`` (default 0), ``fedhub.dev/start-seconds`` (default 0)
and ``fedhub.dev/stop-seconds``, how long it takes to end when told to (default 0, at most its grace).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from hub.local.simulation import job_pods, pod_status
from worker_agent.api.document import Document
from worker_agent.api.timestamps import parse

RUN_SECONDS: Final = "fedhub.dev/run-seconds"
EXIT_CODE: Final = "fedhub.dev/exit-code"
START_SECONDS: Final = "fedhub.dev/start-seconds"
STOP_SECONDS: Final = "fedhub.dev/stop-seconds"

DEFAULT_RUN_SECONDS = 5.0
TERMINATED_BY_SIGNAL = 143
FIRST_RESTART = 10.0
LONGEST_RESTART = 300.0
"""Seconds before a container that ended is started again: 10, 20, 40 ... 300."""


class NodeState(Enum):
    """How the pod's node is: it works, it is cut off (Ready is not True), or its object is gone."""

    WORKS = "works"
    SILENT = "silent"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class PodStep:
    """At most one of: a status to write, removal from the server, a time in seconds to look again."""

    status: Document | None = None
    remove: bool = False
    look_again: float | None = None


NOTHING = PodStep()


def next_step(pod: Document, now: datetime, node: NodeState = NodeState.WORKS) -> PodStep:
    """What the kubelet of the pod's node does now; where the node is gone, what pod garbage collection does."""
    if not (pod.get("spec") or {}).get("nodeName") or node is NodeState.SILENT:
        return NOTHING
    if node is NodeState.GONE:
        return _orphaned(pod, now)
    if job_pods.is_deleting(pod):
        return _ending(pod, now)
    if job_pods.is_finished(pod):
        return NOTHING
    if job_pods.phase(pod) != pod_status.RUNNING:
        return _starting(pod, now)
    return _running(pod, now)


def lost_its_job(pod: Document) -> bool:
    """A Job's pod without the tracking finalizer: its Job is just deleting it and will not count how it ends."""
    return bool(job_pods.owner_uid(pod)) and not job_pods.is_tracked(pod)


def _starting(pod: Document, now: datetime) -> PodStep:
    scheduled = _scheduled_at(pod) or now
    left = _left(scheduled, _seconds(pod, START_SECONDS, 0.0), now)
    return PodStep(look_again=left) if left > 0 else PodStep(status=pod_status.running(pod, now))


def _running(pod: Document, now: datetime) -> PodStep:
    status = _first_container(pod)
    state = status.get("state") or {}
    if "waiting" in state:
        return _restarting(pod, status, now)
    started = (state.get("running") or {}).get("startedAt") or pod["status"].get("startTime")
    left = _left(parse(started) if started else now, _seconds(pod, RUN_SECONDS, DEFAULT_RUN_SECONDS), now)
    if left > 0:
        return PodStep(look_again=left)
    if lost_its_job(pod):
        return NOTHING
    code = int(_seconds(pod, EXIT_CODE, 0.0))
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Always" or (policy == "OnFailure" and code != 0):
        return PodStep(status=pod_status.waiting(pod, code, now))
    return PodStep(status=pod_status.ended(pod, code, now))


def _restarting(pod: Document, status: Document, now: datetime) -> PodStep:
    ended = ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
    restarts = int(status.get("restartCount", 1))
    delay = min(FIRST_RESTART * 2 ** min(restarts - 1, 20), LONGEST_RESTART)
    left = _left(parse(ended), delay, now) if ended else 0.0
    return PodStep(look_again=left) if left > 0 else PodStep(status=pod_status.running(pod, now))


def _ending(pod: Document, now: datetime) -> PodStep:
    """Told to end: containers that run take their time, within the grace; then the object goes."""
    if job_pods.is_finished(pod):
        # Finalizers hold the object after this; there is nothing left for the kubelet to do then.
        return NOTHING if not _grace(pod) else PodStep(remove=True)
    if job_pods.phase(pod) == pod_status.RUNNING:
        told = parse(pod["metadata"]["deletionTimestamp"]) - timedelta(seconds=_grace(pod))
        left = _left(told, min(_seconds(pod, STOP_SECONDS, 0.0), float(_grace(pod))), now)
        if left > 0:
            return PodStep(look_again=left)
    return PodStep(status=pod_status.ended(pod, TERMINATED_BY_SIGNAL, now))


def _orphaned(pod: Document, now: datetime) -> PodStep:
    """A pod without a node fails and goes, unless a finalizer holds its object."""
    if not job_pods.is_finished(pod):
        return PodStep(status=pod_status.lost(pod, now))
    held = job_pods.is_deleting(pod) and not _grace(pod)
    return NOTHING if held else PodStep(remove=True)


def _grace(pod: Document) -> int:
    return int(pod["metadata"].get("deletionGracePeriodSeconds") or 0)


def _left(since: datetime, seconds: float, now: datetime) -> float:
    return (since + timedelta(seconds=seconds) - now).total_seconds()


def _seconds(pod: Document, annotation: str, default: float) -> float:
    """The annotation as a number from 0; what is none counts as absent."""
    text = (pod["metadata"].get("annotations") or {}).get(annotation, "")
    try:
        number = float(text)
    except ValueError:
        return default
    return number if 0 <= number < 1e9 else default


def _first_container(pod: Document) -> Document:
    statuses = pod["status"].get("containerStatuses") or [{}]
    return dict(statuses[0])


def _scheduled_at(pod: Document) -> datetime | None:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("lastTransitionTime"):
            return parse(condition["lastTransitionTime"])
    return None
