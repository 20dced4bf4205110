"""Controllers of ClusterQueue, LocalQueue and Cohort: status from the engine's view, and finalizers."""

from collections.abc import Callable, Sequence

from worker_agent.api import need
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.engine_thread import Engine
from worker_agent.controllers.in_use_finalizer import finalizer_intents
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import intent_effects, queue_status
from worker_agent.engine.intents import ApplyStatus
from worker_agent.engine.view import EMPTY, EngineView
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event, Informer

REFRESH_SECONDS = 1.0
"""A status is refreshed at most once in so long; the first change after a quiet time is told at once."""
REFRESH_PAUSES_SECONDS = (REFRESH_SECONDS, 2.0, 4.0, 8.0)
"""While a status changes at every refresh the time between two of them grows: a thousand jobs that start one after the
other need not each be told of."""

VIEWS_UNTIL_KNOWN = 2
"""The engine may be publishing while a change arrives; the view after that one has it."""

LOCAL_QUEUE_INDEX = "status of cluster queue"


NEEDS = (
    need.of(CLUSTER_QUEUES, "patch"),
    *(need.of(resource, "patch", subresource="status") for resource in (CLUSTER_QUEUES, LOCAL_QUEUES)),
    need.of(COHORTS, "patch", subresource="status", unseen="the share of a cohort, told where fair sharing is on"),
)


class QueueControllers:
    """All three, because one view feeds them. ``on_activity(name)`` hears of ClusterQueues that started or stopped."""

    def __init__(
        self,
        known: KnownObjects,
        engine: Engine,
        applier: Applier,
        clock: Clock,
        *,
        on_activity: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._known = known
        self._engine = engine
        self._applier = applier
        self._on_activity = on_activity
        self._seen: EngineView = EMPTY
        self._clock = clock
        self._fresh_local_queues: dict[Key, int] = {}
        self._refreshed_at: dict[Key, float] = {}
        self._busy: dict[Key, int] = {}
        """How far a queue is in ``REFRESH_PAUSES_SECONDS``."""
        self._local_queues: Informer[LocalQueue] = known.informer(LOCAL_QUEUES)
        self._local_queues.add_index(LOCAL_QUEUE_INDEX, lambda queue: (queue.spec.cluster_queue,))
        self.cluster_queues: Controller[Key] = Controller("clusterqueue", self._cluster_queue, workers=5, clock=clock)
        self.local_queues: Controller[Key] = Controller("localqueue", self._local_queue, workers=5, clock=clock)
        self.cohorts: Controller[Key] = Controller("cohort", self._cohort, clock=clock)
        self._local_queues.add_handler(self._local_queue_changed)
        known.informer(CLUSTER_QUEUES).add_handler(self._cluster_queue_changed)
        known.informer(COHORTS).add_handler(self._cohort_changed)
        engine.add_view_handler(self._view_changed)

    def _cluster_queue_changed(self, event: Event[ClusterQueue]) -> None:
        """The echo of a status that was just written is no news: told at once, each would bring on the next."""
        if event.new is not None:
            self.cluster_queues.enqueue(event.key, self._wait(event.key) if is_echo(event) else 0.0)

    def _local_queue_changed(self, event: Event[LocalQueue]) -> None:
        if event.new is None or (event.old is not None and event.old.spec == event.new.spec):
            return
        self._fresh_local_queues[event.key] = 0

    def _cohort_changed(self, event: Event[Cohort]) -> None:
        if event.new is not None:
            self.cohorts.enqueue(event.key)

    def _view_changed(self, view: EngineView) -> None:
        """Pictures that did not change are the same objects in both views."""
        before, self._seen = self._seen, view
        for name in {*before.cluster_queues, *view.cluster_queues}:
            old, new = before.cluster_queues.get(name), view.cluster_queues.get(name)
            if old is new:
                continue
            turned = old is None or new is None or old.activity != new.activity
            # A queue that starts, stops or goes is told of at once; figures may have to wait.
            key = Key("", name)
            self.cluster_queues.enqueue(key, 0.0 if turned else self._wait(key))
            for queue in self._local_queues.by_index(LOCAL_QUEUE_INDEX, name):
                local = queue.metadata.key
                self.local_queues.enqueue(local, 0.0 if turned else self._wait(local))
            if turned:
                self._on_activity(name)
        self._look_at_fresh_local_queues()
        for name in {*before.cohort_shares, *view.cohort_shares}:
            if before.cohort_shares.get(name) != view.cohort_shares.get(name):
                self.cohorts.enqueue(Key("", name), REFRESH_SECONDS)

    def _wait(self, key: Key) -> float:
        """Seconds until the status of this queue may be refreshed again."""
        return max(0.0, self._refreshed_at.get(key, float("-inf")) + self._pause(key) - self._clock.monotonic())

    def _pause(self, key: Key) -> float:
        return REFRESH_PAUSES_SECONDS[min(self._busy.get(key, 0), len(REFRESH_PAUSES_SECONDS) - 1)]

    def _look_at_fresh_local_queues(self) -> None:
        """The first view after a change may still be of before; the second one knows it."""
        for key, views in list(self._fresh_local_queues.items()):
            self.local_queues.enqueue(key)
            if views + 1 < VIEWS_UNTIL_KNOWN:
                self._fresh_local_queues[key] = views + 1
            else:
                del self._fresh_local_queues[key]

    async def _cluster_queue(self, key: Key) -> float | None:
        document = self._known.document(CLUSTER_QUEUES, key)
        if document is None:
            self._forget(key)
            return None
        picture = self._engine.view.cluster_queues.get(key.name)
        status = [] if picture is None else [queue_status.cluster_queue(picture)]
        self._note_refresh(status)
        in_use = not queue_status.may_go(picture)
        return await self._applier.apply([*status, *finalizer_intents(CLUSTER_QUEUES, document, in_use)])

    async def _local_queue(self, key: Key) -> float | None:
        picture = self._engine.view.local_queue(key)
        if picture is None:
            self._forget(key)
            return None
        status = [queue_status.local_queue(picture)]
        self._note_refresh(status)
        return await self._applier.apply(status)

    def _note_refresh(self, status: Sequence[ApplyStatus]) -> None:
        """Remember when a status was last written; looking at it and finding it true costs no waiting."""
        for change in status:
            document = self._known.document(change.resource, change.key)
            after = document and intent_effects.status_after(document, change, self._clock.now())
            if after is not document:
                self._refreshed(change.key, self._clock.monotonic())

    def _refreshed(self, key: Key, instant: float) -> None:
        busy = instant - self._refreshed_at.get(key, float("-inf")) < 2 * self._pause(key)
        self._busy[key] = min(self._busy.get(key, 0) + 1, len(REFRESH_PAUSES_SECONDS) - 1) if busy else 0
        self._refreshed_at[key] = instant

    def _forget(self, key: Key) -> None:
        self._refreshed_at.pop(key, None)
        self._busy.pop(key, None)

    async def _cohort(self, key: Key) -> float | None:
        share = self._engine.view.cohort_shares.get(key.name)
        return await self._applier.apply([queue_status.cohort(key.name, share)])


def is_echo(event: Event[ClusterQueue]) -> bool:
    """Nothing changed but the status, or fields that no controller of queues reads."""
    old, new = event.old, event.new
    if old is None or new is None:
        return False
    before, after = old.metadata, new.metadata
    return (before.uid, before.generation, before.deletion_timestamp, before.finalizers) == (
        after.uid,
        after.generation,
        after.deletion_timestamp,
        after.finalizers,
    )
