"""Failure recovery: pods that hang on an unreachable node are ended by force where their owner allows it (spec/tas 20).

A pod that is being deleted stays while its kubelet does not answer, and with it everything that waits for its end.
"""

from datetime import datetime, timedelta
from typing import Final

from worker_agent.api import names, timestamps
from worker_agent.api.document import Document, at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import PODS
from worker_agent.engine import intent_effects
from worker_agent.engine.intents import ApplyStatus, DeleteObject, Intent, RecordEvent, RequeueAfter, SetCondition

GRACE_SECONDS: Final = 60
"""After the pod's own deadline."""

FIELD_MANAGER: Final = "kueue-failure-recovery"
UNREACHABLE_TAINT: Final = "node.kubernetes.io/unreachable"
_GRACE_TEXT: Final = "1m0s"
_ENDED: Final = ("Succeeded", "Failed")


def applies(pod: Document) -> bool:
    """Whether the pod is on its way out and may be ended by force."""
    annotations = at(pod, ("metadata", "annotations"), {})
    allowed = annotations.get(names.SAFE_TO_FORCEFULLY_DELETE_ANNOTATION) == "true"
    return allowed and bool(at(pod, ("metadata", "deletionTimestamp")))


def decide(pod: Document, node: Document | None, now: datetime) -> list[Intent]:
    """``node``: the one the pod is bound to; None when there is none such."""
    if not applies(pod):
        return []
    due = timestamps.parse(pod["metadata"]["deletionTimestamp"]) + timedelta(seconds=GRACE_SECONDS)
    if now < due:
        return [RequeueAfter((due - now).total_seconds())]
    taints = at(node, ("spec", "taints"), [])
    if node is None or not any(taint.get("key") == UNREACHABLE_TAINT for taint in taints):
        return []
    return [] if _is_done(pod) else _end(pod, node["metadata"]["name"])


def _is_done(pod: Document) -> bool:
    """What is left waits for its finalizers."""
    told = intent_effects.find_condition(pod, names.FAILURE_RECOVERY) is not None
    return told and at(pod, ("metadata", "deletionGracePeriodSeconds")) == 0


def _end(pod: Document, node: str) -> list[Intent]:
    metadata = pod["metadata"]
    key, uid = Key(metadata.get("namespace", ""), metadata["name"]), metadata.get("uid", "")
    message = (
        f"Pod forcefully terminated after {_GRACE_TEXT} grace period due to unreachable node `{node}` "
        f"(triggered by `{names.SAFE_TO_FORCEFULLY_DELETE_ANNOTATION}` annotation)"
    )
    ended = at(pod, ("status", "phase"), "") in _ENDED
    condition = SetCondition(names.FAILURE_RECOVERY, "True", names.FORCEFULLY_DELETED, message)
    return [
        ApplyStatus(
            resource=PODS,
            key=key,
            field_manager=FIELD_MANAGER,
            conditions=(condition,),
            fields={} if ended else {"phase": "Failed"},
        ),
        RecordEvent(resource=PODS, key=key, reason=names.FORCEFULLY_DELETED, message=message, type="Warning", uid=uid),
        DeleteObject(resource=PODS, key=key, uid=uid, grace_seconds=0),
    ]
