"""What of objects passes: ours in whole, those of others without what they do, and writes bound to what was seen."""

import msgspec
import pytest

from worker_agent.api.document import Document
from worker_agent.api.meta import ObjectMeta
from worker_agent.api.pod import Container, PodSpec, decode_template
from worker_agent.api.resource_type import JOBS
from worker_agent.kube.transport import Request
from worker_agent.tunnel import allow_list, api_request, redaction
from worker_agent.tunnel.allow_list import AllowList
from worker_agent.tunnel.api_request import Refused
from worker_agent.tunnel.objects import APPLY, JSON, JSON_PATCH, Head, ObjectRules

RULES = ObjectRules(AllowList("mk", allow_list.default_rules([JOBS]), protected=("system",)))
WORKLOADS_RULE = RULES.allowed.rules[0]
LABELS = {"kueue.x-k8s.io/multikueue-origin": "mk"}
OURS = Head(metadata=ObjectMeta(name="x", labels=LABELS, uid="u"))
THEIRS = Head(metadata=ObjectMeta(name="x", uid="u"))
PATH = "/apis/batch/v1/namespaces/ns/jobs"

TEMPLATE: Document = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"kubectl/last": "secret", "kueue.x-k8s.io/x": "y"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "registry/train:1",
                "command": ["secret"],
                "env": [{"name": "PASSWORD", "value": "secret"}],
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
        "initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always", "args": ["secret"]}],
        "volumes": [{"name": "v", "secret": {"secretName": "secret"}}],
        "serviceAccountName": "secret",
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
        "priorityClassName": "high",
        "runtimeClassName": "kata",
        "overhead": {"cpu": "100m"},
    },
}


def workload(labels: Document | None = None, namespace: str = "ns") -> Document:
    metadata = {"name": "x", "namespace": namespace, "labels": labels or {}, "annotations": {"kubectl/last": "secret"}}
    return {"metadata": metadata, "spec": {"podSets": [{"name": "main", "count": 2, "template": TEMPLATE}]}}


def encoded(value: object) -> bytes:
    return msgspec.json.encode(value)


def ask(
    method: str, body: object, content_type: str = JSON, name: str = "/x"
) -> tuple[api_request.ApiRequest, Request]:
    request = Request(method, PATH + name, (), {"content-type": content_type}, encoded(body) if body else b"")
    return api_request.parse(request), request


def test_of_others_is_seen_what_they_ask_for_and_not_what_they_do():
    shown = RULES.shown(WORKLOADS_RULE, encoded(workload()))
    assert b"secret" not in shown
    pod_set = msgspec.json.decode(shown)["spec"]["podSets"][0]
    assert (pod_set["name"], pod_set["count"]) == ("main", 2)
    assert pod_set["template"]["metadata"] == {"labels": {"a": "b"}, "annotations": {"kueue.x-k8s.io/x": "y"}}


def test_an_engine_reads_the_same_from_what_is_left():
    left = redaction.workload(workload())["spec"]["podSets"][0]["template"]
    whole, seen = (decode_template(msgspec.Raw(encoded(each))).spec for each in (TEMPLATE, left))
    assert seen == whole


def test_every_pod_field_the_engine_reads_is_kept():
    of_pods, of_containers = (
        {field.encode_name for field in msgspec.structs.fields(view)} for view in (PodSpec, Container)
    )
    assert of_pods - set(redaction.CONTAINER_LISTS) <= redaction.POD_FIELDS
    assert of_containers <= redaction.CONTAINER_FIELDS


def test_ours_pass_as_they_are():
    raw = encoded(workload(LABELS))
    assert RULES.shown(WORKLOADS_RULE, raw) is raw


def test_closed_namespaces_are_not_seen_in_lists_and_watches():
    items = [workload(namespace="ns"), workload(namespace="system"), workload(namespace="kube-system")]
    page = msgspec.json.decode(RULES.listed(WORKLOADS_RULE, encoded({"metadata": {"continue": "c"}, "items": items})))
    assert [item["metadata"]["namespace"] for item in page["items"]] == ["ns"]
    assert page["metadata"] == {"continue": "c"}
    lines = [RULES.watched(WORKLOADS_RULE, encoded({"type": "ADDED", "object": item})) for item in items]
    assert [line is None for line in lines] == [False, True, True]
    assert b"secret" not in lines[0]


def test_bookmarks_and_errors_of_watches_pass():
    for kind in ("BOOKMARK", "ERROR"):
        line = encoded({"type": kind, "object": {"metadata": {"resourceVersion": "5"}}})
        assert RULES.watched(WORKLOADS_RULE, line) is line


def test_writes_are_bound_to_the_object_that_was_looked_at():
    merge = RULES.changed(*ask("PATCH", {"spec": {}}, "application/merge-patch+json"), OURS)
    assert msgspec.json.decode(merge.body) == {"spec": {}, "metadata": {"uid": "u"}}
    steps = RULES.changed(*ask("PATCH", [{"op": "remove", "path": "/spec"}], JSON_PATCH), OURS)
    assert msgspec.json.decode(steps.body)[0] == {"op": "test", "path": "/metadata/uid", "value": "u"}
    delete = RULES.changed(*ask("DELETE", None), OURS)
    assert msgspec.json.decode(delete.body)["preconditions"] == {"uid": "u"}


def test_precondition_of_the_hub_is_kept():
    options = {"preconditions": {"uid": "another", "resourceVersion": "7"}}
    delete = RULES.changed(*ask("DELETE", options), OURS)
    assert msgspec.json.decode(delete.body)["preconditions"] == options["preconditions"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (ask("PATCH", {"spec": {}}, "application/merge-patch+json"), THEIRS),
        (ask("PUT", {"metadata": {"labels": LABELS}}), THEIRS),
        (ask("DELETE", None), THEIRS),
        (ask("PATCH", {"metadata": {"labels": LABELS}}, APPLY), THEIRS),
        (ask("PATCH", {"metadata": {"uid": "another"}}, APPLY), OURS),
        (ask("PATCH", {"metadata": {}}, APPLY), None),
        (ask("PATCH", "text", APPLY), None),
        (ask("PATCH", {"metadata": []}, "application/merge-patch+json"), OURS),
        (ask("PATCH", {}, "application/yaml"), OURS),
    ],
)
def test_writes_that_are_refused(asked, found):
    with pytest.raises(Refused):
        RULES.changed(*asked, found)


def test_what_is_created_bears_our_origin_in_its_own_namespace():
    asked, request = ask("POST", {"metadata": {"name": "x", "labels": LABELS}}, name="")
    assert RULES.created(asked, request).body == request.body
    for metadata in ({"name": "x"}, {"labels": {"kueue.x-k8s.io/multikueue-origin": "other"}}, {"labels": "mk"}):
        with pytest.raises(Refused, match="needs the label"):
            RULES.created(*ask("POST", {"metadata": metadata}, name=""))
    with pytest.raises(Refused, match="another namespace"):
        RULES.created(*ask("POST", {"metadata": {"labels": LABELS, "namespace": "kube-system"}}, name=""))
