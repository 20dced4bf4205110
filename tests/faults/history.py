"""Runs one script on one world, waits for rest, and asks the model."""

import asyncio
import gc
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.faults import script as scripts
from tests.faults import virtual_loop
from tests.faults.federation import Federation
from tests.faults.manifests import NAMESPACE, submitted
from tests.faults.model import MANAGER
from tests.faults.script import WORKERS, Act, Script, Step
from tests.faults.world import World
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOBS, MULTIKUEUE_CONFIGS, WORKLOADS
from worker_agent.kube.client import PatchType
from worker_agent.kube.errors import ApiError, NotFound

T = TypeVar("T")

COME_UP_SECONDS = 6.0
"""Until a federation that has just been started is at rest."""


@dataclass
class Outcome:
    """What came of a history. ``violations`` is empty when all promises were kept."""

    script: Script
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """Virtual time until rest."""
    completed: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    """What the history held: jobs, workers that ran them, faults, restarts."""

    def __str__(self) -> str:
        return "\n".join([str(self.script), *(f"  VIOLATION {each}" for each in self.violations)])


def attempt(script: Script) -> Outcome:
    """The history of ``script`` on a federation of its own; always the same, with PYTHONHASHSEED fixed."""
    with _collected_at_its_end():
        return virtual_loop.run(after_coming_up(script.calm, lambda world: told(script, world)))


async def after_coming_up(calm: Script, then: Callable[[World], Coroutine[Any, Any, T]]) -> T:
    """What ``then`` makes of a federation that has come up and is at rest."""
    random.seed(0)
    world = World(calm)
    try:
        for program in scripts.PROGRAMS:
            world.start(program)
        await asyncio.sleep(COME_UP_SECONDS)
        world.check_alive()
        return await then(world)
    finally:
        await world.close()


async def told(script: Script, world: Federation) -> Outcome:
    """As ``History.run``; a program that ends by itself is a violation, not an error of the test."""
    try:
        return await History(script, world).run()
    except BaseExceptionGroup as failed:
        return Outcome(script, [f"a program ended: {_innermost(failed)!r}"])
    except Exception as failed:
        return Outcome(script, [f"a program ended: {failed!r}"])


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


def _innermost(error: BaseException) -> BaseException:
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


class History:
    """One run of a script on a federation that is at rest."""

    def __init__(self, script: Script, world: Federation) -> None:
        self.script = script
        self.world = world
        self._submitted: dict[str, Document] = {}
        self._began = world.clock.monotonic()

    async def run(self) -> Outcome:
        world = self.world
        await world.begin(self.script)
        for step in self.script.steps:
            await self._until(step.at)
            await self._act(step)
        await self._until(self.script.faulty_seconds)
        await self._heal()
        wrong = await self._rest()
        done = sum(world.model.completions.values())
        return Outcome(self.script, [*world.model.violations, *wrong], self._now, done, self._counts())

    @property
    def _now(self) -> float:
        return self.world.clock.monotonic() - self._began

    def _counts(self) -> dict[str, int]:
        acts = self.script.acts
        injected = sum(sum(line.faults.injected.values()) for line in self.world.lines.values())
        return {
            "jobs": len(self._submitted),
            "workers": len(set().union(*self.world.model.ran.values())),
            "faults": sum(act in scripts.FAULTS for act in acts),
            "faulty_requests": injected,
            "restarts": sum(act in scripts.RESTARTS for act in acts),
        }

    async def _until(self, at: float) -> None:
        await asyncio.sleep(max(0.0, at - self._now))
        self.world.check_alive()

    async def _heal(self) -> None:
        """Nothing fails any more, and everybody works."""
        world = self.world
        for line in world.lines.values():
            line.heal()
            line.faults.plan.enabled = False
        for program in scripts.PROGRAMS:
            world.start(program)
        if Act.LEAVE in self.script.acts:
            await self._configure(set(WORKERS))

    async def _rest(self) -> list[str]:
        wrong: list[str] = ["never looked"]
        end = self.world.clock.monotonic() + self.world.rest_seconds
        while wrong and self.world.clock.monotonic() < end:
            await asyncio.sleep(self.script.poll_seconds)
            self.world.check_alive()
            wrong = self._wrong()
        return wrong

    def _wrong(self) -> list[str]:
        world = self.world
        jobs = {name: world.stored(MANAGER, "jobs", Key(NAMESPACE, name)) for name in self._submitted}
        wrong = world.model.rest(jobs, {name: world.ours(name) for name in WORKERS})
        return wrong or world.out_of_contact()

    async def _act(self, step: Step) -> None:
        world = self.world
        if step.act is Act.SUBMIT:
            self._submitted[step.subject] = submitted(step.subject, **step.value)
            await world.clients[MANAGER].create(JOBS, self._submitted[step.subject], NAMESPACE)
        elif step.act in (Act.CUT, Act.STALL, Act.HEAL):
            getattr(world.lines[step.subject], step.act.value)()
        elif step.act is Act.SLOW:
            world.lines[step.subject].slow(*step.value)
        elif step.act is Act.KILL:
            await world.kill(step.subject)
        elif step.act is Act.START:
            world.start(step.subject)
        elif step.act is Act.STEAL:
            await world.steal_leadership()
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
            before = set(world.model.deleted)
            world.model.deleted.add(name)
            try:
                await client.delete(JOBS, name, NAMESPACE)
            except NotFound:  # in the very moment in which it is submitted, and before it, or once more
                world.model.deleted = before
                raise
        elif step.act in (Act.DEACTIVATE, Act.ACTIVATE):
            workload = world.workload_of(name)
            if workload is not None and not _finished(workload):
                body = {"spec": {"active": step.act is Act.ACTIVATE}}
                await client.patch(WORKLOADS, workload["metadata"]["name"], NAMESPACE, body, patch_type=PatchType.MERGE)
        elif step.act in (Act.SPOIL_JOB, Act.ABANDON):
            propagation = "Orphan" if step.act is Act.ABANDON else "Background"
            await world.clients[step.value].delete(JOBS, name, NAMESPACE, propagation=propagation)
        elif step.act is Act.SPOIL_COPY:
            workload = world.workload_of(name)
            if workload is not None:
                await world.clients[step.value].delete(WORKLOADS, workload["metadata"]["name"], NAMESPACE)

    async def _configure(self, clusters: set[str]) -> None:
        body = {"spec": {"clusters": sorted(clusters)}}
        await self.world.clients[MANAGER].patch(MULTIKUEUE_CONFIGS, "all", "", body, patch_type=PatchType.MERGE)


def _finished(workload: Document) -> bool:
    return any(c["type"] == "Finished" and c["status"] == "True" for c in value_at(workload, "status.conditions", []))
