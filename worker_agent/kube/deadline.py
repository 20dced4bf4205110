"""A bound on how long something may take that costs nothing where it does not wait at all."""

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` comes to; TimeoutError where it waits for longer than ``seconds``.

    A timer is set only once it waits: what a server in the same process answers at once needs none, and to set and to
    take back a timer costs as much as to carry the request there.
    """
    try:
        waits_for = work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    async with asyncio.timeout(seconds):
        return await _rest(work, waits_for)


@types.coroutine
def _rest(work: Coroutine[Any, Any, T], waits_for: object) -> Generator[Any, Any, T]:
    """Goes on with work that has begun and waits already."""
    while True:
        thrown: BaseException | None = None
        try:
            yield waits_for
        except BaseException as error:
            thrown = error
        try:
            waits_for = work.send(None) if thrown is None else work.throw(thrown)
        except StopIteration as done:
            result: T = done.value
            return result
