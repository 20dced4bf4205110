"""Runs one script on one world, waits for rest, and compares it with what the users last asked for."""

import asyncio
import gc
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from tests.faults import virtual_loop
from tests.faults.model import is_true
from tests.races import rest
from tests.races import script as scripts
from tests.races.script import BUSY_UNTIL, Act, Script, Step
from tests.races.subjects import GROUP, NAMESPACE, QUEUE_POINTER, SUBJECTS, value_at, with_value
from tests.races.wishes import Wish
from tests.races.world import CLUSTER_QUEUE, World
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.resource_type import CLUSTER_QUEUES, PODS, WORKLOADS
from worker_agent.kube.client import PatchType
from worker_agent.kube.errors import AlreadyExists, ApiError, Conflict, NotFound

REST_SECONDS: Final = 900.0
POLL_SECONDS: Final = 2.0
STILL_SECONDS: Final = 12.0
"""At rest is what is right and has not changed for so long: right for a moment may be wrong a moment later."""
RETRY_SECONDS: Final = 0.4
NAME_FREE_SECONDS: Final = 300.0


@dataclass
class Outcome:
    script: Script
    violations: dict[str, list[str]] = field(default_factory=dict)
    """By subject; what cannot be told of one stands under ``cluster``."""
    seconds: float = 0.0

    def __str__(self) -> str:
        told = [f"  VIOLATION {who}: {what}" for who, each in self.violations.items() for what in each]
        return "\n".join([str(self.script), *told])


def run(seed: int, labels: Sequence[str] = ()) -> Outcome:
    """The race of ``seed``; always the same, with PYTHONHASHSEED fixed."""
    random.seed(seed)
    with _collected_at_its_end():
        return virtual_loop.run(Race(scripts.write(seed, labels)).run())


def attempt(seed: int, labels: Sequence[str] = ()) -> Outcome:
    """As ``run``; a program that ends by itself is a violation, not an error of the test."""
    try:
        return run(seed, labels)
    except BaseExceptionGroup as failed:
        told = f"a program ended: {_innermost(failed)!r}"
    except (ConnectionError, virtual_loop.Stuck) as failed:
        told = f"a program ended: {failed!r}"
    return Outcome(scripts.write(seed, labels), {"cluster": [told]})


def _innermost(error: BaseException) -> BaseException:
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


