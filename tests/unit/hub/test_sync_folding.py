"""The write that makes the last check Ready admits the Workload as well."""

from dataclasses import replace

from hub.engine import sync, sync_folding
from hub.engine.intents import flat
from hub.engine.remote_group import ALL_AT_ONCE, Remote
from tests.unit.hub.groups import NOW, POLICY, QUOTA, checked, condition, copy, group, holding, workload
from worker_agent.api import names
from worker_agent.engine.intents import ApplyStatus
from worker_agent.engine.reservation import Observability

FINE = Observability(fine=True, explicit=True)
MK = [{"name": "mk", "state": "Pending", "message": ""}]
RUNS = holding(copy(condition(names.ADMITTED)))


def admitted(local):
    found = group(local, {"w1": RUNS})
    intents = sync_folding.with_admission(sync.decide(found, NOW), found, FINE, NOW)
    conditions = [c for intent in flat(intents) if isinstance(intent, ApplyStatus) for c in intent.conditions]
    return [c.status for c in conditions if c.type == names.ADMITTED]


def test_a_ready_check_admits_in_the_same_write():
    assert admitted(checked("Pending", nominatedClusterNames=["w1"])) == ["True"]


def test_another_check_that_is_not_ready_holds_admission_back():
    checks = [{"name": "mk", "state": "Pending", "message": ""}, {"name": "budget", "state": "Pending", "message": ""}]
    assert "True" not in admitted(workload(QUOTA, admissionChecks=checks, nominatedClusterNames=["w1"]))


def test_nothing_is_said_again_of_what_is_admitted():
    assert (
        admitted(
            checked(
                "Ready", condition(names.ADMITTED, "Admitted", message="The workload is admitted"), clusterName="w1"
            )
        )
        == []
    )


def joined(local, **clusters):
    found = group(local, clusters or {"w1": Remote(), "w2": Remote()}, policy=replace(POLICY, dispatcher=ALL_AT_ONCE))
    return [intent.fields for intent in sync_folding.joined_nomination(sync.decide(found, NOW))]


def test_what_goes_to_all_clusters_at_once_is_nominated_with_its_admission():
    assert joined(workload(QUOTA, admissionChecks=MK)) == [{"nominatedClusterNames": ["w1", "w2"]}]


def test_nothing_joins_while_another_check_is_open_or_all_is_said():
    assert joined(workload(QUOTA, admissionChecks=[*MK, {"name": "budget", "state": "Pending", "message": ""}])) == []
    assert joined(workload(QUOTA, admissionChecks=MK, nominatedClusterNames=["w1", "w2"])) == []


def test_a_check_that_is_decided_otherwise_takes_its_usual_way():
    assert joined(checked("Pending", nominatedClusterNames=["w1"]), w1=RUNS) == []
