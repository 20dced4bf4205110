"""Many histories, each in a process of its own that is forked from a federation which has already come up.

Coming up, and tidying up at the end, cost as much as a short history. A federation in memory on virtual time has no
thread, no socket and no file of its own, so that a fork of it goes on as if nothing had happened.
"""

import asyncio
import gc
import logging
import os
import pickle
import selectors
import signal
import struct
from collections.abc import Callable, Coroutine, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tests.faults import history, script, virtual_loop
from tests.faults.history import Outcome
from tests.faults.script import Script
from tests.faults.world import World

HISTORIES_PER_START = 50
UNHEARD = 3
"""Exit code of a history whose outcome nobody waits for any more."""
_LENGTH = struct.Struct("!I")


def outcomes(seeds: Iterable[int], processes: int = 1) -> Generator[Outcome, None, None]:
    """The outcome of each seed, in no particular order, from so many processes at a time. Closing it ends them."""
    _compile_what_all_share()
    waiting = list(_batches(seeds))
    running: dict[int, _Nursery] = {}
    ready = selectors.DefaultSelector()
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                nursery = _Nursery.start(*waiting.pop(0))
                running[nursery.pipe] = nursery
                ready.register(nursery.pipe, selectors.EVENT_READ)
            for found, _ in ready.select():
                nursery = running[found.fd]
                yield from nursery.read()
                if nursery.ended:
                    ready.unregister(found.fd)
                    yield from running.pop(found.fd).lost()
    finally:
        ready.close()
        for nursery in running.values():
            nursery.stop()


@cache
def _compile_what_all_share() -> None:
    """Definitions, schemas and rules are made by the first federation of a process: by this one, for all its forks."""

    async def nothing(world: World) -> None:
        """It has come up: that was all."""

    for keep in (True, False):
        virtual_loop.run(history.after_coming_up(replace(script.write(0).calm, keep=keep), nothing))
    gc.collect()
    gc.freeze()


def _batches(seeds: Iterable[int]) -> Generator[tuple[Script, list[int]], None, None]:
    """Seeds whose histories begin alike."""
    alike: dict[str, tuple[Script, list[int]]] = {}
    for seed in seeds:
        calm = script.write(seed).calm
        batch = alike.setdefault(str(calm), (calm, []))[1]
        batch.append(seed)
        if len(batch) == HISTORIES_PER_START:
            yield alike.pop(str(calm))
    yield from alike.values()


@dataclass
class _Nursery:
    """The process in which one federation comes up, and has a child for each of ``seeds``."""

    pid: int
    pipe: int
    seeds: list[int]
    ended: bool = False
    _rest: bytes = b""
    _told: set[int] = field(default_factory=set)

    @classmethod
    def start(cls, calm: Script, seeds: list[int]) -> "_Nursery":
        here, there = os.pipe()
        pid = os.fork()
        if pid:
            os.close(there)
            return cls(pid, here, seeds)
        os.close(here)
        _as_child(lambda: _bring_up(calm, seeds, there))
        raise AssertionError("a child never comes here")

    def read(self) -> Generator[Outcome, None, None]:
        piece = os.read(self.pipe, 1 << 16)
        if not piece:
            self.ended = True
            self.stop()
        self._rest += piece
        while len(self._rest) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._rest)[0]
            if len(self._rest) < end:
                return
            outcome: Outcome = pickle.loads(self._rest[_LENGTH.size : end])
            self._rest = self._rest[end:]
            self._told.add(outcome.script.seed)
            yield outcome

    def lost(self) -> Generator[Outcome, None, None]:
        """Histories whose process ended without an outcome: a violation too."""
        for seed in self.seeds:
            if seed not in self._told:
                yield Outcome(script.write(seed), ["the process of the history ended without an outcome"])

    def stop(self) -> None:
        """It ends with the history under way, which has nobody to tell any more."""
        os.close(self.pipe)
        os.waitpid(self.pid, 0)


def _bring_up(calm: Script, seeds: list[int], pipe: int) -> None:
    # A world is one heap of cycles that lives as long as its process: there is no garbage to look for.
    gc.disable()
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def each(world: World) -> None:
        gc.freeze()
        loop = asyncio.get_running_loop()
        for seed in seeds:
            if pid := os.fork():
                _, status = os.waitpid(pid, 0)  # noqa: ASYNC222 - time stands still here meanwhile
                if os.waitstatus_to_exitcode(status) == UNHEARD:
                    return
                continue
            # A loop is remembered together with the process that runs it.
            asyncio._set_running_loop(loop)
            await _tell(history.told(script.write(seed), world), pipe)
            os._exit(0)

    virtual_loop.run(history.after_coming_up(calm, each))


async def _tell(work: Coroutine[Any, Any, Outcome], pipe: int) -> None:
    told = pickle.dumps(await work)
    os.write(pipe, _LENGTH.pack(len(told)) + told)


def _as_child(work: Callable[[], None]) -> None:
    """Never returns: what the parent had on its stack is the parent's."""
    try:
        work()
    except BrokenPipeError:
        os._exit(UNHEARD)
    except BaseException:
        logging.disable(logging.NOTSET)
        logging.exception("a federation did not come up")
        os._exit(1)
    os._exit(0)
