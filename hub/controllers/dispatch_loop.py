"""Nominates a cluster for every Workload that waits for one (DESIGN sections 7 and 8, path B).

Ideal: one workload after the other, each on knowledge in which the room of those before it is taken. Batches save round
trips to evaluators elsewhere: what a batch said of a cluster is asked again once room was taken there, so the outcome
is that of the ideal.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from hub.controllers.dispatch_turn import Turn, TurnMaker
from hub.controllers.hub_applier import Failure, HubApplier
from hub.controllers.preflight import MISSING_SECONDS, Preflight
from hub.engine import dispatch, needs
from hub.engine.dispatch import Decision, Round
from hub.engine.evaluation import Evaluation, Outlook, Request
from hub.evaluation.evaluator import Evaluator
from hub.metrics import HubMetrics
from worker_agent import log_context
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import WORKLOADS
from worker_agent.engine.intents import ADMISSION_MANAGER, ApplyStatus, SetCondition
from worker_agent.kube.clock import Clock

log = logging.getLogger(__name__)

UNCONFIRMED_SECONDS: Final = 10.0
"""A nomination that went along with the Workload's admission shows by then, or was not written."""

TICK_SECONDS: Final = 1.0
"""How often workloads that wait are looked at again, at the latest, while something changes on the workers."""

SHORTEST_PACE: Final = 0.2
PACE_PER_PASS: Final = 20.0
"""They are looked at sooner, down to the shortest pace, where a look costs at most a twentieth of the time."""

WRITES_AT_A_TIME: Final = 32


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """``round_timeout``: how long a nominated cluster may take before the next is tried.

    ``batch_period``: seconds for which workloads are collected.
    """

    round_timeout: timedelta = timedelta(minutes=5)
    batch_period: float = 0.02


@dataclass(slots=True)
class _Case:
    """What is remembered of one workload while it waits."""

    round: Round
    held_since: datetime | None = None
    assumed_on: frozenset[str] = frozenset()
    outlook: int = int(Outlook.UNKNOWN)
    written: tuple[str, ...] = ()
    """The grounds of the decision that was written last."""
    lacking: bool = False
    """Something its pods need is missing on a worker: no watch tells when it comes."""
    tried_at: float = field(default=float("-inf"))
    confirmed_by: float | None = None
    """Until then the admission that its nomination went along with may be on its way."""


