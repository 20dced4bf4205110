"""What a cohort that spans workers has as quota: what those leave to global work."""

import msgspec

from hub.engine import cohort_span
from hub.engine.cohort_span import Members, WorkerQueues
from tests.builders import cluster_queue, cohort, quota
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.workload import Workload

CPU = ("default", "cpu")
RECLAIM = {"reclaimWithinCohort": "Any"}


def queue(name, nominal, *, used=0, cohort="c", preemption=None, **spec):
    document = cluster_queue(name, cpu=nominal, cohort=cohort, preemption=preemption, **spec)
    resources = [{"name": "cpu", "total": str(used)}]
    document["status"] = {"flavorsReservation": [{"name": "default", "resources": resources}]}
    return msgspec.convert(document, ClusterQueue, strict=False)


def reach(*queues, takes_work=True, cohorts=(), ours=("global",)):
    found = cohort_span.reach(WorkerQueues(ours, queues, cohorts), takes_work=takes_work)
    return found.get(CPU, 0) // 1000


def test_idle_quota_of_local_users_is_within_reach():
    assert reach(queue("global", 6), queue("local", 4)) == 10


def test_what_local_users_take_back_is_not():
    assert reach(queue("global", 6), queue("local", 4, used=3)) == 7


def test_what_global_work_holds_stays_within_reach():
    assert reach(queue("global", 6, used=8), queue("local", 4, used=1)) == 9


def test_its_own_quota_that_locals_borrow_is_within_reach_where_it_may_be_reclaimed():
    locals_borrow = queue("local", 4, used=8)
    assert reach(queue("global", 6), locals_borrow) == 2
    assert reach(queue("global", 6, preemption=RECLAIM), locals_borrow) == 6


def test_queues_of_the_same_cohort_do_not_count_its_room_twice():
    queues = (queue("a", 0), queue("b", 0), queue("local", 4, used=1))
    assert reach(*queues, ours=("a", "b")) == 3


def test_quota_of_the_workers_own_cohort_counts():
    shared = msgspec.convert(cohort("c", {"default": {"cpu": quota(5)}}), Cohort, strict=False)
    assert reach(queue("global", 0), cohorts=(shared,)) == 5


def test_a_cordoned_worker_counts_with_what_runs_there():
    assert reach(queue("global", 6, used=2), takes_work=False) == 2


def test_a_stopped_queue_counts_with_what_runs_there():
    assert reach(queue("global", 6, used=2, stopPolicy="Hold")) == 2


def test_a_worker_out_of_contact_counts_with_what_the_manager_runs_there():
    assignment = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1500m"}}
    admission = {"clusterQueue": "a", "podSetAssignments": [assignment]}
    workload = msgspec.convert({"metadata": {"name": "w"}, "status": {"admission": admission}}, Workload)
    assert cohort_span.held_by([workload, workload]) == {CPU: 3000}


# The manager's side


def spanning(*groups, **spec):
    document = cohort("all", *groups, **spec)
    document["metadata"]["annotations"] = {"fedhub.dev/spans": "workers"}
    return msgspec.convert(document, Cohort, strict=False)


def tenants(*nominal):
    return Members(tuple(queue(f"t{n}", amount, cohort="all") for n, amount in enumerate(nominal)), ())


def written(cohort_, members, *reaches):
    groups = cohort_span.resource_groups(cohort_, members, reaches)
    return None if groups is None else [f["resources"] for g in groups for f in g["flavors"]]


ONE = {"default": {"cpu": quota(0)}}


def test_it_has_the_reach_of_all_workers_less_what_its_members_are_granted():
    found = written(spanning(ONE), tenants(2, 3), {CPU: 10_000}, {("other", "cpu"): 4_000})
    assert found == [[{"name": "cpu", "nominalQuota": "9"}]]


def test_of_several_flavors_each_has_that_of_the_same_name():
    groups = {"a": {"cpu": quota(0, borrowing=1)}, "b": {"cpu": quota(0)}}
    found = written(spanning(groups), tenants(), {("a", "cpu"): 1_500, ("c", "cpu"): 9_000})
    assert found == [
        [{"name": "cpu", "nominalQuota": "1500m", "borrowingLimit": "1"}],
        [{"name": "cpu", "nominalQuota": "0"}],
    ]


def test_it_is_not_written_where_it_has_that_already():
    assert written(spanning({"default": {"cpu": quota(10)}}), tenants(), {CPU: 10_000}) is None


def test_members_are_granted_more_than_there_is():
    assert written(spanning({"default": {"cpu": quota(1)}}), tenants(8), {CPU: 5_000}) == [
        [{"name": "cpu", "nominalQuota": "0"}]
    ]


def test_members_are_found_at_any_depth_also_around_a_circle():
    cohorts = [
        msgspec.convert(cohort(name, parent=parent), Cohort)
        for name, parent in (("all", "deep"), ("team", "all"), ("deep", "team"), ("elsewhere", ""))
    ]
    queues = [queue("q", 1, cohort="deep"), queue("p", 1, cohort="elsewhere")]
    found = cohort_span.members("all", queues, cohorts)
    assert [each.metadata.name for each in found.queues] == ["q"]
    assert sorted(each.metadata.name for each in found.cohorts) == ["deep", "team"]


def test_a_queue_that_is_not_sent_to_these_workers_is_in_the_way():
    told = cohort_span.obstacle(spanning(ONE), tenants(1, 1), lambda q: "workers" if q.metadata.name == "t0" else "")
    assert told == 'ClusterQueues not dispatched by MultiKueueConfig "workers" may not be below it: t1'


def test_it_has_to_say_what_follows_the_workers():
    assert "must name the flavors and resources" in cohort_span.obstacle(spanning(), tenants(), lambda q: "workers")
