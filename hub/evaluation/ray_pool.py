"""Evaluation by long-lived Ray actors, each holding the views of a share of the clusters. The one file that knows Ray.

Orders (events, assumed room) travel as bytes with an encoding version, requests as one batch per actor and round, so
that an actor may be in another process, on another machine, or an older program that says so instead of guessing. Each
actor is the same ``Desk`` as inline: what it answers does not depend on how clusters are shared out.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Protocol, TypeVar

import msgspec

from hub.engine import evaluation, work_order
from hub.engine.evaluation import Evaluation, Request
from hub.engine.knowledge_event import KnowledgeEvent
from hub.engine.work_order import Desk, Order
from hub.evaluation.replay import Assumptions, Replay
from worker_agent.api.meta import Key
from worker_agent.engine.policy import Policy
from worker_agent.kube.clock import Clock

log = logging.getLogger(__name__)


T = TypeVar("T")


class ActorLost(Exception):
    """An actor is gone; the pool has to be filled anew."""


class Actor(Protocol):
    """One remote desk. ``work`` carries out encoded orders, then answers encoded requests."""

    def work(self, orders: bytes, requests: bytes, now: str) -> Awaitable[bytes]: ...

    def kill(self) -> None: ...


class DeskActor:
    """What runs in the actor's process."""

    def __init__(self, policy: Policy) -> None:
        self._desk = Desk(policy)

    def work(self, orders: bytes, requests: bytes, now: str) -> bytes:
        moment = datetime.fromisoformat(now)
        self._desk.carry_out(work_order.decode(orders), moment)
        return evaluation.encode_answers(self._desk.answer(evaluation.decode_requests(requests), moment))


@dataclass(frozen=True, slots=True)
class RayOptions:
    """``address`` of an existing cluster, empty starts a local one with ``actors`` CPUs."""

    actors: int = 2
    address: str = ""


_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # A busy machine needs longer than the 15 s after which Ray gives itself up.
    "RAY_agent_register_timeout_ms": "120000",
}


ATTEMPTS: Final = 3
UNTOLD_SECONDS: Final = 30.0
"""A cluster that grows needs its time for new nodes; one that cannot is told of so often."""
NOTHING: Final = (work_order.encode([]), evaluation.encode_requests([]))

_ray_thread: Final = ThreadPoolExecutor(1, thread_name_prefix="ray")
"""Ray's processes end with the thread that started them (the kernel's parent-death signal): this one outlives loops."""


