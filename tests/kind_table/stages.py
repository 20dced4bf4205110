"""One job of a kind through its stages: each is seen on the API server, or it is not reached."""

from collections.abc import Callable
from typing import Final

from hub.engine.remote_objects import lean
from tests.faults.model import is_true
from tests.kind_table.manager import Manager
from tests.races import rest
from tests.races.rest import ENDED
from tests.races.subjects import NAMESPACE, SUBJECTS
from tests.races.wishes import Wish
from tests.races.world import CLUSTER_QUEUE, World
from worker_agent.api import names
from worker_agent.api.document import Document
from worker_agent.api.document import get as at_path
from worker_agent.api.resource_type import CLUSTER_QUEUES, WORKLOADS
from worker_agent.kube.client import PatchType
from worker_agent.kube.errors import Forbidden

STAGES: Final = ("admitted", "started", "ready", "finished", "evicted and restored", "dispatched and back")
RUN_SECONDS: Final = 20
PATIENCE_SECONDS: Final = 400
SUBMISSIONS: Final = 20
STATUS_STAYS: Final = ("StatefulSet", "LeaderWorkerSet")
"""Their status is not copied to the manager, as in Kueue: they are looked at in the worker."""
NOT_ASKED: Final = "-"
"""The stage does not exist for the kind: servers do not finish, pods are not restored but made anew."""
POINTLESS: Final[dict[str, tuple[str, ...]]] = {
    **{label: ("finished",) for label, subject in SUBJECTS.items() if not subject.ends},
    **{label: ("evicted and restored",) for label, subject in SUBJECTS.items() if subject.of_pods},
    "SparkApplication": ("dispatched and back",),
}


async def here(label: str) -> dict[str, str]:
    """What a job of the kind reaches on a cluster of its own."""
    life = Life(label, World(1))
    try:
        await life.world.start()
        await life.submit()
        await life.reach("admitted", life.is_admitted)
        await life.reach("started", life.is_started)
        await life.reach("ready", life.is_ready)
        if "evicted and restored" not in POINTLESS.get(label, ()):
            await life.evict()
        if SUBJECTS[label].ends:
            await life.reach("finished", life.is_over)
    finally:
        await life.world.close()
    return life.reached


async def there(label: str) -> dict[str, str]:
    """What a job of the kind reaches when it is sent to a worker."""
    worker = World(2)
    manager = Manager(3, worker)
    life = Life(label, manager)
    try:
        await worker.start()
        await manager.start()
        await manager.federate()
        await life.submit()
        served = life.seen_in(worker) if label in STATUS_STAYS else life
        await life.reach("dispatched and back", life.is_over if SUBJECTS[label].ends else served.is_ready)
    finally:
        await manager.close()
        await worker.close()
    return life.reached


def _is_within(part: object, whole: object) -> bool:
    """Everything that ``part`` says stands in ``whole``: a start may write a template that the user left out, and a
    stop leaves it there, empty, as in Kueue."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(_is_within(value, whole.get(name)) for name, value in part.items())
    return part == whole


class Life:
    """``reached`` holds "yes" or what was seen instead, by stage."""

    def __init__(self, label: str, world: World) -> None:
        self.world = world
        self.reached: dict[str, str] = {}
        self._subject = SUBJECTS[label]
        self._wish = Wish(self._subject)
        self._submitted: Document = {}

    def seen_in(self, world: World) -> "Life":
        """The same objects in another cluster."""
        other = Life(self._subject.label, world)
        other._wish.names = self._wish.names
        return other

    async def submit(self) -> None:
        made = self._subject.documents(RUN_SECONDS)
        self._wish.made(made)
        for document in made:
            await self._create(document)
        for document in self.objects():
            self._wish.exists(document)
        self._submitted = self.objects()[0]

    async def _create(self, document: Document) -> None:
        """Again and again while it is refused: what it refers to may not be known yet."""
        for _ in range(SUBMISSIONS - 1):
            try:
                await self.world.client.create(self._subject.kind.resource, document, NAMESPACE, field_manager="user")
            except Forbidden:
                await self.world.clock.sleep(1.0)
            else:
                return
        await self.world.client.create(self._subject.kind.resource, document, NAMESPACE, field_manager="user")

    async def reach(self, stage: str, holds: Callable[[], bool]) -> None:
        end = self.world.clock.monotonic() + PATIENCE_SECONDS
        while not holds():
            self.world.check_alive()
            if self.world.clock.monotonic() > end:
                self.reached[stage] = "NO"
                return
            await self.world.clock.sleep(0.2)
        self.reached[stage] = "yes"

    def objects(self) -> list[Document]:
        found = (self.world.one(self._subject.kind.resource, name) for name in self._wish.names)
        return [self.world.joined(self._subject.kind, each) for each in found if each is not None]

    def is_admitted(self) -> bool:
        workloads = rest.workloads_of(self.world, self._wish)
        return bool(workloads) and all(is_true(each, names.ADMITTED) for each in workloads)

    def is_started(self) -> bool:
        pods = rest.pods_of(self.world, self._wish)
        running = [each for each in pods if at_path(each, "status.phase") in ("Running", *ENDED)]
        return bool(running) and not any(at_path(each, "spec.schedulingGates") for each in running)

    def is_ready(self) -> bool:
        subject, found = self._subject, self.objects()
        if subject.of_pods:
            return bool(found) and all(at_path(each, "status.phase") == "Running" for each in found)
        if subject.kind.serving or subject.label == "Deployment":
            ready = (at_path(each, "status.readyReplicas", 0) == at_path(each, "spec.replicas") for each in found)
            return bool(found) and all(ready)
        return bool(found) and all(subject.kind.pods_ready(each) for each in found)

    def is_over(self) -> bool:
        subject, found = self._subject, self.objects()
        if subject.of_pods:
            return bool(found) and all(at_path(each, "status.phase") == "Succeeded" for each in found)
        workloads = rest.workloads_of(self.world, self._wish)
        if workloads and all(is_true(each, names.FINISHED) for each in workloads):
            return True  # what its end follows from may lie in the worker
        ends = [subject.kind.finished(each) for each in found]
        return bool(ends) and all(end is not None and end.success for end in ends)

    def is_restored(self) -> bool:
        """As its user wrote it, and without quota."""
        held = [each for each in self.world.all(WORKLOADS) if is_true(each, names.QUOTA_RESERVED)]
        return not held and _is_within(lean(self._submitted["spec"]), lean(self.objects()[0]["spec"]))

    async def evict(self) -> None:
        """The queue is drained, and opened again."""
        stop = {"spec": {"stopPolicy": "HoldAndDrain"}}
        await self.world.client.patch(CLUSTER_QUEUES, CLUSTER_QUEUE, "", stop, patch_type=PatchType.MERGE)
        await self.reach("evicted and restored", self.is_restored)
        again = {"spec": {"stopPolicy": "None"}}
        await self.world.client.patch(CLUSTER_QUEUES, CLUSTER_QUEUE, "", again, patch_type=PatchType.MERGE)
        if self.reached["evicted and restored"] == "yes":
            await self.reach("evicted and restored", self.is_ready)
