"""core/failurerecovery.*: one reconcile of a pod that hangs on an unreachable node."""

from tests.conformance.case import Document
from tests.conformance.comparison import multiset
from worker_agent.api import timestamps
from worker_agent.api.document import get
from worker_agent.engine import failure_recovery, intent_effects
from worker_agent.engine.intents import ApplyStatus, DeleteObject, RecordEvent, RequeueAfter


def reconcile(case: Document) -> list[str]:
    now = timestamps.parse(case["now"])
    before = _pod(case["before"], case["reconcile"])
    node = _find(case["before"], "Node", get(before, "spec.nodeName", ""))
    intents = [] if before is None else failure_recovery.decide(before, node, now)
    after = before
    for intent in intents:
        if isinstance(intent, ApplyStatus):
            after = intent_effects.effect(intent, after, now)
    forced = any(isinstance(intent, DeleteObject) and intent.grace_seconds == 0 for intent in intents)
    wanted = _pod(case["expect"]["objects"], case["reconcile"])
    return (
        _expect("phase", get(wanted, "status.phase"), get(after, "status.phase"), wanted)
        + _expect("conditions", _conditions(wanted), _conditions(after), wanted)
        + _expect("deleted by force", _deleted(before, wanted), forced, before)
        + _expect("requeue", round(case["expect"]["requeueAfterSeconds"] or 0), _requeue(intents), case)
        + multiset(case["expect"]["events"] or [], [_event(i) for i in intents if isinstance(i, RecordEvent)], "event")
        + _expect("error", None, case["expect"]["error"], case)
    )


def _expect(what: str, wanted: object, found: object, present: object) -> list[str]:
    """Nothing is compared with a pod that the record shows as gone."""
    return [] if present is None or wanted == found else [f"{what}: expected {wanted}, got {found}"]


def _deleted(before: Document | None, wanted: Document | None) -> bool:
    """The recorded server keeps a pod with finalizers and moves the time of its deletion."""
    stamp = "metadata.deletionTimestamp"
    return before is not None and (wanted is None or get(before, stamp) != get(wanted, stamp))


def _conditions(pod: Document | None) -> list[tuple[str, ...]]:
    keys = ("type", "status", "reason", "message")
    return sorted(tuple(c.get(key, "") for key in keys) for c in get(pod, "status.conditions", []) or ())


def _requeue(intents: list[object]) -> int:
    return round(next((i.seconds for i in intents if isinstance(i, RequeueAfter)), 0.0))


def _event(intent: RecordEvent) -> Document:
    return {"type": intent.type, "reason": intent.reason, "message": intent.message, "key": str(intent.key)}


def _pod(objects: list[Document], key: str) -> Document | None:
    namespace, _, name = key.rpartition("/")
    found = _find(objects, "Pod", name)
    return found if found is not None and found["metadata"].get("namespace", "") == namespace else None


def _find(objects: list[Document], kind: str, name: str) -> Document | None:
    return next((o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name)), None)


RUNNERS = {"failurerecovery.TestReconciler": reconcile}