async def _in_ray_thread(call: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(_ray_thread, call, *arguments)


def start_actors(policy: Policy, options: RayOptions) -> list[Actor]:
    """Connect to Ray or start it (seconds, and hundreds of megabytes), and make the actors. Blocking."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import ray  # noqa: PLC0415 - costs seconds, and only who evaluates on Ray needs it

    for attempt in range(1, ATTEMPTS + 1):
        if ray.is_initialized():
            break
        try:
            _initialise(ray, options)
        except Exception as error:
            # Ray allows its node 30 s, which a busy machine may need to load its modules for the first time.
            ray.shutdown()
            if attempt == ATTEMPTS:
                raise
            log.warning("Ray did not start, trying again: %s", error)
    remote = ray.remote(num_cpus=1)(DeskActor)
    return [_RayActor(remote.remote(policy)) for _ in range(options.actors)]


def _initialise(ray: Any, options: RayOptions) -> None:
    if options.address:
        ray.init(address=options.address, log_to_driver=False, configure_logging=False)
    else:
        # "local": without it Ray would join, and end with, whatever Ray somebody else started on this machine.
        ray.init(
            address="local",
            num_cpus=options.actors,
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
        )


def stop_ray() -> None:
    """End the local Ray, or the connection to another one. Blocking."""
    import ray  # noqa: PLC0415

    if ray.is_initialized():
        ray.shutdown()


class _RayActor:
    """The handle in our process."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    async def work(self, orders: bytes, requests: bytes, now: str) -> bytes:
        import ray  # noqa: PLC0415

        try:
            answer: bytes = await self._handle.work.remote(orders, requests, now)
        except ray.exceptions.RayActorError as error:
            raise ActorLost(str(error)) from error
        return answer

    def kill(self) -> None:
        import ray  # noqa: PLC0415

        ray.kill(self._handle)


class RayPool:
    """Shards clusters over actors. Nothing is kept here of what the actors know: whoever holds the objects tells them
    again through ``replay``, at the start and after an actor was lost.
    """

    batch_size = 64

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        replay: Replay,
        options: RayOptions | None = None,
        assumed: Assumptions | None = None,
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._options = options or RayOptions()
        self._actors: list[Actor] = []
        self._orders: dict[int, list[Order]] = {}
        self._replay = replay
        self._assumed = assumed if assumed is not None else Assumptions(clock)
        self._busy = asyncio.Lock()

    @property
    def started(self) -> bool:
        return bool(self._actors)

    async def start(self) -> None:
        """Bring up the actors and tell them all that is known. Returns when Ray has found room for all of them, which
        on a cluster that grows with what is asked of it is when its new nodes are there."""
        actors = await _in_ray_thread(start_actors, self._policy, self._options)
        await self._placed(actors)
        self._actors = actors
        self._orders = {}
        self._replay(lambda event: self._queue(work_order.Observe(event)))
        for order in self._assumed:
            self._queue(order)

    def observe(self, event: KnowledgeEvent) -> None:
        self._take(work_order.Observe(event))

    def assume(self, cluster: str, request: Request, admission: bytes) -> None:
        self._take(work_order.Assume(cluster, request.namespace, request.name, request.workload, admission))

    def release(self, cluster: str, key: Key) -> None:
        self._take(work_order.Release(cluster, key.namespace, key.name))

    async def evaluate(self, requests: Sequence[Request]) -> list[list[Evaluation]]:
        async with self._busy:
            if not self._actors:
                await self.start()
            try:
                return await self._ask(requests)
            except ActorLost as error:
                log.warning("an evaluation actor was lost, starting anew: %s", error)
                await self._restart()
                return await self._ask(requests)

    def kill(self, shard: int) -> None:
        """End one actor's process, as a crash would; the next question brings up new ones."""
        self._actors[shard].kill()

    async def close(self) -> None:
        if self._actors:
            self._actors = []
            await _in_ray_thread(stop_ray)

    async def _placed(self, actors: Sequence[Actor]) -> None:
        now = self._clock.now().isoformat()
        waiting = {asyncio.ensure_future(actor.work(*NOTHING, now)) for actor in actors}
        try:
            while waiting:
                up, waiting = await asyncio.wait(waiting, timeout=UNTOLD_SECONDS)
                for each in up:
                    await each
                if waiting:
                    log.warning(
                        "Ray has no room yet for %d of %d evaluation actors of one CPU each; "
                        "give the cluster more CPUs, or set federation.ray.actors lower",
                        len(waiting),
                        len(actors),
                    )
        finally:
            for each in waiting:
                each.cancel()

    async def _restart(self) -> None:
        actors, self._actors = self._actors, []
        for actor in actors:
            actor.kill()
        await self.start()

    def _take(self, order: Order) -> None:
        self._assumed.note(order)
        if self._actors:
            self._queue(order)

    def _queue(self, order: Order) -> None:
        cluster = order.event.cluster if isinstance(order, work_order.Observe) else order.cluster
        self._orders.setdefault(self._shard(cluster), []).append(order)

    def _shard(self, cluster: str) -> int:
        return shard_of(cluster, len(self._actors))

    async def _ask(self, requests: Sequence[Request]) -> list[list[Evaluation]]:
        """One batch per actor: its orders, and each request narrowed to the clusters it holds."""
        now = self._clock.now().isoformat()
        parts = await asyncio.gather(*(self._ask_one(shard, requests, now) for shard in range(len(self._actors))))
        answers: list[dict[str, Evaluation]] = [{} for _ in requests]
        for part in parts:
            for index, found in part:
                answers[index].update({each.cluster: each for each in found})
        return [[answers[index][name] for name in request.clusters] for index, request in enumerate(requests)]

    async def _ask_one(self, shard: int, requests: Sequence[Request], now: str) -> list[tuple[int, list[Evaluation]]]:
        narrowed = [
            (index, mine)
            for index, request in enumerate(requests)
            if (mine := tuple(name for name in request.clusters if self._shard(name) == shard))
        ]
        orders = self._orders.pop(shard, [])
        if not narrowed and not orders:
            return []
        batch = [_narrowed(requests[index], mine) for index, mine in narrowed]
        encoded = await self._actors[shard].work(work_order.encode(orders), evaluation.encode_requests(batch), now)
        answers = evaluation.decode_answers(encoded)
        return [(index, answer) for (index, _), answer in zip(narrowed, answers, strict=True)]


def shard_of(cluster: str, shards: int) -> int:
    """The actor that holds a cluster: the same in every run, and spread evenly."""
    return int.from_bytes(sha256(cluster.encode()).digest()[:8], "big") % shards


def _narrowed(request: Request, clusters: tuple[str, ...]) -> Request:
    return msgspec.structs.replace(request, clusters=clusters)
