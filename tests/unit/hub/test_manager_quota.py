"""What quota automation makes of a manager's queue, and how it says so."""

from types import SimpleNamespace

import msgspec
import pytest

from hub.engine import manager_quota
from hub.engine.admission_check import BadReference
from tests.builders import cluster_queue, local_queue, quota
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueConfig

LOCAL = [Key("ns", "lq"), Key("ns", "other")]
REFERENCE = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}


def manager(management="Automated", reference=REFERENCE, configured=True):
    spec = {"clusters": ["east", "west"], "quotaManagement": management}
    config = msgspec.convert({"metadata": {"name": "all"}, "spec": spec}, MultiKueueConfig)
    check = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": reference}
    found = msgspec.convert({"metadata": {"name": "mk"}, "spec": check}, AdmissionCheck)
    return SimpleNamespace(
        admission_check=lambda name: found if name == "mk" else None,
        config=lambda name: config if configured and name == "all" else None,
    )


def worker(*cluster_queues, leads_to="q"):
    """A worker on which both LocalQueues lead to one queue."""
    queues = {each["metadata"]["name"]: msgspec.convert(each, ClusterQueue, strict=False) for each in cluster_queues}
    locals_ = {key: msgspec.convert(local_queue(key.name, leads_to), LocalQueue) for key in LOCAL}
    return SimpleNamespace(local_queue=locals_.get, cluster_queue=queues.get)


def managed(*groups, check="mk"):
    checks = {"admissionChecks": [{"name": check}]} if check else None
    document = cluster_queue("cq", *groups, admissionChecksStrategy=checks)
    return msgspec.convert(document, ClusterQueue, strict=False)


ONE_FLAVOR = {"default": {"cpu": quota(1, borrowing=3)}}


def judged(queue=None, by=None, **workers):
    return manager_quota.judge(queue or managed(ONE_FLAVOR), LOCAL, by or manager(), workers)


def reason_and_message(automation):
    return automation.stand.reason, automation.stand.message


def test_the_quota_is_the_sum_of_all_flavors_of_the_workers_and_limits_go():
    east = worker(cluster_queue("q", {"a": {"cpu": quota(4)}, "b": {"cpu": quota(2)}}))
    west = worker(cluster_queue("q", {"a": {"cpu": quota(10)}}))
    automation = judged(east=east, west=west)
    (group,) = automation.resource_groups
    assert group["flavors"] == [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": "16"}]}]
    assert reason_and_message(automation) == (
        "QuotaAutomated",
        "ClusterQueue quota is automatically managed based on MultiKueue workers.",
    )


def test_a_queue_that_has_it_already_is_not_written():
    queue = managed({"default": {"cpu": quota(4)}})
    assert judged(queue, east=worker(cluster_queue("q", {"a": {"cpu": quota(4)}}))).resource_groups is None


def test_a_worker_that_the_configuration_does_not_name_counts_for_nothing():
    automation = judged(elsewhere=worker(cluster_queue("q", {"a": {"cpu": quota(4)}})))
    assert automation.resource_groups[0]["flavors"][0]["resources"] == [{"name": "cpu", "nominalQuota": "0"}]


def test_what_workers_have_and_the_manager_does_not_cover_is_told():
    amounts = {"cpu": quota(1), "memory": quota(1), "gpu": quota(1)}
    automation = judged(east=worker(cluster_queue("q", {"a": amounts})))
    assert reason_and_message(automation) == (
        "UnsupportedConfiguration",
        "manager-side coveredResources is missing resources configured on workers: [gpu memory]",
    )
    assert automation.resource_groups is None


def test_a_queue_of_two_flavors_is_not_supported():
    automation = judged(managed({"a": {"cpu": quota(1)}, "b": {"cpu": quota(1)}}))
    assert reason_and_message(automation) == (
        "UnsupportedConfiguration",
        "Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor",
    )


@pytest.mark.parametrize("management", ["Manual", None])
def test_it_has_to_be_asked_for(management):
    assert reason_and_message(judged(by=manager(management))) == (
        "NotRequested",
        "MultiKueue manager quota automation has not been requested.",
    )


def test_a_configuration_that_is_not_there_is_told():
    assert reason_and_message(judged(by=manager(configured=False))) == (
        "UnsupportedConfiguration",
        "The referenced MultiKueueConfig was not found.",
    )


@pytest.mark.parametrize("check", ["", "missing"])
def test_a_queue_without_a_multikueue_check_has_no_condition(check):
    assert judged(managed(ONE_FLAVOR, check=check)) is None


def test_a_wrong_reference_is_an_error():
    with pytest.raises(
        BadReference, match='wrong kind "Secret", expecting "MultiKueueConfig": bad parameters reference'
    ):
        judged(by=manager(reference=REFERENCE | {"kind": "Secret"}))
