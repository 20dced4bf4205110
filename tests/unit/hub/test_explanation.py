"""What a cluster's outlook says: the verdict, the blocker, and the smallest change that would do."""

from datetime import UTC, datetime

import msgspec
import pytest

from hub.engine import explanation, judging
from hub.engine.evaluation import Request, impossible
from hub.engine.views import Views
from tests.unit.hub import knowledge
from tests.unit.hub.knowledge import request, worker
from worker_agent.engine.policy import Policy

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def known(*events):
    views = Views(Policy())
    views.apply(events, NOW)
    return views


def outlook(views: Views, asked: Request):
    (found,) = judging.evaluate(asked, views, Policy(), NOW)
    return explanation.of(found, asked, views.get(found.cluster), NOW, NOW)


def test_what_fits_has_no_blocker_and_needs_no_change():
    told = outlook(known(*worker("a", cpu=4)), request("a", cpu=3))
    assert (told.verdict, told.blocker, told.change, told.as_of) == ("FITS", "", "", "2026-01-31T12:00:00Z")


def test_a_copy_that_holds_quota_tells_which_checks_it_waits_for():
    waiting = knowledge.reserved(knowledge.workload_document("new", cpu=3), cpu=3)
    waiting["status"]["conditions"] = [
        each for each in waiting["status"]["conditions"] if each["type"] == "QuotaReserved"
    ]
    waiting["status"]["admissionChecks"] = [
        {"name": "budget", "state": "Ready", "message": "granted"},
        {"name": "grow", "state": "Pending", "message": "6 node(s) are being added"},
    ]
    told = outlook(known(*worker("a", cpu=4), knowledge.event("a", "workloads", waiting)), request("a", cpu=3))
    assert (told.verdict, told.change) == ("FITS", "")
    assert told.blocker == (
        "holds quota in ClusterQueue cq and waits for its admission checks: grow is Pending; "
        "grow: 6 node(s) are being added"
    )


def test_what_fits_once_an_autoscaler_has_made_its_nodes_says_so():
    found = judging.evaluate(request("a", cpu=3), known(*worker("a", cpu=4)), Policy(), NOW)[0]
    found = msgspec.structs.replace(found, provisions=True, message="fits once its nodes have come in default")
    told = explanation.of(found, request("a", cpu=3), known(*worker("a", cpu=4)).get("a"), NOW, NOW)
    assert (told.verdict, told.blocker) == ("FITS", "fits once its nodes have come in default")


def test_a_full_queue_names_who_would_have_to_finish_and_how_much_quota_would_do():
    told = outlook(known(*worker("a", cpu=4), knowledge.running("a", "old", cpu=3)), request("a", cpu=2))
    assert (told.verdict, told.position) == ("WAITS", 0)
    assert told.change == "ns/old in cq finishing"
    assert told.other_changes == ("1 more cpu in flavor default (nominalQuota 5 instead of 4) of ClusterQueue cq",)


def test_more_than_the_quota_names_the_quota_that_would_do():
    told = outlook(known(*worker("a", cpu=4)), request("a", cpu=6))
    assert told.verdict == "IMPOSSIBLE"
    assert told.change == "2 more cpu in flavor default (nominalQuota 6 instead of 4) of ClusterQueue cq"


def test_pods_that_no_node_can_hold_are_counted_and_described():
    small = (*worker("a", cpu=4), knowledge.report("a", largest={"default": 2}))
    assert "no node is large enough for 1 pod of cpu 3" in outlook(known(*small), request("a", cpu=3)).blocker


@pytest.mark.parametrize(
    ("event", "change"),
    [
        (knowledge.gone("a", "namespaces", "ns"), "create namespace ns in a"),
        (knowledge.gone("a", "localqueues", "lq", "ns"), "create LocalQueue ns/lq in a"),
        (
            knowledge.local_queue("a", stopPolicy="Hold"),
            "set spec.stopPolicy of the LocalQueue or ClusterQueue in a to None",
        ),
        (
            knowledge.report("a", largest={"default": 2}),
            "ask for less in each pod, or add larger nodes to a",
        ),
    ],
)
def test_what_is_missing_is_what_has_to_be_made(event, change):
    told = outlook(known(*worker("a", cpu=4), event), request("a", cpu=3))
    assert (told.verdict, told.change) == ("IMPOSSIBLE", change)


def test_a_cluster_nothing_is_known_of_is_told_with_its_remedy():
    told = explanation.of(impossible("a", "Cordoned", "cordoned"), request("a"), None, NOW, None)
    assert (told.verdict, told.change, told.as_of) == ("IMPOSSIBLE", "fedhub cluster uncordon a", "")


def test_asking_leaves_the_view_as_it_was():
    events = [*worker("a", cpu=4), knowledge.running("a", "old", cpu=3), knowledge.pending("a", "early", cpu=2)]
    views = known(*events)
    asked = request("a", cpu=2)
    before = judging.evaluate(asked, views, Policy(), NOW)
    outlook(views, asked)
    assert (
        judging.evaluate(asked, views, Policy(), NOW)
        == before
        == judging.evaluate(asked, known(*events), Policy(), NOW)
    )
