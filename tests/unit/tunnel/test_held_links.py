"""Links by replica: when they stand, when they end, and how one takes the place of another."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import msgspec
import pytest

from tests.unit.kube.fake_server import clock, until
from tests.unit.tunnel.pipes import MemoryPipe, pair
from worker_agent.kube.transport import Request, Response
from worker_agent.tunnel.held_links import HANDOVER_SECONDS, MOST_REPLICAS, HeldLinks
from worker_agent.tunnel.identity import Identity
from worker_agent.tunnel.link import Link, Surroundings
from worker_agent.tunnel.pace import Stand
from worker_agent.tunnel.protocol import Purpose, Replica

pytestmark = pytest.mark.looptime

FIRST = Identity("east", ("https://hub:8444",), b"authority", b"key", b"first certificate")
SECOND = replace(FIRST, certificate=b"second certificate")


class NoServer:
    async def request(self, request: Request) -> Response:
        raise ConnectionError("not asked here")

    async def close(self) -> None: ...


class Agent:
    """Its links, the other ends of their connections, how long those lived that ended by themselves, and what was
    closed with them."""

    def __init__(self) -> None:
        self.lives: list[float] = []
        self.closed: list[str] = []
        # Nobody answers the heartbeats here.
        surroundings = Surroundings(NoServer(), clock(), "uid", heartbeat=1e6)
        self.links = HeldLinks(surroundings, self.lives.append)

    def dials(self, replica: str, leader: str = "a", identity: Identity = FIRST) -> MemoryPipe | None:
        """One more connection to that replica: its other end; None where none is missing."""
        link = self.links.to(Replica(replica, leader), "https://hub:8444", identity)
        if link is None:
            return None
        with link.promised() as purpose:
            assert purpose is not None
            there, here = pair()
            stack = AsyncExitStack()
            stack.callback(self.closed.append, f"{replica} {purpose}")
            link.add(purpose, here, stack)
        self.links.added(link)
        return there

    def stand(self, identity: Identity = FIRST) -> Stand:
        return self.links.stand(identity)


async def until_closed(end: MemoryPipe) -> None:
    try:
        while True:
            await end.receive()
    except ConnectionError:
        return


async def test_a_link_stands_when_both_connections_do():
    agent = Agent()
    agent.dials("a")
    assert (agent.links.replicas, agent.stand()) == ([], Stand.SEARCHING)
    agent.dials("a")
    assert (agent.links.replicas, agent.stand()) == (["a"], Stand.SETTLED)
    assert agent.dials("a") is None
    await agent.links.close()
    assert (agent.links.replicas, agent.lives) == ([], [])


@pytest.mark.parametrize("turns", range(8))
async def test_nothing_stays_open_where_closing_was_interrupted(turns):
    """An agent that leaves its hub, and is stopped before its links are closed."""
    agent = Agent()
    for replica in ("a", "a", "b", "b", "c"):
        agent.dials(replica)
    closing = asyncio.create_task(agent.links.close())
    for _ in range(turns):
        await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await agent.links.close()
    made = {f"{replica} {purpose}" for replica in "abc" for purpose in Purpose} - {f"c {Purpose.COLLECTIONS}"}
    assert sorted(agent.closed) == sorted(made)


@pytest.mark.parametrize("first_ends", [True, False])
async def test_a_link_ends_with_either_of_its_connections(first_ends):
    agent = Agent()
    ends = [agent.dials("a"), agent.dials("a")]
    await asyncio.sleep(40)
    await ends[0 if first_ends else 1].close()
    await until(lambda: agent.lives)
    assert (agent.links.replicas, agent.stand(), round(agent.lives[0])) == ([], Stand.SEARCHING, 40)
    await agent.links.close()


async def test_the_leader_is_the_one_that_was_named_last():
    agent = Agent()
    for replica in ("a", "a", "b", "b"):
        agent.dials(replica)
    stands = []
    for leader in ("b", "", "c"):
        agent.dials("a", leader)
        stands.append(agent.stand())
    assert stands == [Stand.SETTLED, Stand.LEADERLESS, Stand.SEARCHING]
    await agent.links.close()


async def test_a_link_of_another_certificate_is_replaced_and_left_to_complete_its_work():
    agent = Agent()
    old = [agent.dials("a"), agent.dials("a")]
    assert agent.stand(SECOND) is Stand.RENEWING
    agent.dials("a", identity=SECOND)
    agent.dials("a", identity=SECOND)
    assert (agent.links.replicas, agent.stand(SECOND)) == (["a"], Stand.SETTLED)
    began = asyncio.get_running_loop().time()
    await until_closed(old[0])
    assert round(asyncio.get_running_loop().time() - began) == HANDOVER_SECONDS
    assert agent.lives == []
    await agent.links.close()


async def test_an_old_link_to_a_replica_that_is_not_met_any_more_is_no_reason_for_haste():
    agent = Agent()
    for replica in ("a", "a", "b", "b"):
        agent.dials(replica)
    for _ in range(2):
        agent.dials("a", identity=SECOND)
    assert (sorted(agent.links.replicas), agent.stand(SECOND)) == (["a", "b"], Stand.RENEWING)
    await agent.links.close()


async def test_an_old_link_does_not_stand_in_for_the_one_to_the_leader():
    agent = Agent()
    for replica in ("b", "b"):
        agent.dials(replica)
    assert agent.stand(SECOND) is Stand.SEARCHING
    await agent.links.close()


async def test_what_an_address_led_to_goes_with_it():
    agent = Agent()
    for replica in ("a", "a", "b"):
        agent.dials(replica)
    begun = agent.links.to(Replica("b", "a"), "https://other:8444", FIRST)
    assert begun is not None
    await agent.links.give_up("https://hub:8444")
    assert (agent.links.replicas, begun.over, agent.lives) == ([], True, [])
    assert agent.dials("b") is not None
    await agent.links.close()


async def test_a_hub_that_names_another_replica_each_time_gets_no_link_to_all_of_them():
    agent = Agent()
    for number in range(2 * MOST_REPLICAS):
        agent.dials(f"r{number}")
    again = [agent.dials(f"r{number}") is not None for number in range(2 * MOST_REPLICAS)]
    assert again == [True] * MOST_REPLICAS + [False] * MOST_REPLICAS
    await agent.links.close()


@pytest.mark.parametrize("name", [r"a\r\nfedhub-cluster-uid: b", r"\u0000", "a" * 513])
def test_a_name_that_fits_into_no_header_is_not_taken(name):
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(f'{{"name": "{name}"}}', type=Replica)


async def test_two_dials_at_a_time_make_different_connections():
    link = Link("a", "https://hub:8444", FIRST, Surroundings(NoServer(), clock(), "uid"))
    with link.promised() as first, link.promised() as second, link.promised() as third:
        assert {first, second} == set(Purpose)
        assert third is None
    with link.promised() as again:
        assert again is first
