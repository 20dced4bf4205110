"""Runs one script on one world, waits for rest, and asks the model."""

import asyncio
import gc
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.faults import script as scripts
from tests.faults import virtual_loop
from tests.faults.model import MANAGER
from tests.faults.script import FAULTY_UNTIL, WORKERS, Act, Script, Step
from tests.faults.world import NAMESPACE, World, submitted
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOBS, MULTIKUEUE_CONFIGS, WORKLOADS
from worker_agent.kube.client import PatchType
from worker_agent.kube.errors import ApiError, NotFound

REST_SECONDS = 600.0
"""How long everything may take to come to rest once nothing fails any more: the longest backoff and then some."""

POLL_SECONDS = 2.0


@dataclass
class Outcome:
    """What came of a history. ``violations`` is empty when all promises were kept."""

    script: Script
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """Virtual time until rest."""
    completed: int = 0

    def __str__(self) -> str:
        return "\n".join([str(self.script), *(f"  VIOLATION {each}" for each in self.violations)])


def run(seed: int) -> Outcome:
    """The history of ``seed``; always the same, with PYTHONHASHSEED fixed."""
    random.seed(seed)
    with _collected_at_its_end():
        return virtual_loop.run(History(scripts.write(seed)).run())


@contextmanager
def _collected_at_its_end() -> Iterator[None]:
    """A world is one heap of cycles that lives as long as its history: looking for garbage in between finds none, and
    takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


def attempt(seed: int) -> Outcome:
    """As ``run``; a program that ends by itself is a violation, not an error of the test."""
    try:
        return run(seed)
    except BaseExceptionGroup as failed:
        return Outcome(scripts.write(seed), [f"a program ended: {_innermost(failed)!r}"])
    except (ConnectionError, virtual_loop.Stuck) as failed:
        return Outcome(scripts.write(seed), [f"a program ended: {failed!r}"])


def _innermost(error: BaseException) -> BaseException:
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


class History:
    """One run of a script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.world = World(script)
        self._submitted: dict[str, Document] = {}

    async def run(self) -> Outcome:
        world = self.world
        try:
            for program in scripts.PROGRAMS:
                world.start(program)
            for step in self.script.steps:
                await self._until(step.at)
                await self._act(step)
            await self._until(FAULTY_UNTIL)
            await self._heal()
            wrong = await self._rest()
        finally:
            await world.close()
        done = sum(world.model.completions.values())
        return Outcome(self.script, [*world.model.violations, *wrong], world.clock.monotonic(), done)

    async def _until(self, at: float) -> None:
        await asyncio.sleep(max(0.0, at - self.world.clock.monotonic()))
        self.world.check_alive()

    async def _heal(self) -> None:
        """Nothing fails any more, and everybody works."""
        world = self.world
        for line in world.lines.values():
            line.heal()
            line.faults.plan.enabled = False
        for program in scripts.PROGRAMS:
            world.start(program)
        await self._configure(set(WORKERS))

    async def _rest(self) -> list[str]:
        wrong: list[str] = ["never looked"]
        end = self.world.clock.monotonic() + REST_SECONDS
        while wrong and self.world.clock.monotonic() < end:
            await asyncio.sleep(POLL_SECONDS)
            self.world.check_alive()
            wrong = self._wrong()
        return wrong

    def _wrong(self) -> list[str]:
        world = self.world
        jobs = {name: world.stored(MANAGER, "jobs", Key(NAMESPACE, name)) for name in self._submitted}
        return world.model.rest(jobs, {name: world.ours(name) for name in WORKERS})

    async def _act(self, step: Step) -> None:
        world = self.world
        if step.act is Act.SUBMIT:
            self._submitted[step.subject] = submitted(step.subject, **step.value)
            await world.clients[MANAGER].create(JOBS, self._submitted[step.subject], NAMESPACE)
        elif step.act in (Act.CUT, Act.STALL, Act.HEAL):
            getattr(world.lines[step.subject], step.act.value)()
        elif step.act is Act.KILL:
            await world.kill(step.subject)
        elif step.act is Act.START:
            world.start(step.subject)
        elif step.act in (Act.LEAVE, Act.RETURN):
            await self._configure(set(WORKERS) - ({step.subject} if step.act is Act.LEAVE else set()))
        else:
            await self._tolerant(step)

    async def _tolerant(self, step: Step) -> None:
        """Wishes that may come too late."""
        try:
            await self._wish(step)
        except (NotFound, ApiError):
            return

    async def _wish(self, step: Step) -> None:
        world, name = self.world, step.subject
        client = world.clients[MANAGER]
        if step.act is Act.DELETE:
            world.model.deleted.add(name)
            await client.delete(JOBS, name, NAMESPACE)
        elif step.act in (Act.DEACTIVATE, Act.ACTIVATE):
            workload = world.workload_of(name)
            if workload is not None and not _finished(workload):
                body = {"spec": {"active": step.act is Act.ACTIVATE}}
                await client.patch(WORKLOADS, workload["metadata"]["name"], NAMESPACE, body, patch_type=PatchType.MERGE)
        elif step.act is Act.SPOIL_JOB:
            await world.clients[step.value].delete(JOBS, name, NAMESPACE)
        elif step.act is Act.SPOIL_COPY:
            workload = world.workload_of(name)
            if workload is not None:
                await world.clients[step.value].delete(WORKLOADS, workload["metadata"]["name"], NAMESPACE)

    async def _configure(self, clusters: set[str]) -> None:
        body = {"spec": {"clusters": sorted(clusters)}}
        await self.world.clients[MANAGER].patch(MULTIKUEUE_CONFIGS, "all", "", body, patch_type=PatchType.MERGE)


def _finished(workload: Document) -> bool:
    return any(c["type"] == "Finished" and c["status"] == "True" for c in value_at(workload, "status.conditions", []))
