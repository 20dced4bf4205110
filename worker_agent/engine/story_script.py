"""A recorded scenario, played: its objects, then its steps, with the tale of every cycle.

The document is one line of the fuzz format: ``objects`` and ``startTime``, ``steps`` (create, finish, delete, update,
advance, evictions, cycle) and, where it was recorded with outcomes, ``trace``: one entry per cycle.
"""

from collections.abc import Iterator

from worker_agent.api import quantity, timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import policy, story, story_objects, story_shape, story_trace
from worker_agent.engine.feature_gates import FeatureGateError
from worker_agent.engine.story import CycleTale
from worker_agent.engine.story_objects import WORKLOAD, StoryError
from worker_agent.engine.story_shortage import Tale
from worker_agent.engine.story_world import StoryWorld


class Event(Tale, frozen=True):
    """Something that happened between cycles; ``workloads`` are those concerned."""

    at: str
    text: str
    workloads: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    """What was expected at this point and is not so."""


Chapter = Event | CycleTale


class Script:
    """One scenario. Its documents are taken over and changed: a workload gets its status as the story goes on."""

    def __init__(self, document: Document) -> None:
        """Raises StoryError for a document that is no scenario."""
        for field, type_ in (("objects", list), ("steps", list), ("startTime", str)):
            if not isinstance(document.get(field), type_):
                raise StoryError(f"{field}: {_shown(document.get(field))}: must be a {_TYPES[type_]}")
        story_shape.check(document, story_shape.Recorded)
        self._document = document
        self._trace: list[Document] | None = document.get("trace")
        self._cycles = 0
        self.differing = ""
        """The first cycle that differs from the trace; what follows depends on it and is not compared."""
        self.world = self._start()

    def _start(self) -> StoryWorld:
        document = self._document
        configuration: Document = dict(document.get("configuration") or {})
        if document.get("fairSharing"):
            configuration["fairSharing"] = {"preemptionStrategies": document.get("preemptionStrategies") or []}
        try:
            resolved = policy.resolve(document.get("featureGates") or {}, configuration)
            start = timestamps.parse(document["startTime"])
        except (FeatureGateError, quantity.QuantityError, ValueError) as error:
            raise StoryError(str(error)) from None
        return StoryWorld(document["objects"], resolved, start)

    def play(self) -> Iterator[Chapter]:
        """Chapter by chapter. Raises StoryError, naming the step, for one that cannot be played."""
        for index, step in enumerate(self._document["steps"]):
            try:
                yield self.step(step)
            except StoryError as error:
                raise StoryError(f"steps[{index}]: {error}") from None

    def step(self, step: Document) -> Chapter:
        """Play one step, also one that does not stand in the document."""
        match step.get("op"):
            case "cycle":
                return self._cycle()
            case "advance":
                return self._advance(step)
            case "create":
                return self._create(_object(step))
            case "finish":
                key = _key(step)
                self.world.finish(key)
                return self._event(f"{key} finishes", key)
            case "delete":
                key = _key(step)
                self.world.delete(WORKLOAD, key)
                return self._event(f"{key} is deleted", key)
            case "update":
                document = _object(step)
                self.world.replace_queue(document)
                return self._event(f"{document['kind']} {story_objects.key_of(document).name} is changed")
            case "evictions":
                released = self.world.release_evicted()
                stopped = ", ".join(map(str, released)) or "none"
                return self._event(f"evicted workloads that have stopped: {stopped}", *released)
            case unknown:
                raise StoryError(f"op: {_shown(unknown)}: must be one of {', '.join(OPERATIONS)}")

    def _event(self, text: str, *workloads: Key) -> Event:
        return Event(at=timestamps.rfc3339(self.world.now), text=text, workloads=tuple(map(str, workloads)))

    def _advance(self, step: Document) -> Event:
        seconds = step.get("seconds")
        if not isinstance(seconds, int | float) or seconds < 0:
            raise StoryError(f"seconds: {_shown(seconds)}: must be a number, 0 or more")
        self.world.advance(seconds)
        return self._event(f"{seconds:g} s pass")

    def _create(self, document: Document) -> Event:
        key = story_objects.key_of(document)
        self.world.put(document)
        if document["kind"] != WORKLOAD:
            return self._event(f"{document['kind']} {str(key).removeprefix('/')} is created")
        spec = document.get("spec") or {}
        queue = f"{spec.get('queueName', '')} (priority {spec.get('priority') or 0})"
        return self._event(f"{key} is submitted to {queue}", key)

    def _cycle(self) -> CycleTale:
        plan = self.world.cycle()
        self._cycles += 1
        found = self._compare(story_trace.entry(self.world.state, plan))
        return story.tell(self.world.state, plan, timestamps.micros(self.world.now), found)

    def _compare(self, actual: Document) -> list[str]:
        if self._trace is None or self.differing:
            return []
        if self._cycles > len(self._trace):
            found = [f"trace: has {len(self._trace)} entries, this is cycle {self._cycles}"]
        else:
            found = story_trace.differences(self._trace[self._cycles - 1], actual)
        if found:
            self.differing = f"cycle {self._cycles}"
        return found


OPERATIONS = ("create", "finish", "delete", "update", "advance", "evictions", "cycle")
_TYPES: dict[type, str] = {list: "list", str: "text"}


def _object(step: Document) -> Document:
    found = step.get("object")
    if not isinstance(found, dict):
        raise StoryError(f"object: {_shown(found)}: must be an object of Kubernetes")
    story_objects.key_of(found)
    return found


def _key(step: Document) -> Key:
    name = step.get("workload")
    if not isinstance(name, str) or "/" not in name:
        raise StoryError(f"workload: {_shown(name)}: must be namespace/name")
    return Key.parse(name)


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)
