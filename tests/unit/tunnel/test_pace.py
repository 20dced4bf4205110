"""How often an agent dials, and how soon it holds a link to the leader when a Service picks replicas by chance."""

import random
import statistics
from itertools import pairwise

import pytest

from worker_agent.tunnel.pace import (
    FORGIVEN_SECONDS,
    LEADERLESS_SECONDS,
    SEARCHING_DIALS,
    SETTLED_SECONDS,
    STEADY_SECONDS,
    TROUBLED_SECONDS,
    Dialled,
    Pace,
    Stand,
)


def pauses(outcome: Dialled, stand: Stand, count: int = 60) -> list[float]:
    """After each of so many dials in a row that came out so, without chance."""
    pace, now, found = Pace(), 1000.0, []
    for _ in range(count):
        pace.dialled(outcome, now)
        found.append(pace.pause(stand, 0.5, now))
        now += found[-1]
    return found


@pytest.mark.parametrize(
    ("outcome", "stand", "longest"),
    [
        (Dialled.KNOWN, Stand.SEARCHING, LEADERLESS_SECONDS),
        (Dialled.KNOWN, Stand.LEADERLESS, LEADERLESS_SECONDS),
        (Dialled.KNOWN, Stand.SETTLED, SETTLED_SECONDS),
        (Dialled.KNOWN, Stand.RENEWING, SETTLED_SECONDS),
        (Dialled.FAILED, Stand.SEARCHING, TROUBLED_SECONDS),
        (Dialled.FAILED, Stand.SETTLED, TROUBLED_SECONDS),
    ],
)
def test_pauses_grow_to_what_the_case_allows(outcome, stand, longest):
    found = pauses(outcome, stand)
    assert all(before <= after for before, after in pairwise(found))
    assert found[-1] == longest


def test_who_renews_dials_as_quickly_as_who_searches_and_gives_that_up_after_a_while():
    renewing, searching = pauses(Dialled.KNOWN, Stand.RENEWING), pauses(Dialled.KNOWN, Stand.SEARCHING)
    assert renewing[:SEARCHING_DIALS] == searching[:SEARCHING_DIALS]
    assert set(renewing[SEARCHING_DIALS:]) == {SETTLED_SECONDS}


def test_a_connection_that_was_missing_is_followed_by_the_next_dial_at_once():
    assert pauses(Dialled.LINKED, Stand.SEARCHING, 3) == [0.0] * 3


def test_a_link_that_lasted_is_dialled_anew_soon_and_one_that_did_not_later_each_time():
    steady, hasty = Pace(), Pace()
    for turn in range(8):
        steady.link_ended(STEADY_SECONDS, 1000.0 + turn)
        hasty.link_ended(1.0, 1000.0 + turn)
    assert steady.pause(Stand.SEARCHING, 0.5, 1008.0) == 0.25
    assert hasty.pause(Stand.SEARCHING, 0.5, 1008.0) == TROUBLED_SECONDS


def test_old_trouble_is_forgotten():
    pace = Pace()
    for _ in range(8):
        pace.dialled(Dialled.FAILED, 1000.0)
    assert pace.pause(Stand.SEARCHING, 0.5, 1000.0 + FORGIVEN_SECONDS) == 0.0


def course(replicas: int, seed: int) -> tuple[float, float, int]:
    """Seconds until the leader is linked and until all are, and the dials of ten minutes; one takes 0.05 s.

    Each replica needs two connections; the leader is the first one."""
    chance, pace, now = random.Random(seed), Pace(), 0.0
    connections, leader, everyone, dials = [0] * replicas, 0.0, 0.0, 0
    while now < 600.0:
        now, dials = now + 0.05, dials + 1
        met = chance.randrange(replicas)
        pace.dialled(Dialled.KNOWN if connections[met] == 2 else Dialled.LINKED, now)
        connections[met] = min(2, connections[met] + 1)
        leader = leader or (now if connections[0] == 2 else 0.0)
        everyone = everyone or (now if min(connections) == 2 else 0.0)
        stand = Stand.SETTLED if connections[0] == 2 else Stand.SEARCHING
        now += pace.pause(stand, chance.random(), now)
    return leader, everyone, dials


@pytest.mark.parametrize("replicas", [1, 2, 3, 5])
def test_the_leader_is_found_in_seconds_and_few_dials(replicas):
    found = [course(replicas, seed) for seed in range(1000)]
    leader, everyone, dials = (sorted(column) for column in zip(*found, strict=True))
    print(
        f"{replicas} replicas: leader median {leader[500]:.2f} s, p99 {leader[990]:.1f} s;"
        f" all median {everyone[500]:.2f} s, p99 {everyone[990]:.0f} s; dials in 600 s {statistics.mean(dials):.0f}"
    )
    assert leader[990] < 15
    assert everyone[500] < 15
    assert dials[-1] < 100
