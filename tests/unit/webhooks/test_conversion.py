"""ConversionReview: what the API server asks, and what it is told when an object cannot be converted."""

import json

import pytest

from worker_agent.webhooks import conversion
from worker_agent.webhooks.review import ReviewError

NEW = "kueue.x-k8s.io/v1beta2"


def review(*objects, wanted=NEW):
    request = {"uid": "u", "desiredAPIVersion": wanted, "objects": list(objects)}
    return {"apiVersion": conversion.REVIEW_VERSION, "kind": "ConversionReview", "request": request}


def asked(document):
    return json.loads(conversion.answer(json.dumps(document).encode()))["response"]


def queue(name):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"cohort": "all"},
    }


def test_objects_come_back_in_their_order():
    response = asked(review(queue("a"), queue("b")))
    assert response["uid"] == "u"
    assert response["result"] == {"status": "Success"}
    assert [found["metadata"]["name"] for found in response["convertedObjects"]] == ["a", "b"]
    assert response["convertedObjects"][0]["spec"] == {"cohortName": "all"}


def test_one_that_cannot_be_converted_fails_the_review():
    response = asked(review(queue("a"), {"apiVersion": "v1", "kind": "Pod"}))
    assert response["convertedObjects"] == []
    assert response["result"]["status"] == "Failure"
    assert "Pod cannot be converted from v1" in response["result"]["message"]


@pytest.mark.parametrize("objects", [{}, ["text"], [None]])
def test_what_is_no_list_of_objects_fails_the_review(objects):
    document = review()
    document["request"]["objects"] = objects or {"a": 1}
    assert asked(document)["result"]["status"] == "Failure"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not JSON"),
        (b"[]", "not a ConversionReview"),
        (b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1"}', "is not served"),
        (b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}', "no request with a uid"),
    ],
)
def test_other_bodies_are_refused(body, said):
    with pytest.raises(ReviewError, match=said):
        conversion.answer(body)


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": []},
        {"metadata": {"annotations": []}},
        {"metadata": {"annotations": {"fedhub.dev/other-version": 1}}},
        {"spec": {"podSets": {"a": 1}, "priorityClassSource": []}},
        {"spec": "text", "status": 3},
        {"status": {"admission": {"podSetAssignments": [1, {"topologyAssignment": {"domains": [1]}}]}}},
        {"apiVersion": ["v1"]},
        {"kind": {"a": 1}},
    ],
)
def test_objects_of_any_form_are_answered(broken):
    document = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "w"}, **broken}
    assert asked(review(document))["result"]["status"] in ("Success", "Failure")


def test_answers_leave_out_what_servers_keep_anyway():
    managed = queue("a")
    managed["metadata"] |= {"uid": "u", "labels": {"l": "m"}, "managedFields": [{"manager": "kubectl"}]}
    (converted,) = asked(review(managed))["convertedObjects"]
    assert converted["metadata"] == {"name": "a", "uid": "u", "labels": {"l": "m"}}
