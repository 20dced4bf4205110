"""Who wrote what, read from lines of an audit log."""

import json

import pytest

from tests.benchmarks import audit_log

JOB_CONTROLLER = (
    "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/f78e722/system:serviceaccount:k:job-controller"
)


def event(agent="fedhub-hub", resource="jobs", code=201, **more):
    found = {
        "stage": "ResponseComplete",
        "userAgent": agent,
        "objectRef": {"resource": resource, "namespace": "ns"},
        "responseStatus": {"code": code},
        **more,
    }
    return json.dumps(found).encode() + b"\n"


def counted(*lines):
    return audit_log.counted(audit_log.parsed(lines))


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("fedhub-hub", "fedhub-hub"),
        ("kubectl/v1.37.1 (linux/amd64) kubernetes/f78e722", "kubectl"),
        (JOB_CONTROLLER, "kube-controller-manager job-controller"),
        ("kube-scheduler/v1.36.3 (linux/amd64) kubernetes/$Format/scheduler", "kube-scheduler scheduler"),
        ("", "(nobody)"),
    ],
)
def test_who(agent, name):
    assert audit_log.who(agent) == name


def test_writes_are_counted_by_who_and_what():
    status = {"objectRef": {"resource": "jobs", "subresource": "status", "namespace": "ns"}}
    found = counted(event(), event(), event(**status), event(stage="RequestReceived"))
    assert found.made == {("fedhub-hub", "jobs"): 2, ("fedhub-hub", "jobs/status"): 1}


def test_what_was_refused_is_no_write():
    found = counted(event(code=409), event(code=429))
    assert (found.made, found.refused) == ({}, {("fedhub-hub", 409): 1, ("fedhub-hub", 429): 1})


def test_the_cluster_s_own_housekeeping_is_left_out():
    assert not counted(event(objectRef={"resource": "leases", "namespace": "kube-system"})).made


def test_a_half_written_line_is_left_for_later(tmp_path):
    log = tmp_path / "audit.log"
    log.write_bytes(event() + event() + event()[:20])
    assert audit_log.read(log, start=len(event())).made == {("fedhub-hub", "jobs"): 1}


def test_the_end_of_a_log_is_that_of_its_last_whole_line(tmp_path):
    log = tmp_path / "audit.log"
    assert audit_log.end(log) == 0
    log.write_bytes(event() + event()[:20])
    assert audit_log.end(log) == len(event())
    assert [write.what for write in audit_log.each(log, 0, audit_log.end(log))] == ["jobs"]


def test_the_field_manager_is_that_of_the_request():
    uri = "/apis/batch/v1/namespaces/ns/jobs/a/status?fieldManager=kueue.x-k8s.io%2Fmultikueue&force=true"
    named, unnamed = audit_log.parsed([event(requestURI=uri), event(requestURI="/apis/batch/v1/namespaces/ns/jobs")])
    assert (named.manager, unnamed.manager) == ("kueue.x-k8s.io/multikueue", "")
