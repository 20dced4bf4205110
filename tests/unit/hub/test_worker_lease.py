"""The hub's lease on a worker: renewed unread, read again whenever somebody else may have written."""

import asyncio

import pytest

from hub.clusters.worker_lease import HubIdentity, Superseded, WorkerLease
from hub.engine.fencing import FenceTiming
from tests.unit.kube.fake_server import FakeServer, answer, status
from worker_agent.engine import fencing

pytestmark = pytest.mark.looptime
NAME = fencing.lease_name("origin")
RENEWAL = FenceTiming().renewal


class Leader:
    """A hub whose term is ``term``; a higher one on a worker is a later leader's."""

    def __init__(self, server, term=1, holder="one"):
        self.term = term
        self.raised = []
        identity = HubIdentity("origin", holder, "ns", FenceTiming(), lambda: self.term, self._raise_above)
        self.lease = WorkerLease(server.client(), identity, "w1")

    async def _raise_above(self, term):
        self.raised.append(term)
        raise Superseded(f"term {term}")


async def renewing(server, times=1, **leader):
    """A leader that has taken the lease and renewed it so often; the server has forgotten what it was asked."""
    found = Leader(server, **leader)
    await found.lease.take()
    task = asyncio.create_task(found.lease.keep())
    await asyncio.sleep(times * RENEWAL + 1)
    server.requests.clear()
    return found, task


async def ended(task):
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def asked(server):
    return [request.method for request in server.requests]


def spec(server):
    return server.objects[f"ns/{NAME}"]["spec"]


async def test_it_is_renewed_without_being_read():
    server = FakeServer()
    leader, task = await renewing(server)
    before = spec(server)["renewTime"]
    await asyncio.sleep(3 * RENEWAL)
    assert asked(server) == ["PUT", "PUT", "PUT"]
    assert spec(server)["renewTime"] > before
    assert leader.lease.held
    await ended(task)


async def test_what_somebody_else_wrote_is_read_and_kept_by_the_same_renewal():
    server = FakeServer()
    _, task = await renewing(server)
    server.put(NAME, spec=spec(server) | {"strategy": "theirs"})
    before = spec(server)["renewTime"]
    await asyncio.sleep(RENEWAL)
    assert asked(server) == ["PUT", "GET", "PUT"]
    assert spec(server)["strategy"] == "theirs"
    assert spec(server)["renewTime"] > before
    await ended(task)


async def test_a_later_leader_is_not_overwritten():
    server = FakeServer()
    earlier, task = await renewing(server)
    later = Leader(server, term=2, holder="two")
    await later.lease.take()
    taken = spec(server)
    await asyncio.sleep(RENEWAL)
    with pytest.raises(Superseded):
        await task
    assert earlier.raised == [2]
    assert spec(server) == taken


async def test_a_lease_that_was_deleted_is_made_anew_by_the_same_renewal():
    server = FakeServer()
    leader, task = await renewing(server)
    server.remove(NAME)
    await asyncio.sleep(RENEWAL)
    assert asked(server) == ["PUT", "GET", "POST"]
    assert (leader.lease.held, spec(server)["leaseTransitions"]) == (True, 1)
    await ended(task)


async def test_after_a_failure_it_is_read_as_the_answer_to_a_write_may_have_been_lost():
    server = FakeServer()
    _, task = await renewing(server)
    server.intercept = lambda request: answer(500, status(500, "InternalError"))
    await asyncio.sleep(RENEWAL)
    server.intercept = lambda request: None
    server.requests.clear()
    await asyncio.sleep(RENEWAL)
    assert asked(server) == ["GET", "PUT"]
    await ended(task)


async def test_a_write_whose_answer_was_lost_counts_as_a_renewal_only_when_it_is_confirmed():
    server = FakeServer()
    leader, task = await renewing(server)

    def lose(request):
        """The server has it, the hub does not hear of it."""
        server.intercept = lambda request: None
        server.put(NAME, spec=spec(server) | {"renewTime": "2026-01-01T01:00:00.000000Z"})
        server.intercept = lose
        return answer(500, status(500, "InternalError"))

    server.intercept = lose
    await asyncio.sleep(FenceTiming().lease.total_seconds() + 1)
    assert not leader.lease.held
    server.intercept = lambda request: None
    await asyncio.sleep(RENEWAL)
    assert leader.lease.held
    await ended(task)


async def test_a_new_term_of_this_leader_is_written_into_what_it_wrote_last():
    server = FakeServer()
    leader, task = await renewing(server)
    leader.term = 3
    await asyncio.sleep(RENEWAL)
    assert asked(server) == ["PUT"]
    assert (spec(server)["leaseTransitions"], leader.lease.term) == (3, 3)
    await ended(task)


async def test_a_new_connection_reads_it():
    server = FakeServer()
    _, task = await renewing(server)
    await ended(task)
    server.put(NAME, spec=spec(server) | {"holderIdentity": "two", "leaseTransitions": 2})
    with pytest.raises(Superseded):
        await Leader(server).lease.take()
    assert asked(server) == ["GET"]
