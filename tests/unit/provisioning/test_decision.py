"""One reconcile: which request is made, kept, or deleted, and whose the templates are."""

import pytest

from tests.unit.provisioning.cases import (
    NOW,
    check,
    condition,
    created,
    decide,
    entry,
    pod_set,
    request,
    view,
    workload,
)
from worker_agent.engine.intents import DeleteObject
from worker_agent.engine.provisioning import decision


def deleted(decided):
    return [(i.key.name, i.uid) for i in decided.intents if isinstance(i, DeleteObject)]


def names(decided):
    return [document["metadata"]["name"] for document in created(decided)]


def test_templates_come_before_the_request_and_all_belong_to_the_workload():
    made = created(decide(view(workload())))
    assert [(d["kind"], d["metadata"]["name"]) for d in made] == [
        ("PodTemplate", "ppt-w-room-1-main"),
        ("ProvisioningRequest", "w-room-1"),
    ]
    assert {d["metadata"]["ownerReferences"][0]["uid"] for d in made} == {"w-uid"}


def test_a_template_is_a_pod_as_it_will_start_with_limits_as_requests():
    template, _ = created(decide(view(workload(pod_set(limits={"nvidia.com/gpu": "1"})))))
    spec = template["template"]["spec"]
    assert spec["nodeSelector"] == {"pool": "f"}
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1", "nvidia.com/gpu": "1"}


def test_annotations_of_the_workload_win_over_configured_parameters_and_do_not_replace_the_request():
    found = workload(annotations={"provreq.kueue.x-k8s.io/spot": "true"})
    config = {"parameters": {"spot": "false", "zone": "a"}}
    made = created(decide(view(found, config=config)))[-1]
    assert made["spec"]["parameters"] == {"spot": "true", "zone": "a"}
    running = request(1, parameters=made["spec"]["parameters"])
    assert deleted(decide(view(found, running, config=config))) == []


def test_a_request_of_another_class_is_replaced():
    decided = decide(view(workload(), request(1, provisioningClassName="other")))
    assert deleted(decided) == [("w-room-1", "r-1")]
    assert names(decided)[-1] == "w-room-1"


def test_old_attempts_go():
    decided = decide(view(workload(checks=[check(retryCount=1)]), request(1, condition("Failed")), request(2)))
    assert deleted(decided) == [("w-room-1", "r-1")]


def test_the_next_attempt_comes_only_after_the_quota_was_given_back_and_reserved_again():
    failed = request(1, condition("Failed"))
    assert names(decide(view(workload(checks=[check("Retry")]), failed))) == []
    again = decide(view(workload(checks=[check(retryCount=1)]), failed))
    assert names(again)[-1] == "w-room-2"


def test_attempts_go_on_counting_when_the_request_was_cleaned_up():
    assert names(decide(view(workload(checks=[check(retryCount=2)]))))[-1] == "w-room-3"


def test_a_ready_check_asks_for_nothing_more():
    assert decide(view(workload(checks=[check("Ready")]))).orders == ()


@pytest.mark.parametrize("end", ["Finished", "Evicted"])
def test_requests_go_when_the_workload_ends_or_is_evicted(end):
    found = workload(conditions=[condition(end)])
    assert deleted(decide(view(found, request()))) == [("w-room-1", "r-1")]


def test_requests_stay_with_an_evicted_workload_where_the_gate_is_off():
    found = workload(conditions=[condition("Evicted")])
    assert decide(view(found, request()), cleanup_on_eviction=False) == decision.NOTHING


def test_a_request_of_an_earlier_workload_of_the_same_name_is_neither_used_nor_kept():
    decided = decide(view(workload(), request(1, condition("Provisioned"), uid="old-uid")))
    assert entry(decided) == {}
    assert deleted(decided) == [("w-room-1", "r-1")]
    assert names(decided)[-1] == "w-room-1"


def test_a_missing_flavor_is_told_as_what_could_not_be_created():
    found = view(workload(), flavors=())
    (order,) = decide(found).orders
    (creation, *_) = order.creations
    assert creation.error == 'resourceflavors.kueue.x-k8s.io "f" not found'
    status, event = decision.refused(found, order, creation, creation.error, NOW)
    message = 'Error creating PodTemplate "ppt-w-room-1-main": resourceflavors.kueue.x-k8s.io "f" not found'
    assert (status.fields["admissionChecks"][0]["message"], event.message) == (message, message)
    assert (event.type, event.reason) == ("Warning", "FailedCreate")


def test_a_refusal_told_before_is_not_written_again():
    message = 'Error creating ProvisioningRequest "w-room-1": no'
    found = view(workload(checks=[check(message=message)]))
    (order,) = decide(found).orders
    told = decision.refused(found, order, order.creations[-1], "no", NOW)
    assert [type(intent).__name__ for intent in told] == ["RecordEvent"]


# -- templates -------------------------------------------------------------------------------------------------------


def template(pool="f", *owners):
    return {
        "metadata": {"name": "ppt-w-room-1-main", "namespace": "ns", "uid": "t", "ownerReferences": list(owners)},
        "template": {"spec": {"nodeSelector": {"pool": pool}, "restartPolicy": "Always"}},
    }


MINE = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "w", "uid": "w-uid", "controller": True}


def test_a_template_that_is_there_is_used():
    assert names(decide(view(workload(), templates=[template("f", MINE)]))) == ["w-room-1"]


def test_a_template_left_by_an_admission_to_another_flavor_is_made_anew():
    (order,) = decide(view(workload(), templates=[template("old", MINE)])).orders
    removal, creation = order.creations[0].intents
    assert (removal.key.name, removal.uid) == ("ppt-w-room-1-main", "t")
    assert creation.document["template"]["spec"]["nodeSelector"] == {"pool": "f"}


def test_a_template_of_a_request_that_is_gone_is_made_anew():
    gone = {"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", "name": "w-room-1", "uid": "r-0"}
    (order,) = decide(view(workload(), templates=[template("f", gone)])).orders
    removal, _ = order.creations[0].intents
    assert removal.uid == "t"


def test_a_template_goes_from_the_workload_to_the_request():
    found = view(workload(), request(), templates=[template("f", MINE)])
    (patch,) = decision.handovers(found, request())
    (owner,) = patch.after["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("ProvisioningRequest", "w-room-1", "r-1")
    handed = view(workload(), request(), templates=[patch.after])
    assert decision.handovers(handed, request()) == []


def test_a_template_of_somebody_else_is_left_to_them():
    foreign = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "x", "controller": True}
    found = view(workload(), request(), templates=[template("f", foreign)])
    with pytest.raises(decision.ProvisioningError, match='belongs to Pod "p" already'):
        decision.handovers(found, request())
