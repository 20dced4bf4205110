"""A name with several addresses leads to each of them."""

import asyncio
import random
import socket

from worker_agent.tunnel.hub_addresses import InAnyOrder

ADDRESSES = ("192.0.2.1", "192.0.2.2", "192.0.2.3")


async def test_each_address_comes_first_at_some_time(monkeypatch):
    async def sorted_as_ever(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ADDRESSES]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", sorted_as_ever)
    resolver = InAnyOrder(random.Random(1).random)
    firsts = {(await resolver.resolve("hub.example", 8444))[0]["host"] for _ in range(30)}
    assert firsts == set(ADDRESSES)