class DispatchLoop:
    """``look_at`` and ``learned`` wake it; everything else it does in its own time."""

    def __init__(
        self,
        turns: TurnMaker,
        evaluator: Evaluator,
        applier: HubApplier,
        settings: DispatchSettings,
        metrics: HubMetrics,
        clock: Clock,
    ) -> None:
        self._turns = turns
        self._evaluator = evaluator
        self._applier = applier
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._preflight: Preflight | None = None
        self._fresh: set[Key] = set()
        self._cases: dict[Key, _Case] = {}
        self._news_at = float("-inf")
        self._asked_at = float("-inf")
        """When the evaluator was asked last."""
        self._pace = SHORTEST_PACE
        self._alarm: asyncio.TimerHandle | None = None
        self._all_due = False
        self._wake = asyncio.Event()
        self._runs = False
        self._deciding = asyncio.Lock()
        """Held from an answer until the room that was chosen by it is taken."""

    def use(self, preflight: Preflight) -> None:
        """Ask ``preflight`` about the clusters of every turn."""
        self._preflight = preflight

    def look_at(self, key: Key) -> None:
        """The Workload, its copy or its check changed."""
        self._fresh.add(key)
        self._wake.set()

    def learned(self, cluster: str) -> None:
        """Something is known of ``cluster`` that was not known before."""
        self._news_at = self._clock.monotonic()
        if self._cases and self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(self._pace, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._wake.set()

    def reconsider(self) -> None:
        """Work may go elsewhere than before: an administrator changed the federation, or a policy."""
        self._all_due = True
        self._wake.set()

    def given_up(self, key: Key, cluster: str) -> None:
        """The worker deactivates its copy: a no, also when the next copy there looks as if nothing had been."""
        case = self._cases.get(key)
        if case is not None and cluster not in case.round.refused:
            log.info("workload %s: %s gives its copy up", key, cluster)
            self._release(key, case)
            case.round = replace(case.round, refused=case.round.refused | {cluster})
            case.outlook = int(Outlook.UNKNOWN)
            self.look_at(key)

    def contact_changed(self, cluster: str) -> None:
        """A worker was reached or lost: every workload that waits is looked at again."""
        self._fresh.update(self._cases)
        self._wake.set()

    async def run(self) -> None:
        """Dispatch until cancelled."""
        self._runs = True
        try:
            while True:
                await self._turn_of_the_loop()
        finally:
            self._runs = False

    async def _turn_of_the_loop(self) -> None:
        try:
            async with asyncio.timeout(TICK_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()
        await self._clock.sleep(self._settings.batch_period)
        began = self._clock.monotonic()
        try:
            await self._pass()
            self._pace = min(TICK_SECONDS, max(SHORTEST_PACE, PACE_PER_PASS * (self._clock.monotonic() - began)))
        except Exception:
            # One workload that cannot be evaluated must not end dispatch for all others.
            log.exception("a round of dispatch failed; the next one comes in %g s", TICK_SECONDS)
            self._fresh.update(self._cases)
            await self._clock.sleep(TICK_SECONDS)

    async def _pass(self) -> None:
        keys = self._due()
        turns = [turn for key in keys if (turn := self._turn(key)) is not None]
        if not turns:
            await self._carry_out_orders()
            return
        if self._preflight is not None:
            turns = await self._preflight.checked(turns)
        await self._dispatch(self._turns.in_order(turns))

    async def _carry_out_orders(self) -> None:
        """They pile up while nobody asks; each question carries out those before it."""
        if self._clock.monotonic() - self._asked_at >= SHORTEST_PACE:
            self._asked_at = self._clock.monotonic()
            await self._evaluator.evaluate([])

    def _due(self) -> set[Key]:
        fresh, self._fresh = self._fresh, set()
        all_due, self._all_due = self._all_due, False
        if all_due:
            fresh.update(self._turns.undecided())
        now, instant = self._clock.now(), self._clock.monotonic()
        for key, case in self._cases.items():
            waited = instant - case.tried_at
            over = now - case.round.started >= self._settings.round_timeout or _is_lost(case, instant)
            news = self._news_at >= case.tried_at
            hopes = (news and case.outlook != Outlook.FITS) or (case.lacking and waited >= MISSING_SECONDS)
            if waited >= self._pace and (over or hopes):
                fresh.add(key)
        return fresh

    def _turn(self, key: Key) -> Turn | None:
        """The workload's turn, if it wants one; what is remembered of others goes."""
        log_context.about(key)
        turn = self._turns.make(key)
        case = self._cases.get(key)
        if turn is None:
            if case is None or not self._is_coming(key, case):
                self._drop(key)
            return None
        now = self._clock.now()
        if case is not None:
            case.confirmed_by = None
        else:
            case = self._cases[key] = _Case(Round(turn.round_started or now))
        said_no = {cluster: why for cluster, why in turn.refusals.items() if cluster not in case.round.refused}
        if said_no:
            log.info(
                "workload %s: said no: %s", key, "; ".join(f"{cluster}: {why}" for cluster, why in said_no.items())
            )
            self._release(key, case)
            case.round = replace(case.round, refused=case.round.refused | said_no.keys())
        elif now - case.round.started >= self._settings.round_timeout:
            case.round = Round(now)
        elif turn.current in turn.asked.open and case.outlook == Outlook.FITS:
            return None
        return replace(turn, refused=case.round.refused, held_since=case.held_since)

    def _is_coming(self, key: Key, case: _Case) -> bool:
        """Whether the admission that its nomination goes along with is still to show."""
        if case.confirmed_by is None or _is_lost(case, self._clock.monotonic()):
            return False
        return not self._turns.cluster_of(key)

    async def _dispatch(self, turns: Sequence[Turn]) -> None:
        size = max(1, self._evaluator.batch_size)
        writing: set[asyncio.Task[None]] = set()
        for start in range(0, len(turns), size):
            batch = turns[start : start + size]
            async with self._deciding:
                decided = await self._decided(batch)
            writing.update(asyncio.create_task(self._write(turn, decision)) for turn, decision in decided)
            if len(writing) >= WRITES_AT_A_TIME:
                await asyncio.gather(*writing)
                writing.clear()
        await asyncio.gather(*writing)

    async def _decided(self, batch: Sequence[Turn]) -> list[tuple[Turn, Decision]]:
        asked_at = self._clock.monotonic()
        answers = await self._evaluated([turn.request for turn in batch])
        taken: set[str] = set()
        decided = []
        for turn, answer in zip(batch, answers, strict=True):
            decision = self._decide(turn, await self._refreshed(turn, answer, taken), asked_at)
            taken |= self._take(turn, decision)
            decided.append((turn, decision))
        return decided

    async def judged(self, requests: Sequence[Request]) -> list[list[Evaluation]]:
        """What the clusters say to others than those whose turn it is."""
        async with self._deciding:
            return await self._evaluated(requests)

    async def _evaluated(self, requests: Sequence[Request]) -> list[list[Evaluation]]:
        began = self._asked_at = self._clock.monotonic()
        answers = await self._evaluator.evaluate(requests)
        self._metrics.evaluated(type(self._evaluator).__name__, self._clock.monotonic() - began)
        return answers

    async def joined(self, workload: Document) -> Sequence[ApplyStatus]:
        """The nomination of a Workload that is being admitted, to be written along with that: most need no other.

        None where somebody waits for room already, who may come first, where a worker has to be asked for something,
        and where it does not fit right away: those take their turn.
        """
        waiting = any(case.outlook != Outlook.FITS for case in self._cases.values())
        if not self._runs or waiting:
            return ()
        turn = self._turns.of(workload)
        if turn is None or turn.nominated or turn.needs or turn.key in self._cases:
            return ()
        async with self._deciding:
            asked_at = self._clock.monotonic()
            (answer,) = await self._evaluated([turn.request])
            if turn.key in self._cases:
                return ()
            case = self._cases[turn.key] = _Case(Round(self._clock.now()))
            decision = self._decide(turn, answer, asked_at)
            if case.outlook != Outlook.FITS:
                del self._cases[turn.key]
                return ()
            self._take(turn, decision)
        self._metrics.decided(decision.reason)
        case.written = decision.grounds
        case.confirmed_by = self._clock.monotonic() + UNCONFIRMED_SECONDS
        log.info("workload %s: nominated with its admission: %s", turn.key, decision.message)
        return (_nomination(turn, decision),)

    async def _refreshed(self, turn: Turn, answer: list[Evaluation], taken: set[str]) -> list[Evaluation]:
        """The answer with the clusters asked again on which room was taken after it was given."""
        stale = tuple(name for name in turn.request.clusters if name in taken)
        if not stale:
            return answer
        (again,) = await self._evaluator.evaluate([_narrowed(turn, stale)])
        newer = {evaluation.cluster: evaluation for evaluation in again}
        return [newer.get(evaluation.cluster, evaluation) for evaluation in answer]

    def _decide(self, turn: Turn, answer: list[Evaluation], asked_at: float) -> Decision:
        """``asked_at``: what is learned from then on may not be in the answer."""
        now = self._clock.now()
        case = self._cases[turn.key]
        decision = dispatch.decide(turn.candidates(answer), turn.policy, now, self._settings.round_timeout)
        case.tried_at = asked_at
        case.outlook = decision.chosen[0].outlook if decision.chosen else int(Outlook.UNKNOWN)
        case.held_since = (case.held_since or now) if decision.reason == dispatch.HELD else None
        case.lacking = any(evaluation.reason == needs.MISSING_OBJECTS for evaluation in turn.asked.closed)
        return decision

    def _take(self, turn: Turn, decision: Decision) -> set[str]:
        """Count the room of the chosen clusters as taken; returns the clusters whose room changed."""
        case = self._cases[turn.key]
        fits = {e.cluster: e for e in decision.chosen if e.admission and e.outlook == Outlook.FITS}
        kept = case.assumed_on.intersection(decision.clusters)
        gone, new = case.assumed_on - kept, fits.keys() - kept
        for cluster in gone:
            self._evaluator.release(cluster, turn.key)
        for cluster in decision.clusters:
            if cluster in new:
                self._evaluator.assume(cluster, turn.request, fits[cluster].admission)
        case.assumed_on = kept | new
        return set(gone | new)

    async def _write(self, turn: Turn, decision: Decision) -> None:
        log_context.about(turn.key)
        case = self._cases.get(turn.key)
        if case is None:
            return
        moved = bool(decision.cluster) and set(decision.clusters) != set(turn.nominated)
        if not moved and (decision.grounds == case.written or _is_told(turn, decision, not case.written)):
            return
        self._metrics.decided(decision.reason)
        try:
            await self._applier.apply([_nomination(turn, decision)])
        except Failure as error:
            log.warning("workload %s: nomination not written, trying again: %s", turn.key, error)
            self._release(turn.key, case)
            self._fresh.add(turn.key)
            return
        case.written = decision.grounds
        if moved:
            case.round = Round(self._clock.now(), case.round.refused)
            log.info("workload %s: nominated %s", turn.key, decision.message)

    def _release(self, key: Key, case: _Case) -> None:
        for cluster in case.assumed_on:
            self._evaluator.release(cluster, key)
        case.assumed_on = frozenset()

    def _drop(self, key: Key) -> None:
        """The workload needs no cluster any more: it has one, or is gone. Room that shows on the worker stays taken."""
        case = self._cases.pop(key, None)
        if case is not None:
            case.assumed_on -= {self._turns.cluster_of(key)}
            self._release(key, case)


def _is_lost(case: _Case, instant: float) -> bool:
    """Whether the admission that its nomination went along with never showed."""
    return case.confirmed_by is not None and instant >= case.confirmed_by


def _is_told(turn: Turn, decision: Decision, anew: bool) -> bool:
    """Whether the Workload says so already. ``anew``: nothing is remembered of what was written, so its words count."""
    told = turn.sight.condition(names.DISPATCHED)
    if told is None or told.reason != decision.reason:
        return False
    if decision.reason != dispatch.NO_CLUSTER:
        return True
    return anew and told.message == decision.message


def _narrowed(turn: Turn, clusters: tuple[str, ...]) -> Request:
    request = turn.request
    return Request(request.namespace, request.name, request.framework, clusters, request.workload)


def _nomination(turn: Turn, decision: Decision) -> ApplyStatus:
    status = "True" if decision.cluster else "False"
    return ApplyStatus(
        resource=WORKLOADS,
        key=turn.key,
        field_manager=ADMISSION_MANAGER,
        conditions=(SetCondition(names.DISPATCHED, status, decision.reason, decision.message),),
        fields={"nominatedClusterNames": list(decision.clusters) or None},
    )
