"""Recorded turns of the LocalQueue reconciler: its status, and what admission fair sharing remembers of it."""

from dataclasses import replace

from tests.conformance import comparison, engine_objects
from tests.conformance.case import Document
from worker_agent.api import quantity, timestamps
from worker_agent.api.meta import Key
from worker_agent.engine import intent_effects, policy, queue_status
from worker_agent.engine.state import ClusterState
from worker_agent.engine.usage_history import Billionths
from worker_agent.engine.usage_history_book import UsageBook


def reconcile(case: Document) -> list[str]:
    """One turn: the status afterwards, what is remembered, and when to look again."""
    now, key = timestamps.parse(case["now"]), Key.parse(case["reconcile"])
    configuration = {"admissionFairSharing": case["admissionFairSharing"]}
    state = ClusterState(policy.resolve(case["featureGates"], configuration))
    _remember(case, key, state.usage_book)
    engine_objects.load(state, [*case["before"], *case["workloadsInCache"]], now)
    if case["deleteClusterQueue"]:
        for name in list(state.cluster_queues):
            state.delete_cluster_queue(name)
    updated = _updated(state.usage_book, key)
    wait = state.sample_usage(now)
    picture = state.publish(now).local_queue(key)
    before = next(o for o in case["before"] if o["kind"] == "LocalQueue" and engine_objects.key_of(o) == key)
    after = before
    if picture is not None:
        if _updated(state.usage_book, key) == updated:
            picture = replace(picture, usage=None)  # the recorded reconciler writes usage only with a new sample
        after = intent_effects.status_after(before, queue_status.local_queue(picture), now)
    expected = case["expect"]
    wanted = next(o for o in expected["objects"] if o["kind"] == "LocalQueue" and engine_objects.key_of(o) == key)
    found = comparison.differences(wanted["status"], after.get("status"), zeros_absent=True)
    if expected["requeueAfterSeconds"] != (wait or 0):
        found.append(f"requeueAfterSeconds: expected {expected['requeueAfterSeconds']}, got {wait}")
    return found + _remembered(expected["consumedResources"], state.usage_book, key)


def _remember(case: Document, key: Key, book: UsageBook | None) -> None:
    recorded = case["initialConsumedResources"]
    if book is None:
        return
    if recorded is not None:
        updated = timestamps.micros(timestamps.parse(recorded["lastUpdate"]))
        book.history.seed(key, _billionths(recorded["resources"]), updated)
    if case["pendingEntryPenalty"]:
        book.history.ledger(key).penalties[Key("", "")] = _billionths(case["pendingEntryPenalty"])


def _billionths(resources: Document | None) -> Billionths:
    return {name: quantity.nanos(amount) for name, amount in (resources or {}).items()}


def _updated(book: UsageBook | None, key: Key) -> int | None:
    return None if book is None else book.history.ledger(key).updated


def _remembered(expected: Document | None, book: UsageBook | None, key: Key) -> list[str]:
    if expected is None or book is None:
        return []
    wanted = (_billionths(expected["resources"]), timestamps.micros(timestamps.parse(expected["lastUpdate"])))
    ledger = book.history.ledger(key)
    actual = (ledger.consumed, ledger.updated)
    return [] if wanted == actual else [f"consumedResources: expected {wanted}, got {actual}"]


RUNNERS = {"core.TestLocalQueueReconcile": reconcile}
