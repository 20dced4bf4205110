"""Shell of the Job controller: feeds ``job_decision`` from watches and carries out its plans.

It remembers three things that watches have not shown yet, and may forget them at any moment: the newest status written,
finalizers taken off, and pods deleted. A restart begins with fresh lists, where they show.
"""

import asyncio
import logging
from collections.abc import Awaitable

import msgspec

from hub.local.simulation import job_decision, job_pods
from hub.local.simulation.job_decision import JobPlan
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import JOBS, PODS
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import AlreadyExists, NotFound
from worker_agent.kube.events import EventRecorder, ObjectReference
from worker_agent.kube.informer import Event, Informer
from worker_agent.kube.watch import is_newer

log = logging.getLogger(__name__)

FIELD_MANAGER = "kube-controller-manager"
POD_BATCH_SECONDS = 0.1
"""Pods of one Job change together; looking once for all of them saves status writes (the real one waits 1 s)."""

OWNER = "owner"
"""Index of pods by the UID of the Job that owns them."""


class JobController:
    """Runs over informers of Jobs and pods that the caller runs; ``run`` may start once both have synced."""

    def __init__(
        self, client: Client, jobs: Informer[Document], pods: Informer[Document], events: EventRecorder, clock: Clock
    ) -> None:
        self._client = client
        self._jobs = jobs
        self._pods = pods
        self._events = events
        self._clock = clock
        self._controller: Controller[Key] = Controller("simulated job", self._reconcile, workers=8, clock=clock)
        self._orphans: Controller[Key] = Controller("simulated job orphans", self._free_orphan, clock=clock)
        self._newest: dict[Key, Document] = {}
        self._released: set[str] = set()
        self._deleted: set[str] = set()
        pods.add_index(OWNER, lambda pod: [job_pods.owner_uid(pod)])

    async def run(self) -> None:
        """Works until cancelled."""
        self._jobs.add_handler(self._job_changed)
        self._pods.add_handler(self._pod_changed)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._controller.run())
            group.create_task(self._orphans.run())

    def _job_changed(self, event: Event[Document]) -> None:
        if event.new is None:
            self._newest.pop(event.key, None)
            gone = event.old["metadata"]["uid"] if event.old else ""
            for pod in self._pods.by_index(OWNER, gone):
                self._orphans.enqueue(_key(pod))
        self._controller.enqueue(event.key)

    def _pod_changed(self, event: Event[Document]) -> None:
        pod = event.new or event.old
        if pod is None or not job_pods.owner_uid(pod):
            return
        uid = job_pods.uid(pod)
        if event.new is None or not job_pods.is_tracked(event.new):
            self._released.discard(uid)
        if event.new is None or job_pods.is_deleting(event.new):
            self._deleted.discard(uid)
        if self._job_of(pod) is None:
            self._orphans.enqueue(event.key)
        else:
            self._controller.enqueue(_job_key(pod), POD_BATCH_SECONDS)

    async def _reconcile(self, key: Key) -> float | None:
        job = self._fresh(key)
        if job is None:
            return None
        pods = [self._as_known(pod) for pod in self._pods.by_index(OWNER, job["metadata"]["uid"])]
        plan = job_decision.decide(job, pods, self._clock.now(), self._released)
        await self._carry_out(key, job, plan)
        return plan.look_again

    def _fresh(self, key: Key) -> Document | None:
        """The Job as the watch shows it, or as we wrote it if that is newer."""
        seen = self._jobs.get(key)
        written = self._newest.get(key)
        if seen is None or written is None or written["metadata"]["uid"] != seen["metadata"]["uid"]:
            return seen
        if is_newer(written["metadata"]["resourceVersion"], seen["metadata"]["resourceVersion"]):
            return written
        del self._newest[key]
        return seen

    def _as_known(self, pod: Document) -> Document:
        """The pod, marked as ending if we told it to."""
        if job_pods.uid(pod) not in self._deleted or job_pods.is_deleting(pod):
            return pod
        return pod | {"metadata": pod["metadata"] | {"deletionTimestamp": pod["metadata"]["creationTimestamp"]}}

    async def _carry_out(self, key: Key, job: Document, plan: JobPlan) -> None:
        reference = ObjectReference.of(job)
        for pod in plan.delete:
            await self._delete(pod, untrack=job_pods.uid(pod) in plan.untrack)
            self._events.record(reference, "Normal", "SuccessfulDelete", f"Deleted pod: {_key(pod).name}")
        for pod in plan.create:
            if await self._create(pod):
                self._events.record(reference, "Normal", "SuccessfulCreate", f"Created pod: {_key(pod).name}")
        if plan.status is not None:
            await self._write_status(key, job, plan.status)
        for type, reason, message in plan.events:
            self._events.record(reference, type, reason, message)
        for pod in plan.release:
            await self._release(pod)
        if plan.release:
            self._controller.enqueue(key)
        if plan.delete_job:
            uid, version = job["metadata"]["uid"], job["metadata"]["resourceVersion"]
            await self._unless_gone(
                self._client.delete(
                    JOBS, key.name, key.namespace, uid=uid, resource_version=version, propagation="Foreground"
                )
            )

    async def _create(self, pod: Document) -> bool:
        """Whether the pod was made now."""
        try:
            await self._client.create(PODS, pod, pod["metadata"]["namespace"], field_manager=FIELD_MANAGER)
        except AlreadyExists:
            # Made before a restart or a lost answer; its name is its identity, and the watch will show it.
            log.debug("pod %s is there already", _key(pod))
            return False
        return True

    async def _delete(self, pod: Document, *, untrack: bool) -> None:
        """Ends a pod. Without its finalizer it cannot finish any more (see ``pod_life.lost_its_job``); with it, it is
        deleted only if it still is as we saw it, else it may have finished, and then it counts."""
        meta = pod["metadata"]
        if untrack:
            await self._release(pod)
        version = "" if untrack else meta["resourceVersion"]
        await self._unless_gone(
            self._client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"], resource_version=version)
        )
        seen = self._pods.get(_key(pod))
        if seen is not None and not job_pods.is_deleting(seen):
            self._deleted.add(meta["uid"])

    async def _release(self, pod: Document) -> None:
        """Takes our finalizer off, if it is still on. Conflict if the pod changed since we looked."""
        meta = pod["metadata"]
        if not job_pods.is_tracked(pod) or meta["uid"] in self._released:
            return
        left = [name for name in meta["finalizers"] if name != job_pods.TRACKING_FINALIZER]
        must_be = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        await self._unless_gone(
            self._client.patch(
                PODS,
                meta["name"],
                meta["namespace"],
                {"metadata": must_be | {"finalizers": left or None}},
                patch_type=PatchType.MERGE,
                field_manager=FIELD_MANAGER,
            )
        )
        seen = self._pods.get(_key(pod))
        if seen is not None and job_pods.is_tracked(seen):
            self._released.add(meta["uid"])

    async def _write_status(self, key: Key, job: Document, status: Document) -> None:
        """One merge patch of what changed; refused if the Job changed since we looked."""
        before = job.get("status") or {}
        changed = {name: status.get(name) for name in {*before, *status} if status.get(name) != before.get(name)}
        if "uncountedTerminatedPods" in changed:
            # A merge patch would leave the lists that are empty now as they were.
            changed["uncountedTerminatedPods"] = {"succeeded": None, "failed": None} | status["uncountedTerminatedPods"]
        meta = {"uid": job["metadata"]["uid"], "resourceVersion": job["metadata"]["resourceVersion"]}
        raw = await self._client.patch(
            JOBS,
            key.name,
            key.namespace,
            {"metadata": meta, "status": changed},
            patch_type=PatchType.MERGE,
            subresource="status",
            field_manager=FIELD_MANAGER,
        )
        self._newest[key] = msgspec.json.decode(raw)

    async def _free_orphan(self, key: Key) -> None:
        """A pod whose Job is gone keeps no finalizer: nobody would ever count it."""
        pod = self._pods.get(key)
        if pod is not None and job_pods.owner_uid(pod) and self._job_of(pod) is None:
            await self._release(pod)

    def _job_of(self, pod: Document) -> Document | None:
        """The Job that owns the pod, if it is there."""
        job = self._jobs.get(_job_key(pod))
        return job if job is not None and job["metadata"]["uid"] == job_pods.owner_uid(pod) else None

    async def _unless_gone(self, call: Awaitable[object]) -> None:
        try:
            await call
        except NotFound:
            return


def _key(pod: Document) -> Key:
    return Key(pod["metadata"]["namespace"], pod["metadata"]["name"])


def _job_key(pod: Document) -> Key:
    """Where the Job that owns the pod would be."""
    owner = next(owner for owner in pod["metadata"]["ownerReferences"] if owner.get("controller"))
    return Key(pod["metadata"]["namespace"], owner["name"])
