"""Whatever a Workload's requests say: the decisions come to rest, touch only what is the Workload's, and keep count."""

from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.provisioning import World, reconciled
from tests.unit.provisioning import cases
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine.provisioning.view import ProvisioningRules

KEY = Key("ns", "w")
LIMIT = 2
ANSWERS = ("Accepted", "Provisioned", "Failed", "BookingExpired", "CapacityRevoked")

answers = st.dictionaries(st.sampled_from(ANSWERS), st.sampled_from(["True", "False"]), max_size=4)
attempts = st.dictionaries(st.integers(1, LIMIT + 1), answers, max_size=3)
states = st.sampled_from(["Pending", "Ready", "Retry", "Rejected"])
ends = st.sets(st.sampled_from(["Admitted", "Evicted", "Finished"]), max_size=2)


def world(workload: Document, requests: list[Document]) -> World:
    reference = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "c"}
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": reference}
    config = {"provisioningClassName": "class", "retryStrategy": {"backoffLimitCount": LIMIT}}
    foreign = cases.request(7)
    foreign["metadata"] |= {"name": "theirs", "ownerReferences": []}
    objects = [
        {"kind": "AdmissionCheck", "metadata": {"name": "room"}, "spec": spec},
        {"kind": "ProvisioningRequestConfig", "metadata": {"name": "c"}, "spec": config},
        {"kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {"nodeLabels": {"pool": "f"}}},
        workload,
        foreign,
        *requests,
    ]
    return World({"before": objects, "expect": {"error": None}})


@given(states, st.integers(0, LIMIT), attempts, ends, st.integers(1, 3), st.booleans())
def test_decisions_come_to_rest(
    state: str, retries: int, made: dict[int, dict[str, str]], over: set[str], pod_sets: int, cleanup: bool
) -> None:
    sets = [cases.pod_set(f"ps{number}") for number in range(pod_sets)]
    conditions = [cases.condition(type_) for type_ in sorted(over)]
    workload = cases.workload(*sets, checks=[cases.check(state, retryCount=retries)], conditions=conditions)
    requests = [
        cases.request(number, *(cases.condition(type_, "said", status) for type_, status in told.items()))
        for number, told in made.items()
    ]
    where = world(workload, requests)
    rules = ProvisioningRules(cleanup_on_eviction=cleanup)
    for _ in range(3):
        assert reconciled(where, KEY, rules) is None
    settled = dict(where.cluster.objects)
    assert reconciled(where, KEY, rules) is None
    assert where.cluster.objects == settled

    left = {name for kind, (_, name) in settled if kind == "ProvisioningRequest"}
    assert "theirs" in left
    mine = left - {"theirs"}
    if "Finished" in over or ("Evicted" in over and cleanup):
        assert mine == set()
    elif "Evicted" not in over:
        assert len(mine) <= 1
    (check,) = settled["Workload", KEY]["status"]["admissionChecks"]
    assert check.get("retryCount", 0) == retries
    assert all(int(name.rpartition("-")[2]) <= LIMIT + 2 for name in mine)
