"""Which clusters are asked for nodes at once."""

import pytest

from hub.engine import dispatch
from hub.engine.evaluation import Outlook
from tests.unit.hub import knowledge
from tests.unit.hub.knowledge import request, worker
from tests.unit.hub.test_dispatch import KEY, NOW, PATIENCE, evaluation
from tests.unit.hub.test_judging import Office
from worker_agent.api.dispatch_policy import DispatchPolicySpec


def grows(cluster, outlook=Outlook.FITS, **figures):
    return evaluation(cluster, outlook, provisions=True, **figures)


def choose(*evaluations, most=2, **state):
    found = dispatch.Candidates(KEY, tuple(evaluations), **state)
    return dispatch.decide(found, DispatchPolicySpec(provisioning_clusters=most), NOW, PATIENCE)


@pytest.mark.parametrize(("most", "asked"), [(1, ("a",)), (2, ("a", "b")), (9, ("a", "b", "c"))])
def test_no_more_than_the_policy_allows_are_asked(most, asked):
    decision = choose(grows("a", free=9), grows("b", free=5), grows("c"), most=most)
    assert decision.clusters == asked
    assert decision.cluster == "a"


def test_where_nodes_are_there_nobody_else_is_asked():
    assert choose(grows("a", free=9), evaluation("b")).clusters == ("b",)


def test_those_that_would_have_to_wait_are_not_asked():
    assert choose(grows("a"), grows("b", Outlook.WAITS), evaluation("c", Outlook.WAITS)).clusters == ("a",)


def test_one_that_was_asked_already_keeps_its_place():
    decision = choose(grows("a", free=9), grows("b", free=5), grows("c"), current="a", nominated=("a", "c"))
    assert decision.clusters == ("a", "c")


def test_one_that_said_no_is_replaced():
    state = {"current": "a", "nominated": ("a", "b"), "refused": {"b"}}
    assert choose(grows("a", free=9), grows("b", free=5), grows("c"), **state).clusters == ("a", "c")


# -- how a cluster is judged -----------------------------------------------------------------------------------------


def office(*events):
    queue = knowledge.cluster_queue_of("a", "default", cpu=8, check="grow")
    check = knowledge.check("a", "grow", "kueue.x-k8s.io/provisioning-request")
    return Office(*worker("a", cpu=1), check, queue, *events)


def test_a_queue_with_such_a_check_has_to_make_its_nodes():
    (found,) = office().ask(request("a"))
    assert (found.provisions, found.message) == (True, "fits once its nodes have come in default")


def test_it_still_has_to_while_its_copy_holds_quota_there():
    held = knowledge.reserved(knowledge.workload_document("new", cpu=1), cpu=1)
    (found,) = office(knowledge.event("a", "workloads", held)).ask(request("a"))
    assert found.provisions
