"""Messages and reasons of assignments (spec/engine 8.5 to 8.7)."""

from tests.builders import admitted, cluster_queue, flavor, local_queue, namespace, pod_set, single_queue, workload
from tests.engine_world import EngineWorld
from worker_agent.api.document import Document
from worker_agent.engine.policy import Policy

PREFIX = "couldn't assign flavors to pod set main: "


def refused(*objects: Document, policy: Policy | None = None, **fields: object) -> EngineWorld:
    world = EngineWorld(objects, policy or Policy())
    world.put(workload("new", **fields))  # type: ignore[arg-type]
    world.cycle()
    return world


def test_a_lack_for_the_moment_says_how_much_more_is_needed() -> None:
    world = refused(*single_queue(cpu=4), admitted("a", cpu=1), cpu=4)
    assert world.message("ns/new") == f"{PREFIX}insufficient unused quota for cpu in flavor default, 1 more needed"
    assert world.reason("ns/new") == "WaitingForQuota"


def test_parts_of_a_cpu_are_printed_in_milli() -> None:
    world = refused(*single_queue(cpu=4), admitted("a", cpu=1), cpu="3500m")
    assert world.message("ns/new").endswith("500m more needed")


def test_a_request_beyond_all_quota_names_the_maximum() -> None:
    world = refused(*single_queue(cpu=4), cpu=5)
    assert world.message("ns/new") == (
        f"{PREFIX}insufficient quota for cpu in flavor default, previously considered podsets requests (0) + "
        "current podset request (5) > maximum capacity (4)"
    )
    assert world.reason("ns/new") == "ExceedsMaxQuota"


def test_earlier_pod_sets_count_against_later_ones() -> None:
    world = EngineWorld(single_queue(cpu=4))
    world.put(workload("new", pod_set("a", requests={"cpu": 3}), pod_set("b", requests={"cpu": 2})))
    world.cycle()
    assert "podsets requests (3) + current podset request (2) > maximum capacity (4)" in world.message("ns/new")


def test_a_missing_flavor_object_is_named() -> None:
    world = EngineWorld([namespace(), flavor("a"), cluster_queue("q", {"a": {"cpu": 1}}), local_queue()])
    world.put(workload("new", cpu=1))
    world.state.catalog.flavors.clear()
    world.cycle()
    assert world.message("ns/new") == f"{PREFIX}flavor a not found"
    assert world.reason("ns/new") == "NoMatchingFlavor"


def test_the_least_severe_reason_of_a_group_counts_and_the_most_severe_of_a_flavor() -> None:
    """Example 37: flavor a lacks memory for good, b only for the moment."""
    flavors = {"a": {"cpu": 4, "memory": 1}, "b": {"cpu": 4, "memory": 10}}
    world = EngineWorld([namespace(), flavor("a"), flavor("b"), cluster_queue("q", flavors), local_queue()])
    world.put(admitted("in-a", flavor="a", cpu=4), admitted("in-b", flavor="b", cpu=4))
    world.put(workload("new", pod_set(requests={"cpu": 1, "memory": 2})))
    world.cycle()
    assert world.reason("ns/new") == "WaitingForQuota"


def test_an_uncovered_resource_scanned_first_means_that_no_flavor_matches() -> None:
    world = EngineWorld(single_queue(cpu=4))
    world.put(workload("new", pod_set(requests={"cpu": 1, "example.com/gpu": 1})))
    world.cycle()
    assert world.reason("ns/new") == "NoMatchingFlavor"
    assert world.message("ns/new") == f"{PREFIX}resource example.com/gpu unavailable in ClusterQueue"


def test_an_uncovered_resource_after_a_fit_has_no_reason_of_its_own() -> None:
    world = EngineWorld([namespace(), flavor(), cluster_queue("q", {"default": {"memory": 5}}), local_queue()])
    world.put(workload("new", pod_set(requests={"cpu": 1, "memory": 1})))
    assert world.cycle().requeues[0].reason == ""


def test_an_uncovered_resource_of_which_nothing_is_asked_is_left_out() -> None:
    world = EngineWorld(single_queue(cpu=4))
    world.put(workload("new", pod_set(requests={"cpu": 1, "example.com/gpu": 0})))
    assignment = world.cycle().admissions[0].admission["podSetAssignments"][0]
    assert assignment["resourceUsage"] == {"cpu": "1"}


def test_undeclared_resources_can_be_ignored_by_configuration() -> None:
    world = EngineWorld(single_queue(cpu=4), Policy(ignore_undeclared=True))
    world.put(workload("new", pod_set(requests={"cpu": 1, "example.com/gpu": 3})))
    assert world.cycle().admissions[0].admission["podSetAssignments"][0]["flavors"] == {"cpu": "default"}


def test_pods_count_where_the_queue_covers_them() -> None:
    world = EngineWorld([namespace(), flavor(), cluster_queue("q", {"default": {"pods": 3}}), local_queue()])
    world.put(workload("new", pod_set(count=3, requests={})))
    assert world.cycle().admissions[0].admission["podSetAssignments"][0]["resourceUsage"] == {"pods": "3"}


def test_a_pod_set_that_asks_for_nothing_fits_without_flavors() -> None:
    world = EngineWorld(single_queue())
    world.put(workload("new", pod_set(requests={})))
    assert world.cycle().admissions[0].admission["podSetAssignments"] == [{"name": "main", "count": 1}]


def test_grouped_pod_sets_get_the_same_flavor() -> None:
    flavors = {"small": {"cpu": 2}, "large": {"cpu": 9}}
    world = EngineWorld([namespace(), flavor("small"), flavor("large"), cluster_queue("q", flavors), local_queue()])
    together = {"topologyRequest": {"podSetGroupName": "g"}}
    policy_free_of_topology = Policy(topology_aware=False)
    world = EngineWorld(world.objects.values(), policy_free_of_topology)
    world.put(
        workload("new", pod_set("a", requests={"cpu": 1}, **together), pod_set("b", requests={"cpu": 4}, **together))
    )
    sets = world.cycle().admissions[0].admission["podSetAssignments"]
    assert [entry["flavors"]["cpu"] for entry in sets] == ["large", "large"]


def test_an_unreadable_affinity_aborts_the_assignment() -> None:
    world = EngineWorld([namespace(), flavor(labels={"k": "v"}), cluster_queue(), local_queue()])
    expression = {"key": "k", "operator": "Near", "values": ["x"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    world.put(workload("new", pod_set(spec={"affinity": affinity})))
    world.cycle()
    assert world.message("ns/new") == (
        'failed to assign flavors to pod set main: "Near" is not a valid node selector operator'
    )


def test_a_topology_flavor_takes_no_pod_set_without_topology_request() -> None:
    world = EngineWorld([namespace(), flavor("tas", labels={"a": "b"}, topologyName="t"), flavor("plain")])
    world.put(cluster_queue("q", {"tas": {"cpu": 4}, "plain": {"cpu": 4}}), local_queue())
    world.put({"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "rack"}]}})
    world.put(workload("new"))
    assert world.cycle().admissions[0].admission["podSetAssignments"][0]["flavors"] == {"cpu": "plain"}
