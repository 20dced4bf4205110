"""What an agent may start and must stop of a hub's work."""

import pytest

from worker_agent.api import names
from worker_agent.engine import fencing
from worker_agent.engine.fencing import HubLease, Reading


def lease(term=5, *, seen_at=100.0, renewed="r1"):
    return HubLease("multikueue", term, duration=40.0, seen_at=seen_at, record=("hub-0", renewed, term))


def sent(term="5", *, stop=False):
    annotations = {names.DISPATCH_TERM_ANNOTATION: term} if term else {}
    if stop:
        annotations[names.ON_CONTACT_LOST_ANNOTATION] = "Stop"
    return {"metadata": {"labels": {names.MULTIKUEUE_ORIGIN_LABEL: "multikueue"}, "annotations": annotations}}


def copy(*conditions, stop=True, active=True):
    found = sent(stop=stop)
    found["metadata"] |= {"name": "wl", "namespace": "ns"}
    stands = [{"type": type_, "status": "True", "reason": "ByTest"} for type_ in conditions]
    return {**found, "spec": {"active": active}, "status": {"conditions": stands}}


def test_a_job_of_the_current_term_may_start():
    assert fencing.why_not_start(sent(), lease(), 110) == ""


def test_a_job_of_an_earlier_leader_is_not_started():
    assert "term 4" in fencing.why_not_start(sent("4"), lease(), 110)


def test_a_job_of_a_term_that_the_lease_does_not_know_yet_waits():
    assert fencing.why_not_start(sent("6"), lease(), 110)


def test_a_job_sent_under_a_lease_that_is_gone_is_not_started():
    assert "no lease" in fencing.why_not_start(sent(), None, 110)


@pytest.mark.parametrize("job", [{"metadata": {}}, sent("")], ids=["of this cluster", "of Kueue's own manager"])
def test_jobs_without_a_term_start_without_a_lease(job):
    assert fencing.why_not_start(job, None, 110) == ""


def test_after_the_lease_has_lapsed_only_what_stays_put_may_start():
    assert fencing.why_not_start(sent(stop=True), lease(), 140)
    assert fencing.why_not_start(sent(stop=True), lease(), 139.9) == ""
    assert fencing.why_not_start(sent(), lease(), 1000) == ""


def test_a_lapsed_lease_stops_the_copies_that_hold_quota():
    (stop,) = fencing.stops([copy(names.QUOTA_RESERVED)], lease(), 140)
    (condition,) = stop.conditions
    assert (condition.type, condition.reason) == (names.DEACTIVATION_TARGET, names.HUB_CONTACT_LOST)


@pytest.mark.parametrize(
    "found",
    [
        copy(),
        copy(names.QUOTA_RESERVED, active=False),
        copy(names.QUOTA_RESERVED, names.FINISHED),
        copy(names.QUOTA_RESERVED, names.DEACTIVATION_TARGET),
    ],
    ids=["waits", "inactive", "finished", "told before"],
)
def test_nothing_is_stopped_that_does_not_run(found):
    assert list(fencing.stops([found], lease(), 140)) == []


def test_nothing_is_stopped_while_the_lease_lives():
    assert list(fencing.stops([copy(names.QUOTA_RESERVED)], lease(), 139)) == []


def test_a_reading_without_a_renewal_counts_from_the_first_sight_of_it():
    assert lease(seen_at=130).after(lease(seen_at=100)).seen_at == 100
    assert lease(seen_at=130, renewed="r2").after(lease(seen_at=100)).seen_at == 130


def test_every_origin_has_a_lease_of_its_own():
    found = {fencing.lease_name(origin) for origin in ("team-a", "Team-A", "team_a", "team.a")}
    assert len(found) == 4
    assert all(name == name.lower() and "_" not in name for name in found)


def test_a_renewal_counts_from_the_first_moment_at_which_it_was_seen():
    assert lease(seen_at=130).after(lease(seen_at=110)).seen_at == 110
    assert lease(seen_at=110).after(lease(seen_at=130)).seen_at == 110
    assert lease(seen_at=130, renewed="r2").after(lease(seen_at=110)).seen_at == 130


SINCE = 200.0


@pytest.mark.parametrize(
    ("last", "shown", "due"),
    [
        (None, None, SINCE),
        (None, lease(seen_at=199), SINCE + fencing.DEFAULT_POLL_SECONDS),
        (None, lease(seen_at=162), 202),
        (None, lease(seen_at=100), 140),
        (Reading(190, lease(seen_at=190)), lease(seen_at=199, renewed="r2"), SINCE + fencing.DEFAULT_POLL_SECONDS),
        (Reading(203, lease(seen_at=199)), lease(seen_at=199), 203 + fencing.DEFAULT_POLL_SECONDS),
        (Reading(203, lease(seen_at=164)), lease(seen_at=202, renewed="r2"), 204),
        (Reading(203, lease(seen_at=160)), lease(seen_at=160), 200),
    ],
    ids=[
        "nothing is known of the hub",
        "it was in contact: within one poll",
        "it lapses before that unless renewed",
        "it seems lost: overdue",
        "a reading from before there was anything to stop",
        "one poll after any reading since",
        "when what was read lapses, whatever a watch shows",
        "it had lapsed when it was read: overdue",
    ],
)
def test_a_lease_is_read_within_a_poll_and_when_it_may_lapse(last, shown, due):
    known = fencing.known_lease(SINCE, last, shown, [])
    assert fencing.read_by(SINCE, last.asked_at if last else None, known, shown) == due


def holding(seconds=None):
    found = copy(names.QUOTA_RESERVED)
    if seconds is not None:
        found["metadata"]["annotations"][names.LEASE_SECONDS_ANNOTATION] = seconds
    return found


@pytest.mark.parametrize(
    ("found", "shown", "copies", "lapses_at"),
    [
        (Reading(203, lease(seen_at=203)), lease(seen_at=206, renewed="r2"), [holding("9")], 243),
        (Reading(190, lease(seen_at=190)), lease(seen_at=199, renewed="r2"), [holding("9")], 239),
        (Reading(190, lease(seen_at=190)), lease(seen_at=150, renewed="r0"), [holding("9")], 230),
        (Reading(190, lease(seen_at=190)), None, [holding("9")], 230),
        (None, lease(seen_at=199), [holding("9")], 239),
        (None, None, [holding("12"), holding("9")], SINCE + 9),
        (None, None, [holding()], SINCE + fencing.DEFAULT_LEASE_SECONDS),
        (None, None, [holding("soon")], SINCE + fencing.DEFAULT_LEASE_SECONDS),
        (None, None, [], SINCE + fencing.DEFAULT_LEASE_SECONDS),
    ],
    ids=[
        "as it was read last",
        "a watch showed a renewal since",
        "a watch that lags",
        "read before there was anything to stop",
        "never read",
        "never seen: the shortest that the copies tell of",
        "never seen, sent by an earlier version",
        "never seen, and nothing to be read from the copy",
        "nothing to stop",
    ],
)
def test_a_lease_that_is_gone_counts_on(found, shown, copies, lapses_at):
    assert fencing.known_lease(SINCE, found, shown, copies).lapses_at == lapses_at
