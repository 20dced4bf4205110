"""What single kinds do beyond the rules of all."""

from typing import Any

from tests.unit.apiserver.world import NAMESPACES, PODS, World, pod

OLD_EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def test_event_has_two_faces(world: World) -> None:
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p"},
        "note": "hello",
        "reason": "Started",
        "reportingController": "me",
    }
    world.post(NEW_EVENTS, event)
    old = world.get(f"{OLD_EVENTS}/e").document
    assert (old["apiVersion"], old["involvedObject"]["name"], old["message"]) == ("v1", "p", "hello")
    assert world.get(NEW_EVENTS).document["items"][0]["note"] == "hello"


def test_events_are_selected_by_what_they_are_about(world: World) -> None:
    for name, about in (("a", "p"), ("b", "q")):
        involved = {"kind": "Pod", "name": about}
        world.post(
            OLD_EVENTS, {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": involved}
        )
    assert world.names(f"{OLD_EVENTS}?fieldSelector=involvedObject.name=p,involvedObject.kind=Pod") == ["a"]
    assert world.names(f"{NEW_EVENTS}?fieldSelector=regarding.name=q") == ["b"]


def test_watch_of_the_other_face(world: World) -> None:
    reader = world.watch(NEW_EVENTS)
    world.post(OLD_EVENTS, {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "message": "m"})
    (event,) = reader.events()
    assert (event["object"]["apiVersion"], event["object"]["note"]) == ("events.k8s.io/v1", "m")


def test_namespace_gets_label_finalizer_and_phase(world: World) -> None:
    made = world.get(f"{NAMESPACES}/default").document
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "default"}
    assert made["spec"]["finalizers"] == ["kubernetes"]
    assert made["status"] == {"phase": "Active"}


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def test_pod_gets_the_priority_of_its_class(world: World) -> None:
    world.post(CLASSES, priority_class("high", 100, preemptionPolicy="Never"))
    document = pod("p")
    document["spec"]["priorityClassName"] = "high"
    spec = world.post(PODS, document).document["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (100, "Never")


def test_pod_without_class_gets_the_default_one(world: World) -> None:
    world.post(CLASSES, priority_class("usual", 7, globalDefault=True))
    spec = world.post(PODS, pod("p")).document["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (7, "usual")


def test_pod_of_an_unknown_class_is_refused(world: World) -> None:
    document = pod("p")
    document["spec"]["priorityClassName"] = "none"
    reply = world.post(PODS, document)
    assert reply.status == 403
    assert reply.message == 'pods "p" is forbidden: no PriorityClass with name none was found'


def test_new_pod_is_pending_with_its_qos_class(world: World) -> None:
    document = pod("p")
    document["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert world.post(PODS, document).document["status"] == {"phase": "Pending", "qosClass": "Burstable"}


def binding(node: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": node}}


def test_binding_sets_the_node_once(world: World) -> None:
    world.post(PODS, pod("p"))
    assert world.post(f"{PODS}/p/binding", binding("n1")).status == 201
    bound = world.get(f"{PODS}/p").document
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    reply = world.post(f"{PODS}/p/binding", binding("n2"))
    assert reply.status == 409
    assert 'pod p is already assigned to node "n1"' in reply.message


def test_binding_of_an_earlier_pod_of_the_name_is_refused(world: World) -> None:
    world.post(PODS, pod("p"))
    late = binding("n1")
    late["metadata"]["uid"] = "0a0b0c0d-0000-4000-8000-000000000000"
    reply = world.post(f"{PODS}/p/binding", late)
    assert reply.status == 409
    assert "Precondition failed: UID in precondition: 0a0b0c0d-0000-4000-8000-000000000000" in reply.message
    assert "nodeName" not in world.get(f"{PODS}/p").document["spec"]


def test_gated_pod_is_not_bound(world: World) -> None:
    document = pod("p")
    document["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    world.post(PODS, document)
    reply = world.post(f"{PODS}/p/binding", binding("n1"))
    assert reply.status == 409
    assert "pod p has non-empty .spec.schedulingGates" in reply.message


def test_eviction_deletes(world: World) -> None:
    world.post(PODS, pod("p", node="n1"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert world.post(f"{PODS}/p/eviction", eviction).status == 201
    assert world.get(f"{PODS}/p").document["metadata"]["deletionTimestamp"]


def test_scale_reads_and_writes_replicas(world: World) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}
    world.post(path, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    scale = world.get(f"{path}/d/scale").document
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 1}, "a=b")
    assert world.patch(f"{path}/d/scale", {"spec": {"replicas": 3}}).document["spec"] == {"replicas": 3}
    assert world.get(f"{path}/d").document["spec"]["replicas"] == 3


def test_access_reviews_say_yes(world: World) -> None:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert world.post(path, review).status == 422
    reply = world.post(path, {**review, "spec": {"resourceAttributes": {"verb": "get", "resource": "jobs"}}})
    assert (reply.status, reply.document["status"]["allowed"]) == (201, True)


def test_impersonation(world: World) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    headers = {"impersonate_user": "carol", "impersonate_group": "a,b"}
    info = world.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review, **headers).document["status"]
    assert info["userInfo"] == {"username": "carol", "groups": ["a", "b", "system:authenticated"]}


def test_self_review_names_the_user(world: World) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    reply = world.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert reply.document["status"]["userInfo"]["username"] == "kubernetes-admin"
