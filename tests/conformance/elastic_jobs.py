"""core/elasticjobs: one turn of the ungater of elastic jobs."""

from datetime import datetime

from tests.conformance.case import Document
from tests.conformance.comparison import by_key, differences
from worker_agent.api import timestamps
from worker_agent.engine import elastic_ungating, intent_effects
from worker_agent.engine.tas import ungating
from worker_agent.engine.tas.ungating import UngatingError


def reconcile(case: Document) -> list[str]:
    """elasticjobs.TestReconcile. The request names a slice; the pods of all slices of its job are looked at."""
    before = case["before"]["objects"] if isinstance(case["before"], dict) else case["before"]
    workloads = [o for o in before if o["kind"] == "Workload"]
    pods = [o for o in before if o["kind"] == "Pod"]
    named = next(w for w in workloads if _key(w) == case["reconcile"])
    chain = [w for w in workloads if ungating.slice_name(w) == ungating.slice_name(named)]
    unobserved = case.get("expectedUngateUIDs") or () if case["expectationsKey"] == case["reconcile"] else ()
    error = ""
    try:
        _ungate(chain, pods, unobserved, timestamps.parse(case["now"]))
    except UngatingError as problem:
        error = str(problem)
    wanted = [o for o in case["expect"]["objects"] if o["kind"] == "Pod"]
    found = [] if error == (case["expect"].get("error") or "") else [f"error: {error!r}"]
    keyed = {"schedulingGates": "name"}
    return found + differences(by_key(wanted), by_key(pods), keyed=keyed, zeros_absent=True)


def _ungate(chain: list[Document], pods: list[Document], unobserved: list[str], now: datetime) -> None:
    for step in elastic_ungating.decide(chain, list(pods), unobserved):
        after = intent_effects.effect(step.intent(), step.pod, now)
        assert after is not None
        pods[pods.index(step.pod)] = after


def _key(document: Document) -> str:
    metadata = document["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


RUNNERS = {"elasticjobs.TestReconcile": reconcile}