@contextmanager
def _collected_at_its_end() -> Iterator[None]:
    """A world is one heap of cycles that lives as long as its race."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


class Race:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.world = World(script.seed)
        self._wishes = {label: Wish(SUBJECTS[label]) for label in script.subjects}

    async def run(self) -> Outcome:
        world = self.world
        try:
            await world.start()
            began = world.clock.monotonic()
            async with asyncio.TaskGroup() as users:
                for who in sorted({step.subject for step in self.script.steps}):
                    users.create_task(self._user(who, began))
            wrong = await self._rest(rest.wrong)
            if not wrong:
                await self._delete_all()
                wrong = await self._rest(rest.left)
        finally:
            await world.close()
        if world.model.violations:
            wrong.setdefault("cluster", []).extend(world.model.violations)
        return Outcome(self.script, wrong, world.clock.monotonic())

    async def _user(self, who: str, began: float) -> None:
        """One user does one thing after the other, as soon after its time as they can."""
        clock = self.world.clock
        for step in self.script.steps:
            if step.subject != who:
                continue
            await clock.sleep(max(0.0, began + step.at - clock.monotonic()))
            self.world.check_alive()
            await (self._drain(step.value) if step.act is Act.DRAIN else self._act(self._wishes[who], step))
        await clock.sleep(max(0.0, began + BUSY_UNTIL - clock.monotonic()))

    async def _rest(self, judge: Any) -> dict[str, list[str]]:
        clock = self.world.clock
        wrong: dict[str, list[str]] = {"cluster": ["never looked"]}
        end, right_since = clock.monotonic() + REST_SECONDS, None
        while clock.monotonic() < end:
            await clock.sleep(POLL_SECONDS)
            self.world.check_alive()
            wrong = judge(self.world, self._wishes)
            if wrong:
                right_since = None
                continue
            right_since = clock.monotonic() if right_since is None else right_since
            if clock.monotonic() - right_since >= STILL_SECONDS:
                return {}
        return wrong

    # What users do

    async def _act(self, wish: Wish, step: Step) -> None:
        subject = wish.subject
        match step.act:
            case Act.CREATE:
                await self._create(wish, step.value)
            case Act.DELETE:
                await self._delete(wish, step.value)
            case Act.RECREATE:
                await self._delete(wish, "Background")
                await self._create(wish, step.value)
            case Act.SCALE:
                await self._change(wish, subject.scale, step.value)
            case Act.EDIT:
                await self._change(wish, subject.image, step.value)
            case Act.MOVE:
                await self._change(wish, QUEUE_POINTER, step.value)
            case Act.DELETE_WORKLOAD:
                await self._delete_workloads(wish)
            case Act.DELETE_PODS | Act.DELETE_POD:
                await self._delete_pods(wish, one=step.act is Act.DELETE_POD)

    async def _create(self, wish: Wish, run_seconds: int) -> None:
        """Tried until the name is free, as a user does who makes something anew."""
        client = self.world.client
        documents = wish.subject.documents(run_seconds)
        wish.made(documents)
        end = self.world.clock.monotonic() + NAME_FREE_SECONDS
        for document in documents:
            while True:
                if self.world.clock.monotonic() > end:
                    told = (
                        f"the name {document['metadata']['name']} is not free {NAME_FREE_SECONDS:g} s after a deletion"
                    )
                    self.world.model.violations.append(told)
                    return
                try:
                    made = await client.create(wish.subject.kind.resource, document, NAMESPACE, field_manager="user")
                except AlreadyExists:
                    await self.world.clock.sleep(RETRY_SECONDS)
                    continue
                wish.exists(msgspec.json.decode(made))
                break

    async def _delete(self, wish: Wish, propagation: str) -> None:
        wish.gone()
        for name in wish.names:
            try:
                await self.world.client.delete(wish.subject.kind.resource, name, NAMESPACE, propagation=propagation)
            except NotFound:
                continue
        if wish.subject.label == GROUP:
            await self._end_group(wish)

    async def _end_group(self, wish: Wish) -> None:
        """Deleted pods of an unfinished group are kept for their replacements (spec/jobs 9.10, and Kueue's pages on
        plain pods): whoever wants none deletes the Workload, until the pods are gone."""
        end = self.world.clock.monotonic() + NAME_FREE_SECONDS
        while kept := [name for name in wish.names if self.world.one(PODS, name) is not None]:
            if self.world.clock.monotonic() > end:
                told = f"{', '.join(kept)} stay {NAME_FREE_SECONDS:g} s after they and their Workload were deleted"
                self.world.model.violations.append(told)
                return
            for workload in rest.workloads_of(self.world, wish):
                await self._remove(WORKLOADS, workload)
            await self.world.clock.sleep(RETRY_SECONDS)

    async def _change(self, wish: Wish, pointer: str, value: Any) -> None:
        """One field of the object as it is now; refusals are told to the user, and nothing is asked for then."""
        subject = wish.subject
        for name in wish.names[:1] if wish.wanted else ():
            while True:
                found = self.world.one(subject.kind.resource, name)
                if found is None or found["metadata"].get("deletionTimestamp"):
                    return
                if subject.size_kept and pointer == subject.scale and value and not value_at(found, pointer):
                    # Its kept Workload keeps its count, and pods of another number do not match it (spec/jobs 9.12).
                    value = value_at(subject.documents(0)[0], pointer)
                changed = with_value(found, pointer, value)
                try:
                    await self.world.client.update(subject.kind.resource, changed, NAMESPACE, field_manager="user")
                except NotFound:
                    return
                except Conflict:
                    await self.world.clock.sleep(0.01)
                    continue
                except ApiError:
                    return  # refused
                wish.asked[pointer] = value
                return

    async def _delete_workloads(self, wish: Wish) -> None:
        for workload in rest.workloads_of(self.world, wish):
            if wish.subject.of_pods and not is_true(workload, names.FINISHED):
                wish.gone()  # its pods go with it, and nobody makes them again; those that have ended stay
            await self._remove(WORKLOADS, workload)

    async def _delete_pods(self, wish: Wish, *, one: bool) -> None:
        pods = rest.pods_of(self.world, wish)
        wish.hurt = wish.hurt or bool(pods)
        if wish.subject.of_pods:
            await self._delete(wish, "Background")
            return
        for pod in pods[:1] if one else pods:
            await self._remove(PODS, pod)

    async def _remove(self, resource: Any, document: Document) -> None:
        metadata = document["metadata"]
        try:
            await self.world.client.delete(resource, metadata["name"], NAMESPACE, uid=metadata["uid"])
        except (NotFound, Conflict):
            return

    async def _drain(self, seconds: float) -> None:
        for wish in self._wishes.values():
            wish.evicted = True
        for policy in ("HoldAndDrain", "None"):
            body = {"spec": {"stopPolicy": policy}}
            await self.world.client.patch(CLUSTER_QUEUES, CLUSTER_QUEUE, "", body, patch_type=PatchType.MERGE)
            await self.world.clock.sleep(seconds)
        for wish in self._wishes.values():
            wish.evicted = True

    async def _delete_all(self) -> None:
        for wish in self._wishes.values():
            await self._delete(wish, "Background")
