"""The addresses that a hub's name stands for: of a headless Service those of all replicas. A dial meets one of them."""

import socket
from collections.abc import Callable

from aiohttp.abc import ResolveResult
from aiohttp.resolver import ThreadedResolver


class InAnyOrder(ThreadedResolver):
    """Resolvers sort what they find, so that whoever takes the first address never comes to another."""

    def __init__(self, chance: Callable[[], float]) -> None:
        super().__init__()
        self._chance = chance

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        return sorted(found, key=lambda each: self._chance())
