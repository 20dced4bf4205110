"""Many histories, each chain of small ones and each large one in a process that is forked from a federation which has
already come up.

Coming up, and tidying up at the end, cost more than a short history, and so does a fork. A federation in memory on
virtual time has no thread, no socket and no file of its own, so that a fork of it goes on as if nothing had happened.
"""

import asyncio
import gc
import logging
import os
import pickle
import selectors
import signal
import struct
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import cache

from tests.faults import history, script, sizes, small, virtual_loop
from tests.faults.history import Outcome
from tests.faults.script import Script
from tests.faults.sizes import Size
from tests.faults.world import World

FORKS_PER_START = 50
UNHEARD = 3
"""Exit code of a history whose outcome nobody waits for any more."""
BROKEN_OFF = 100
"""Exit code of a chain whose first history broke a promise, one more where it was the second, and so on: those after
it need a federation that is whole."""
_LENGTH = struct.Struct("!I")
Chain = tuple[Script, ...]
"""Histories that are played one after another."""


def outcomes(seeds: Iterable[int], processes: int = 1, size: Size = Size.MIXED) -> Generator[Outcome, None, None]:
    """The outcome of each seed, in no particular order, from so many processes at a time. Closing it ends them."""
    compile_what_all_share()
    waiting = list(_batches(seeds, size))
    running: dict[int, _Nursery] = {}
    ready = selectors.DefaultSelector()
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                nursery = _Nursery.start(*waiting.pop(0), others=list(running))
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
def compile_what_all_share() -> None:
    """Definitions, schemas and rules are made by the first federation of a process: by this one, for all its forks."""

    async def nothing(world: World) -> None:
        """It has come up: that was all."""

    for keep in (True, False):
        virtual_loop.run(history.after_coming_up(replace(script.write(0).calm, keep=keep), nothing))
    gc.collect()
    gc.freeze()


def _batches(seeds: Iterable[int], size: Size) -> Generator[tuple[Script, list[Chain], set[int]], None, None]:
    """Chains that begin alike, and which of their seeds are asked for."""
    alike: dict[str, tuple[Script, list[Chain], set[int]]] = {}
    for asked, chain in _chains(seeds, size):
        calm = chain[0].calm
        _, chains, wanted = alike.setdefault(str(calm), (calm, [], set()))
        chains.append(chain)
        wanted |= asked
        if len(chains) == FORKS_PER_START:
            yield alike.pop(str(calm))
    yield from alike.values()


def _chains(seeds: Iterable[int], size: Size) -> Generator[tuple[set[int], Chain], None, None]:
    """Seeds that are played together; a large history alone."""
    together: dict[tuple[int, bool], list[int]] = {}
    for seed in seeds:
        large = sizes.is_large(seed, size)
        together.setdefault((seed if large else seed // small.CHAIN, large), []).append(seed)
    for asked in together.values():
        played = sizes.played_with(max(asked), size)
        yield set(asked), tuple(sizes.write(seed, size) for seed in played)


@dataclass
class _Nursery:
    """The process in which one federation comes up, and has a child for each chain. ``asked``: the outcomes of these
    seeds are wanted."""

    pid: int
    pipe: int
    chains: list[Chain]
    asked: set[int]
    ended: bool = False
    _rest: bytes = b""
    _told: set[int] = field(default_factory=set)

    @classmethod
    def start(cls, calm: Script, chains: list[Chain], asked: set[int], others: Iterable[int]) -> "_Nursery":
        """``others``: the pipes of those that run already. Whoever kept one open would keep their histories going."""
        here, there = os.pipe()
        pid = os.fork()
        if pid:
            os.close(there)
            return cls(pid, here, chains, asked)
        for pipe in (here, *others):
            os.close(pipe)
        _as_child(lambda: _bring_up(calm, chains, there))
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
            if outcome.script.seed in self.asked:
                yield outcome

    def lost(self) -> Generator[Outcome, None, None]:
        """Histories whose process ended without an outcome: a violation too."""
        for lost in (told for chain in self.chains for told in chain):
            if lost.seed in self.asked - self._told:
                yield Outcome(lost, ["the process of the history ended without an outcome"])

    def stop(self) -> None:
        """It ends with the history under way, which has nobody to tell any more."""
        os.close(self.pipe)
        os.waitpid(self.pid, 0)


def _bring_up(calm: Script, chains: list[Chain], pipe: int) -> None:
    # A world is one heap of cycles that lives as long as its process: there is no garbage to look for.
    gc.disable()
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def each(world: World) -> None:
        gc.freeze()
        loop = asyncio.get_running_loop()
        left = list(reversed(chains))
        while left:
            chain = left.pop()
            if pid := os.fork():
                _, status = os.waitpid(pid, 0)  # noqa: ASYNC222 - time stands still here meanwhile
                code = os.waitstatus_to_exitcode(status)
                if code == UNHEARD:
                    return
                if code >= BROKEN_OFF and (rest := chain[code - BROKEN_OFF + 1 :]):
                    left.append(rest)
                continue
            # A loop is remembered together with the process that runs it.
            asyncio._set_running_loop(loop)
            os._exit(await _play(chain, world, pipe))

    virtual_loop.run(history.after_coming_up(calm, each))


async def _play(chain: Chain, world: World, pipe: int) -> int:
    """The exit code of its process."""
    for position, each in enumerate(chain):
        outcome = await history.told(each, world)
        told = pickle.dumps(outcome)
        os.write(pipe, _LENGTH.pack(len(told)) + told)
        if outcome.violations:
            return BROKEN_OFF + position
    return 0


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
