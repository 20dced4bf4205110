"""AdmissionReview in and out."""

import base64

import msgspec
import pytest

from worker_agent.webhooks import review
from worker_agent.webhooks.review import Review, ReviewError, Verdict

JOB = {"kind": "Job", "metadata": {"name": "j"}, "spec": {"suspend": False}}


def question(**request):
    body = {"uid": "u1", "operation": "CREATE", "namespace": "ns", "object": JOB, **request}
    return msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": body})


def response(verdict, object_=JOB):
    asked = Review("u1", "CREATE", "ns", "j", object_, None)
    return msgspec.json.decode(review.answer(asked, verdict))["response"]


def test_question_is_read():
    read = review.read(question(subResource="status", userInfo={"username": "eve"}))
    assert (read.uid, read.operation, read.object, read.subresource, read.user) == (
        "u1",
        "CREATE",
        JOB,
        "status",
        "eve",
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "not JSON"),
        (b"[]", "not an AdmissionReview"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}', "use admission.k8s.io/v1"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "no request with a uid"),
    ],
    ids=["text", "list", "old version", "empty"],
)
def test_wrong_question_says_what_is_wrong(body, message):
    with pytest.raises(ReviewError, match=message):
        review.read(body)


def test_changed_object_is_answered_with_a_json_patch():
    answer = response(Verdict(object={**JOB, "spec": {"suspend": True}}))
    assert answer["allowed"]
    assert answer["patchType"] == "JSONPatch"
    patch = msgspec.json.decode(base64.b64decode(answer["patch"]))
    assert patch == [{"op": "replace", "path": "/spec/suspend", "value": True}]


def test_unchanged_object_needs_no_patch():
    assert response(Verdict(object=dict(JOB))) == {"uid": "u1", "allowed": True}


def test_one_violation_stands_alone_and_is_forbidden():
    answer = response(Verdict(errors=["spec.x: Required value"]))
    assert not answer["allowed"]
    assert (answer["status"]["code"], answer["status"]["reason"]) == (403, "Forbidden")
    assert answer["status"]["message"] == "spec.x: Required value"


def test_several_violations_are_joined_each_once():
    answer = response(Verdict(errors=["a", "b", "a"], warnings=["old field"]))
    assert answer["status"]["message"] == "[a, b]"
    assert answer["warnings"] == ["old field"]
