"""What a cluster said to one workload stands for the next that is like it, until something changes there."""

import random
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from hub.engine import judging
from hub.engine.evaluation import Outlook
from hub.engine.work_order import Assume, Desk, Observe, Release
from tests.unit.hub import knowledge
from tests.unit.hub.knowledge import request, worker
from worker_agent.api import names
from worker_agent.engine.policy import Policy

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def judged(monkeypatch):
    """The clusters that were looked at closely, one entry for each time."""
    clusters = []
    verdict = judging.simulate.verdict_on

    def counted(row, state, now, search):
        clusters.append(row.key.name)
        return verdict(row, state, now, search)

    monkeypatch.setattr(judging.simulate, "verdict_on", counted)
    return clusters


def office(*events):
    desk = Desk(Policy())
    desk.carry_out([Observe(event) for event in events], NOW)
    return desk


def ask(desk, *clusters, cpu=1, name="new", now=NOW, **metadata):
    question = request(*clusters, cpu=cpu, name=name)
    if metadata:
        document = msgspec.json.decode(question.workload)
        document["metadata"] |= metadata
        question = msgspec.structs.replace(question, workload=msgspec.json.encode(document))
    return desk.answer([question], now)[0]


def take(desk, cluster, name, cpu=1):
    (found,) = ask(desk, cluster, name=name, cpu=cpu)
    desk.carry_out([Assume(cluster, "ns", name, request(cluster, name=name, cpu=cpu).workload, found.admission)], NOW)


def test_equal_workloads_are_judged_once(judged):
    desk = office(*worker("a", cpu=4))
    first, second = ask(desk, "a", name="one"), ask(desk, "a", name="two", now=NOW + timedelta(hours=1))
    assert (first, judged) == (second, ["one"])


def test_of_many_clusters_only_the_one_that_took_room_is_judged_again(judged):
    desk = office(*worker("a", cpu=4), *worker("b", cpu=4), *worker("c", cpu=4))
    ask(desk, "a", "b", "c", name="one")
    take(desk, "b", "one")
    del judged[:]
    found = ask(desk, "a", "b", "c", name="two")
    assert ([answer.free for answer in found], judged) == ([750, 500, 750], ["two"])


def test_a_copy_that_shows_what_it_was_known_to_hold_changes_nothing(judged):
    desk = office(*worker("a", cpu=4))
    take(desk, "a", "one")
    ask(desk, "a", name="two")
    del judged[:]
    desk.carry_out([Observe(knowledge.pending("a", "one", cpu=1)), Observe(knowledge.running("a", "one", cpu=1))], NOW)
    ask(desk, "a", name="three")
    assert judged == []


def test_what_asks_for_more_is_judged_by_itself():
    desk = office(*worker("a", cpu=4))
    assert [ask(desk, "a", cpu=cpu, name=f"n{cpu}")[0].outlook for cpu in (1, 5)] == [
        Outlook.FITS,
        Outlook.IMPOSSIBLE,
    ]


def test_a_slice_that_takes_the_place_of_another_is_like_no_other(judged):
    desk = office(*worker("a", cpu=4))
    annotations = {names.SLICE_REPLACEMENT_FOR_ANNOTATION: "ns/old"}
    ask(desk, "a", name="one", annotations=annotations)
    ask(desk, "a", name="two", annotations=annotations)
    assert judged == ["one", "two"]


def test_where_somebody_waits_each_is_judged_by_itself(judged):
    desk = office(*worker("a", cpu=4), knowledge.pending("a", "early", cpu=1))
    ask(desk, "a", name="one")
    ask(desk, "a", name="two")
    assert judged.count("two") == 1


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_the_answers_are_those_of_a_fresh_look(seed):
    chance = random.Random(seed)
    clusters = ("a", "b")
    desk = office(*worker("a", cpu=6), *worker("b", cpu=4))
    for step in range(40):
        desk.carry_out([_happening(chance, desk, chance.choice(clusters), step)], NOW + timedelta(seconds=step))
        for cpu in (1, 3):
            now = NOW + timedelta(seconds=step)
            remembered = ask(desk, *clusters, cpu=cpu, name=f"new-{step}-{cpu}", now=now)
            for cluster in clusters:
                desk.views.get(cluster).answers.clear()
            assert remembered == ask(desk, *clusters, cpu=cpu, name=f"new-{step}-{cpu}", now=now)
            ask(desk, *clusters, cpu=cpu, name=f"other-{step}", now=now)  # what it leaves behind meets the next step


def _happening(chance, desk, cluster, step):
    name, cpu = f"w{chance.randrange(5)}", chance.choice((1, 2, 3))
    what = chance.randrange(10)
    if what == 0:
        return Observe(knowledge.pending(cluster, name, cpu=cpu))
    if what == 1:
        return Observe(knowledge.running(cluster, name, cpu=cpu))
    if what == 2:
        return Observe(knowledge.gone(cluster, "workloads", name, "ns"))
    if what == 3:
        return Observe(knowledge.cluster_queue(cluster, cpu=chance.choice((2, 4, 8))))
    if what == 4:
        return Observe(knowledge.local_queue(cluster, stopPolicy=chance.choice(("None", "Hold"))))
    if what == 5:
        return Release(cluster, "ns", name)
    if what == 6:
        return Observe(knowledge.flavor(cluster, price=chance.choice(("", "1.5"))))
    if what == 7:
        return Observe(knowledge.finished(cluster, name, cpu=cpu))
    if what == 8:
        return Observe(knowledge.report(cluster, *chance.choices((1, 2, 4), k=2)))
    (found,) = ask(desk, cluster, cpu=cpu, name=f"assumed-{step}")
    if not found.admission:
        return Release(cluster, "ns", name)
    return Assume(cluster, "ns", name, request(cluster, name=name, cpu=cpu).workload, found.admission)
