"""What runs Jobs on a worker in a history: pods come, work, stop in their own time, and are told of by the status."""

import asyncio
from collections.abc import Callable
from typing import Any

from hub.local.apiserver.identity import ADMIN
from tests.faults.model import ORIGIN, completed, origin_of
from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOBS
from worker_agent.api.timestamps import rfc3339
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.errors import ApiError

START_SECONDS = 0.4
STOP_SECONDS = 1.5
RUN_SECONDS = "fedhub.dev/run-seconds"
IDENTITY = ADMIN


class JobPlayer:
    """The Job controller and the kubelets of one worker; never fails, as nobody tests them here."""

    def __init__(self, client: Client, clock: Clock, completed: Callable[[str], None]) -> None:
        self._client = client
        self._clock = clock
        self._completed = completed
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def observe(self, old: Document | None, new: Document | None) -> None:
        """A Job changed, by whatever means."""
        document = new or old
        assert document is not None
        key = Key(document["metadata"]["namespace"], document["metadata"]["name"])
        if new is None or new["metadata"].get("deletionTimestamp") or completed(new) or origin_of(new) != ORIGIN:
            self._cancel(key)
            return
        suspended, active = value_at(new, "spec.suspend", False), value_at(new, "status.active", 0)
        started = bool(active)
        before = (
            None if old is None else (value_at(old, "spec.suspend", False), bool(value_at(old, "status.active", 0)))
        )
        if before == (suspended, started) and old is not None and old["metadata"]["uid"] == new["metadata"]["uid"]:
            return
        self._cancel(key)
        count = value_at(new, "spec.parallelism", 1)
        if suspended and started:
            self._later(STOP_SECONDS, key, {"active": 0, "ready": 0})
        elif not suspended and not started:
            now = rfc3339(self._clock.now())
            self._later(START_SECONDS, key, {"active": count, "ready": count, "startTime": now})
        elif not suspended:
            annotations = value_at(new, "spec.template.metadata.annotations", {})
            self._later(float(annotations.get(RUN_SECONDS, "1")), key, None)

    def _cancel(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _later(self, seconds: float, key: Key, status: Document | None) -> None:
        loop = asyncio.get_running_loop()
        self._timers[key] = loop.call_later(seconds, self._spawn, key, status)

    def _spawn(self, key: Key, status: Document | None) -> None:
        self._timers.pop(key, None)
        task = asyncio.create_task(self._write(key, status))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(self, key: Key, status: Document | None) -> None:
        if status is None:
            status = self._ended()
        try:
            await self._client.patch(
                JOBS, key.name, key.namespace, {"status": status}, patch_type=PatchType.MERGE, subresource="status"
            )
        except ApiError:
            return
        if "completionTime" in status:
            self._completed(key.name)

    def _ended(self) -> dict[str, Any]:
        now = rfc3339(self._clock.now())
        reached = {
            "status": "True",
            "reason": "CompletionsReached",
            "lastTransitionTime": now,
            "message": "all succeeded",
        }
        conditions = [{"type": kind, **reached} for kind in ("SuccessCriteriaMet", "Complete")]
        return {
            "active": 0,
            "ready": 0,
            "succeeded": 1,
            "completionTime": now,
            "conditions": conditions,
        }
