"""Paths and queries of the visibility API."""

import pytest

from worker_agent.visibility import discovery, question
from worker_agent.visibility.question import DiscoveryQuestion, Page, QueueQuestion, UnknownPath, WrongQuery

GROUP = "/apis/visibility.kueue.x-k8s.io"


@pytest.mark.parametrize(
    ("path", "asked"),
    {
        "cluster queue": (f"{GROUP}/v1beta2/clusterqueues/q/pendingworkloads", QueueQuestion("v1beta2", "q")),
        "older version": (f"{GROUP}/v1beta1/clusterqueues/q/pendingworkloads", QueueQuestion("v1beta1", "q")),
        "local queue": (
            f"{GROUP}/v1beta2/namespaces/ns/localqueues/lq/pendingworkloads",
            QueueQuestion("v1beta2", "lq", "ns"),
        ),
        "groups": ("/apis", DiscoveryQuestion(group=False)),
        "group": (GROUP, DiscoveryQuestion()),
        "version": (f"{GROUP}/v1beta2/", DiscoveryQuestion("v1beta2")),
    }.values(),
)
def test_what_paths_ask_for(path, asked):
    assert question.read(path) == asked


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/apis/kueue.x-k8s.io/v1beta2",
        f"{GROUP}/v1",
        f"{GROUP}/v1beta2/clusterqueues",
        f"{GROUP}/v1beta2/clusterqueues/q",
        f"{GROUP}/v1beta2/clusterqueues/q/status",
        f"{GROUP}/v1beta2/localqueues/lq/pendingworkloads",
        f"{GROUP}/v1beta2/namespaces/ns/localqueues/lq",
    ],
)
def test_nothing_else_is_served(path):
    with pytest.raises(UnknownPath):
        question.read(path)


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ({}, Page(1000, 0)),
        ({"limit": "0"}, Page(0, 0)),
        ({"limit": "-5", "offset": "-1"}, Page(0, 0)),
        ({"limit": "1000000", "offset": "7"}, Page(100_000, 7)),
        ({"limit": "", "offset": ""}, Page(1000, 0)),
    ],
)
def test_numbers_out_of_range_are_taken_to_its_ends(query, page):
    assert Page.read(query) == page


@pytest.mark.parametrize("text", ["ten", "1_0", " 5", "٣", "1" * 30])
def test_a_limit_that_is_no_number_is_named(text: str):
    with pytest.raises(WrongQuery, match=f"query parameter limit: '{text}': must be a whole number"):
        Page.read({"limit": text})


def test_the_later_version_is_preferred():
    group = discovery.of(DiscoveryQuestion())
    assert (group["kind"], group["preferredVersion"]["version"]) == ("APIGroup", "v1beta2")
    assert [version["version"] for version in group["versions"]] == ["v1beta2", "v1beta1"]


def test_only_the_subresources_are_discovered():
    listed = discovery.of(DiscoveryQuestion("v1beta1"))
    found = {entry["name"]: (entry["namespaced"], entry["verbs"]) for entry in listed["resources"]}
    assert listed["groupVersion"] == "visibility.kueue.x-k8s.io/v1beta1"
    assert found == {
        "clusterqueues/pendingworkloads": (False, ["get"]),
        "localqueues/pendingworkloads": (True, ["get"]),
    }
