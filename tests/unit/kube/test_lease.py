"""Leader election: one at a time, terms that grow, no trust in anybody's wall clock."""

import asyncio
from typing import Any

import pytest

from tests.unit.kube.fake_server import FakeServer, clock, until
from worker_agent.kube.client import Client
from worker_agent.kube.faults import FaultPlan, FaultyTransport
from worker_agent.kube.lease import LeaderElection, LeaseTiming

pytestmark = pytest.mark.looptime


class Candidate:
    """Leads until told otherwise; remembers when it began and ended."""

    def __init__(self, server: FakeServer, name: str) -> None:
        self.transport = FaultyTransport(server, clock(), FaultPlan())
        self.election = LeaderElection(Client(self.transport, clock()), "lease", "ns", name, clock())
        self.working = False
        self.spans: list[list[float]] = []
        self.task = asyncio.create_task(self.election.run(self.work))

    async def work(self) -> None:
        self.working = True
        self.spans.append([now(), float("inf")])
        try:
            await asyncio.Event().wait()
        finally:
            self.spans[-1][1] = now()
            self.working = False

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def now() -> float:
    return asyncio.get_running_loop().time()


def spec(server: FakeServer) -> dict[str, Any]:
    return server.objects["ns/lease"]["spec"]


async def test_the_first_leads_and_the_second_waits():
    server = FakeServer()
    first, second = Candidate(server, "one"), Candidate(server, "two")
    await asyncio.sleep(120)
    assert (first.working, second.working) == (True, False)
    assert spec(server)["holderIdentity"] == "one"
    await first.stop()
    await second.stop()


async def test_released_on_shutdown_and_taken_at_once():
    server = FakeServer()
    first = Candidate(server, "one")
    await until(lambda: first.working)
    second = Candidate(server, "two")
    await asyncio.sleep(5)
    stopped = now()
    await first.stop()
    await until(lambda: second.working)
    assert now() - stopped < 3
    assert second.election.term == first.election.term + 1
    await second.stop()
    assert spec(server)["holderIdentity"] == ""


async def test_a_silent_leader_stops_before_another_begins():
    server = FakeServer()
    first, second = Candidate(server, "one"), Candidate(server, "two")
    await until(lambda: first.working)
    first.transport.down = True
    await until(lambda: second.working)
    assert first.spans[0][1] < second.spans[0][0]
    assert not first.election.is_leader
    first.transport.down = False
    await asyncio.sleep(60)
    assert (first.working, second.working) == (False, True)
    await first.stop()
    await second.stop()


async def test_times_in_the_record_are_not_believed():
    server = FakeServer()
    server.put(
        "lease",
        spec={
            "holderIdentity": "ghost",
            "leaseDurationSeconds": 15,
            "renewTime": "1999-01-01T00:00:00.000000Z",
            "leaseTransitions": 4,
        },
    )
    candidate = Candidate(server, "one")
    await until(lambda: candidate.working)
    assert 15 <= now() < 19
    assert candidate.election.term == 5
    await candidate.stop()


async def test_a_restart_under_the_same_name_begins_a_new_term():
    server = FakeServer()
    first = Candidate(server, "one")
    await until(lambda: first.working)
    first.transport.down = True
    await first.stop()
    again = Candidate(server, "one")
    await until(lambda: again.working)
    assert again.election.term == first.election.term + 1
    await again.stop()


async def test_a_restart_under_the_same_name_waits_until_its_former_lease_lapses():
    server = FakeServer()
    first = Candidate(server, "one")
    await until(lambda: first.working)
    first.transport.down = True
    await first.stop()
    again, begun = Candidate(server, "one"), now()
    await until(lambda: again.working)
    assert 15 <= now() - begun < 19
    await again.stop()


async def test_a_process_that_was_paused_notices_that_another_of_its_name_took_the_lease():
    server = FakeServer()
    older = Candidate(server, "one")
    await until(lambda: older.working)
    taken = spec(server)
    # What another life of the same name writes that started when the lease had lapsed, as the older one's clock stood
    # still meanwhile, like that of a machine that was suspended.
    again = taken | {"acquireTime": "2030-01-01T00:00:00.000000Z", "leaseTransitions": taken["leaseTransitions"] + 1}
    server.put("lease", spec=again)
    await until(lambda: not older.working, 5)
    assert spec(server) == again
    await older.stop()
    assert spec(server) == again


async def test_another_of_its_name_in_the_same_term_is_told_apart_by_when_it_took_the_lease():
    server = FakeServer()
    older = Candidate(server, "one")
    await until(lambda: older.working)
    server.remove("lease")
    another = {"holderIdentity": "one", "leaseDurationSeconds": 15, "leaseTransitions": 0}
    another["acquireTime"] = "2030-01-01T00:00:00.000000Z"
    server.put("lease", spec=another)
    await until(lambda: not older.working, 5)
    assert spec(server) == another
    await older.stop()


