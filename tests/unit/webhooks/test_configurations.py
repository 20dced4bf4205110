"""Webhook configurations as made from what is served."""

from worker_agent.api.resource_type import JOBS, MUTATING_WEBHOOKS, WORKLOADS
from worker_agent.webhooks.configurations import Configurations, Endpoint, Served

SELECTOR = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["x"]}]}
SERVED = (Served(JOBS, of_jobs=True), Served(WORKLOADS, status=True))


def made(endpoint):
    return Configurations(SERVED, endpoint, SELECTOR)


def hooks(document):
    return {hook["name"]: hook for hook in document["webhooks"]}


def test_names_and_paths_are_those_of_kueue():
    document = made(Endpoint()).mutating(b"CA")
    job = hooks(document)["mjob.kb.io"]
    assert document["metadata"]["name"] == "kueue-mutating-webhook-configuration"
    assert job["clientConfig"]["service"]["path"] == "/mutate-batch-v1-job"
    assert job["rules"][0]["operations"] == ["CREATE"]
    assert job["failurePolicy"] == "Fail"


def test_job_hooks_are_limited_to_managed_namespaces():
    found = hooks(made(Endpoint()).validating(b"CA"))
    assert found["vjob.kb.io"]["namespaceSelector"] == SELECTOR
    assert "namespaceSelector" not in found["vworkload.kb.io"]


def test_workload_status_is_validated_too():
    found = hooks(made(Endpoint()).validating(b"CA"))
    assert found["vworkload.kb.io"]["rules"][0]["resources"] == ["workloads", "workloads/status"]


def test_url_takes_the_place_of_the_service():
    job = hooks(made(Endpoint(url="https://127.0.0.1:9443/")).mutating(b"CA"))["mjob.kb.io"]
    assert job["clientConfig"] == {"url": "https://127.0.0.1:9443/mutate-batch-v1-job", "caBundle": "Q0E="}


def test_prefix_follows_the_service_name():
    names = made(Endpoint(service="mine-webhook-service")).names()
    assert names[MUTATING_WEBHOOKS] == "mine-mutating-webhook-configuration"
