"""The search for the top-most queued ancestor."""

from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine import job_ancestors
from worker_agent.engine.job_ancestors import TOO_DEEP, Ancestry

POLICY = JobPolicy()


def owned(name: str, by: str = "", *, queue: str = "", api: str = "batch/v1", kind: str = "Job") -> Document:
    owner = {"apiVersion": api, "kind": kind, "name": by, "uid": f"{by}-uid", "controller": True}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"{name}-uid",
            "labels": {names.QUEUE_NAME_LABEL: queue} if queue else {},
            "ownerReferences": [owner] if by else [],
        },
    }


def search(start: Document, *others: Document, policy: JobPolicy = POLICY) -> Ancestry:
    world = {document["metadata"]["name"]: document for document in others}
    return job_ancestors.search(start, lambda api, kind, namespace, name: world.get(name), policy)


def test_job_without_owner_has_no_ancestor():
    assert search(owned("a")) == Ancestry()


def test_topmost_queued_owner_wins():
    top = owned("top", queue="q")
    assert search(owned("a", "b"), owned("b", "top", queue="q"), top).managed is top


def test_unqueued_owner_is_passed_through():
    top = owned("top", queue="q")
    assert search(owned("a", "b"), owned("b", "top"), top).managed is top


def test_unqueued_owner_counts_when_all_jobs_are_managed():
    top = owned("top")
    assert search(owned("a", "top"), top, policy=JobPolicy(manage_without_queue_name=True)).managed is top


def test_search_ends_at_unknown_kinds():
    assert search(owned("a", "b", kind="Notebook"), owned("b", queue="q")) == Ancestry()


def test_owner_of_a_disabled_kind_is_no_ancestor():
    parent = {**owned("b", queue="q"), "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    child = owned("a", "b", api="jobset.x-k8s.io/v1alpha2", kind="JobSet")
    assert search(child, parent).managed is None
    enabled = JobPolicy(frameworks=frozenset({"jobset.x-k8s.io/jobset"}))
    assert search(child, parent, policy=enabled).managed is parent


def test_external_kinds_count():
    parent = {**owned("b", queue="q"), "apiVersion": "example.com/v1", "kind": "Foo"}
    child = owned("a", "b", api="example.com/v1", kind="Foo")
    assert (
        search(child, parent, policy=JobPolicy(external_frameworks=frozenset({"Foo.v1.example.com"}))).managed is parent
    )


def test_namesake_of_the_owner_is_not_the_owner():
    other = owned("b", queue="q")
    other["metadata"]["uid"] = "another"
    assert search(owned("a", "b"), other) == Ancestry()


def test_missing_owner_is_an_error():
    assert search(owned("a", "b")).error == "workload owner not found"


def test_circle_is_an_error():
    assert search(owned("a", "b"), owned("b", "a"), owned("a", "b")).error == "cyclic ownership"


def test_search_is_bounded():
    chain = [owned(f"o{n}", f"o{n + 1}") for n in range(15)]
    found = search(chain[0], *chain)
    assert (found.error, found.too_deep) == (TOO_DEEP, True)