async def test_a_lease_that_another_took_and_gave_back_is_not_ours_any_more():
    server = FakeServer()
    older = Candidate(server, "one")
    await until(lambda: older.working)
    taken = spec(server)
    server.put("lease", spec=taken | {"holderIdentity": "", "leaseTransitions": taken["leaseTransitions"] + 1})
    await until(lambda: len(older.spans) == 2, 30)
    assert older.election.term == taken["leaseTransitions"] + 2
    await older.stop()


async def test_who_waits_for_a_lease_that_is_deleted_waits_until_it_lapses():
    server = FakeServer()
    first = Candidate(server, "one")
    await until(lambda: first.working)
    second = Candidate(server, "two")
    await asyncio.sleep(10)
    first.transport.down = True
    server.remove("lease")
    await until(lambda: second.working)
    assert first.spans[0][1] < second.spans[0][0]
    await first.stop()
    await second.stop()


async def test_a_deleted_lease_does_not_set_the_term_back_for_who_has_seen_it():
    server = FakeServer()
    record = {"holderIdentity": "ghost", "leaseDurationSeconds": 15, "leaseTransitions": 4}
    server.put("lease", spec=record)
    candidate = Candidate(server, "one")
    await asyncio.sleep(5)
    server.remove("lease")
    await until(lambda: candidate.working)
    assert (candidate.election.term, spec(server)["leaseTransitions"]) == (5, 5)
    await candidate.stop()


async def test_losing_the_lease_to_another_stops_the_work():
    server = FakeServer()
    first = Candidate(server, "one")
    await until(lambda: first.working)
    server.put("lease", spec=spec(server) | {"holderIdentity": "usurper"})
    await until(lambda: not first.working)
    assert now() < 5
    await first.stop()


def asked(server: FakeServer) -> list[str]:
    return [request.method for request in server.requests]


async def test_a_leader_renews_what_it_wrote_without_reading_it():
    server = FakeServer()
    first = Candidate(server, "one")
    await until(lambda: first.working)
    await asyncio.sleep(10)
    server.requests.clear()
    await asyncio.sleep(10)
    assert asked(server) == ["PUT"] * 5
    await first.stop()


async def test_a_lease_that_somebody_else_wrote_or_deleted_is_read_and_renewed_in_the_same_try():
    server = FakeServer()
    first = Candidate(server, "one")
    await until(lambda: first.working)
    await asyncio.sleep(10)
    for change in (lambda: server.put("lease", spec=spec(server)), lambda: server.remove("lease")):
        change()
        server.requests.clear()
        await asyncio.sleep(2)
        assert asked(server) in (["PUT", "GET", "PUT"], ["PUT", "GET", "POST"])
    assert (first.working, first.election.term, spec(server)["leaseTransitions"]) == (True, 0, 0)
    await first.stop()


async def test_after_an_answer_that_was_lost_the_lease_is_read():
    server = FakeServer()
    first = Candidate(server, "one")
    await until(lambda: first.working)
    await asyncio.sleep(10)
    first.transport.down = True
    await asyncio.sleep(2)
    first.transport.down = False
    server.requests.clear()
    await asyncio.sleep(2)
    assert asked(server) == ["GET", "PUT"]
    await first.stop()


async def test_work_that_ends_ends_the_election_and_releases():
    server = FakeServer()

    async def work() -> None:
        await asyncio.sleep(1)

    await LeaderElection(server.client(), "lease", "ns", "one", clock()).run(work)
    assert spec(server)["holderIdentity"] == ""


async def test_work_that_fails_raises():
    server = FakeServer()

    async def work() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await LeaderElection(server.client(), "lease", "ns", "one", clock()).run(work)


def test_timing_must_make_sense():
    with pytest.raises(ValueError, match="retryPeriod < renewDeadline < leaseDuration, not 2, 15, 15"):
        LeaseTiming(duration=15, renew_deadline=15)


async def test_both_know_who_leads_and_that_nobody_does():
    server = FakeServer()
    first = Candidate(server, "one")
    await until(lambda: first.working)
    second = Candidate(server, "two")
    await until(lambda: second.election.leader == "one")
    assert first.election.leader == "one"
    await asyncio.sleep(5)
    first.transport.down = True
    await until(lambda: not first.election.is_leader)
    assert first.election.leader == ""
    await until(lambda: second.election.leader != "one")
    await until(lambda: second.election.leader == "two")
    assert first.election.leader == ""
    await first.stop()
    await second.stop()
    assert second.election.leader == ""
