"""Writes what the scheduling cycles decided, Workload by Workload, while the engine goes on.

The engine counts an admission before it is written. Only a definite refusal takes it back (``Forget``); where the
outcome of a write is unknown the object is read again until it tells, so that quota is never given twice.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from worker_agent import log_context
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_QUEUES, WORKLOADS
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.engine_messages import Forget, Message
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import admission_checks, intent_effects, reservation, scheduling_writes
from worker_agent.engine.intents import ApplyStatus, Intent
from worker_agent.engine.plan import Admit, Evict, Plan, Preempt, Requeue, SecondPassFailed, Step
from worker_agent.engine.reservation import Observability
from worker_agent.kube.budget import CLOCK_GRAIN
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import ApiError, Conflict, NotFound, ServerError, TooManyRequests

log = logging.getLogger(__name__)

WORKERS = 16
"""Writes under way at a time."""

LONGEST_REFUSED = 10.0
"""Seconds between two attempts at an admission that the API server refuses time and again."""


NEEDS = (
    need.of(WORKLOADS, "get", unseen=need.LOST_RACE),
    need.of(WORKLOADS, "patch", subresource="status"),
)


@dataclass(frozen=True, slots=True)
class Replaced:
    """The end of a slice whose place a bigger one has taken."""

    message: str


Departure = Preempt | Evict | Replaced


class PlanWriter:
    """Takes plans in the event loop (``take``) and carries them out in ``run``."""

    def __init__(
        self,
        client: Client,
        known: KnownObjects,
        applier: Applier,
        observability: Observability,
        post: Callable[[Message], None],
        clock: Clock,
    ) -> None:
        self._client = client
        self._known = known
        self._applier = applier
        self._observability = observability
        self._post = post
        self._clock = clock
        self._steps: dict[Key, Step] = {}
        self._departures: dict[Key, Departure] = {}
        """Kept apart: the own admission of one that has to leave may still be on its way, and comes first."""
        self._doubtful: set[Key] = set()
        self._refused: dict[Key, tuple[Admit, float]] = {}
        """Admissions that the engine is still to be told to forget, and when: it decides the same again at once."""
        self._refusals: dict[Key, int] = {}
        """How often in a row."""
        self.joined: Callable[[Document], Awaitable[Sequence[ApplyStatus]]] | None = None
        """Asked about each Workload as its admission leaves it: what can be written along with that."""
        self.controller: Controller[Key] = Controller("scheduler", self._write, workers=WORKERS, clock=clock)

    def take(self, plan: Plan) -> None:
        """Of several decisions about one Workload the newest counts; an admission stands until it is written, or one of
        a namesake is to be."""
        for step in plan:
            if isinstance(step, Preempt | Evict):
                self._departures[step.key] = step
            elif not _stands(self._steps.get(step.key), step):
                self._steps[step.key] = step
            self.controller.enqueue(step.key)

    async def run(self) -> None:
        await self.controller.run()

    @property
    def idle(self) -> bool:
        return not (self._steps or self._departures or self._refused) and self.controller.idle

    async def _write(self, key: Key) -> float | None:
        log_context.about(key)
        async with self._known.turns.turn([(WORKLOADS, key)]):
            await self._write_in_turn(self._steps.pop(key, None))
            await self._depart(key, self._departures.pop(key, None))
        return self._forget_refused(key)

    async def _write_in_turn(self, step: Step | None) -> None:
        if isinstance(step, Admit):
            await self._admit(step)
        elif isinstance(step, Requeue):
            await self._requeue(step)
        elif isinstance(step, SecondPassFailed):
            workload = self._known.document(WORKLOADS, step.key)
            if workload is not None:
                await self._applier.apply_in_turn(scheduling_writes.second_pass_failed(workload, step))

    async def _admit(self, step: Admit) -> None:
        try:
            if step.key in self._doubtful:
                self._known.note(WORKLOADS, await self._client.get(WORKLOADS, step.key.name, step.key.namespace))
            await self._try_admit(step)
        except (ConnectionError, ServerError, TooManyRequests, Conflict) as error:
            # Written or not, or changed meanwhile: look at the object itself before the next attempt.
            log.debug("admission of %s: %s; looking again", step.key, error)
            self._doubtful.add(step.key)
            self._steps[step.key] = step
            raise
        except NotFound:
            self._refusals.pop(step.key, None)
            self._forget(step)
        except ApiError as error:
            log.warning("admission of %s refused: %s", step.key, error)
            self._give_up(step)
        except BaseException:
            self._steps[step.key] = step
            raise
        else:
            self._doubtful.discard(step.key)
            self._refusals.pop(step.key, None)

    async def _try_admit(self, step: Admit) -> None:
        workload = self._admissible(step)
        if workload is None:
            return
        intents = self._admission(workload, step)
        along = await self._along(workload, intents) if not step.second_pass else ()
        if along:
            asked_of, workload = workload, self._admissible(step)
            if workload is None:
                return
            intents = self._admission(workload, step)
            if _version(workload) == _version(asked_of):
                intents += along
        await self._applier.apply_in_turn(intents)
        if step.replaces is not None:
            self._departures[step.replaces] = Replaced(step.replaced_message)
            self.controller.enqueue(step.replaces)

    def _admissible(self, step: Admit) -> Document | None:
        """The Workload if it still waits for this admission. One that took it is fine; any other is forgotten."""
        workload = self._known.document(WORKLOADS, step.key)
        if workload is None or _is_outdated(workload, step):
            self._forget(step)
            return None
        if _may_be_admitted(workload, step):
            return workload
        if not _holds(workload, step):
            self._forget(step)
        return None

    def _admission(self, workload: Document, step: Admit) -> list[Intent]:
        checks = self._required_checks(step)
        cluster = self._cluster_of(step.replaces) if step.replaces is not None else ""
        now = self._clock.now()
        return scheduling_writes.admit_at_once(workload, step, checks, self._observability, now, cluster)

    async def _along(self, workload: Document, intents: Sequence[Intent]) -> Sequence[ApplyStatus]:
        if self.joined is None:
            return ()
        for intent in intents:
            if isinstance(intent, ApplyStatus):
                workload = intent_effects.status_after(workload, intent, self._clock.now())
        return await self.joined(workload)

    def _cluster_of(self, key: Key) -> str:
        """The worker cluster that MultiKueue found for a Workload, if it did."""
        workload = self._known.document(WORKLOADS, key)
        return str((workload.get("status") or {}).get("clusterName", "")) if workload is not None else ""

    def _give_up(self, step: Admit) -> None:
        """Forget it, later and later: nothing else keeps engine and server from going round and round."""
        earlier = self._refusals.get(step.key, 0)
        self._refusals[step.key] = earlier + 1
        if not earlier:
            self._forget(step)
            return
        pause = min(LONGEST_REFUSED, 0.05 * 2.0 ** min(earlier, 10))
        self._refused[step.key] = (step, self._clock.monotonic() + pause)

    def _forget_refused(self, key: Key) -> float | None:
        """Seconds until that is due."""
        if key not in self._refused:
            return None
        step, due = self._refused[key]
        left = due - self._clock.monotonic()
        if left > CLOCK_GRAIN:
            return left
        del self._refused[key]
        self._forget(step)
        return None

    def _forget(self, step: Admit) -> None:
        self._doubtful.discard(step.key)
        self._departures.pop(step.key, None)
        self._post(Forget(step.key))

    def _required_checks(self, step: Admit) -> frozenset[str]:
        queue = self._known.informer(CLUSTER_QUEUES).get(Key("", step.cluster_queue))
        flavors = {
            flavor
            for assignment in step.admission.get("podSetAssignments") or ()
            for flavor in (assignment.get("flavors") or {}).values()
        }
        return frozenset() if queue is None else admission_checks.required(queue, flavors)

    async def _requeue(self, step: Requeue) -> None:
        workload = self._known.document(WORKLOADS, step.key)
        if workload is None or not scheduling_writes.still_waits(workload):
            return
        intents = scheduling_writes.requeue(workload, step, self._observability, self._clock.now())
        try:
            await self._applier.apply_in_turn(intents)
        except NotFound:
            return
        except BaseException:
            # Tried again on the newest object, unless a newer decision has come.
            self._steps.setdefault(step.key, step)
            raise

    async def _depart(self, key: Key, step: Departure | None) -> None:
        """A workload makes way. The engine waits for that to show, so it is tried until it is written."""
        workload = None if step is None else self._known.document(WORKLOADS, key)
        if step is None or workload is None or not reservation.has_quota(workload) or _is_of_namesake(workload, step):
            return
        try:
            await self._applier.apply_in_turn(self._departure_intents(step, workload))
        except NotFound:
            return
        except BaseException:
            self._departures.setdefault(key, step)
            raise

    def _departure_intents(self, step: Departure, workload: Document) -> list[Intent]:
        now = self._clock.now()
        if isinstance(step, Replaced):
            return scheduling_writes.replaced(workload, step.message, now)
        if isinstance(step, Evict):
            return scheduling_writes.evict(workload, step, now)
        intents = scheduling_writes.preempt(workload, step, now)
        preemptor = self._known.document(WORKLOADS, step.preemptor)
        if intents and preemptor is not None:
            intents.append(scheduling_writes.preemptor_event(preemptor, step))
        return intents


def _version(workload: Document) -> str:
    return str(workload["metadata"].get("resourceVersion", ""))


def _may_be_admitted(workload: Document, step: Admit) -> bool:
    if not step.second_pass:
        return scheduling_writes.still_waits(workload)
    written = (workload.get("status") or {}).get("admission") == step.admission
    return scheduling_writes.may_be_placed(workload) and not written


def _holds(workload: Document, step: Admit) -> bool:
    """Whether our own write has reached the object after all."""
    admission = (workload.get("status") or {}).get("admission") or {}
    if step.second_pass:
        return bool(admission == step.admission)
    return reservation.has_quota(workload) and admission.get("clusterQueue") == step.cluster_queue


def _stands(taken: Step | None, newer: Step) -> bool:
    return isinstance(taken, Admit) and not (isinstance(newer, Admit) and newer.uid != taken.uid)


def _is_of_namesake(workload: Document, step: Admit | Departure) -> bool:
    """Whether the object decided on is gone, and another has its name: on a worker, a Workload's next copy."""
    decided_on = "" if isinstance(step, Replaced) else step.uid
    return bool(decided_on) and (workload.get("metadata") or {}).get("uid", "") != decided_on


def _is_outdated(workload: Document, step: Admit) -> bool:
    """Whether the object, or its spec, is another than the engine looked at: the admission may not suit it."""
    generation = (workload.get("metadata") or {}).get("generation", 0)
    return _is_of_namesake(workload, step) or (bool(step.generation) and generation != step.generation)
