"""What a live agent recorded, played again: the same calls at the same instants on a state of its own.

A recording is JSON Lines. The first line is the head: ``recording`` (the format's version), ``featureGates`` and
``configuration``. Each other line has ``at`` and one of: ``put`` (an object), ``delete`` (kind, namespace, name),
``forget`` (an admission that could not be written), ``flush`` (parked workloads woken), ``cycle`` (the number; with the
cycle's ``trace``). Objects come from the API server, so the status that a cycle leads to arrives as later puts.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from worker_agent.api import names, quantity, timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import cycle, policy, story, story_objects, story_trace
from worker_agent.engine.feature_gates import FeatureGateError
from worker_agent.engine.state import ClusterState
from worker_agent.engine.story_objects import WORKLOAD, StoryError
from worker_agent.engine.story_script import Chapter, Event
from worker_agent.engine.story_world import condition_of

VERSION: Final = 1

_TOLD: Final = (names.QUOTA_RESERVED, names.ADMITTED, names.EVICTED, names.FINISHED)


class Recording:
    """``lines`` are (line number, document) after the head. Raises StoryError for a head that cannot be read."""

    def __init__(self, head: Document, lines: Iterable[tuple[int, Document]]) -> None:
        if head.get("recording") != VERSION:
            raise StoryError(f"recording: {head.get('recording')!r}: this program reads version {VERSION}")
        try:
            self._policy = policy.resolve(head.get("featureGates") or {}, head.get("configuration") or {})
        except (FeatureGateError, quantity.QuantityError, ValueError) as error:
            raise StoryError(f"line 1: {error}") from None
        self._lines = lines
        self.state = ClusterState(self._policy)
        self.differing = ""
        """The first cycle that came out another way than in the agent; what follows is not compared."""
        self._said: dict[str, str] = {}

    def play(self) -> Iterator[Chapter]:
        """Chapter by chapter; changes that a reader would not follow (status of queues and the like) are left out."""
        for number, line in self._lines:
            try:
                yield from self._play(line)
            except StoryError as error:
                raise StoryError(f"line {number}: {error}") from None

    def _play(self, line: Document) -> Iterator[Chapter]:
        now = _instant(line)
        if "put" in line:
            story_objects.put(self.state, line["put"], now)
            yield from self._news(line["put"], now)
        elif "delete" in line:
            kind, key = str(line["delete"].get("kind")), story_objects.key_of({"metadata": line["delete"]})
            story_objects.remove(self.state, kind, key, now)
            yield _event(now, f"{kind} {str(key).removeprefix('/')} is deleted", key if kind == WORKLOAD else None)
        elif "forget" in line:
            key = Key.parse(line["forget"])
            self.state.forget(key, now)
            yield _event(now, f"the admission of {key} could not be written", key)
        elif "flush" in line:
            self.state.flush_requeues(now)
        elif "cycle" in line:
            yield self._cycle(line, now)
        else:
            raise StoryError(f"has none of put, delete, forget, flush, cycle: {sorted(line)}")

    def _cycle(self, line: Document, now: datetime) -> Chapter:
        heads = self.state.heads(now)
        plan = cycle.run_cycle(self.state, heads, self._policy, now) if heads else None
        found: list[str] = []
        if not self.differing and "trace" in line:
            found = story_trace.differences(line["trace"], story_trace.entry(self.state, plan))
            if found:
                self.differing = f"cycle {line['cycle']}"
        return story.tell(self.state, plan, timestamps.micros(now), found)

    def _news(self, document: Document, now: datetime) -> Iterator[Event]:
        """Of a workload only what its conditions say new; of other objects that they changed."""
        key = story_objects.key_of(document)
        name = f"{document['kind']} {str(key).removeprefix('/')}"
        said = _condition_text(document) if document["kind"] == WORKLOAD else str(document.get("spec"))
        before = self._said.get(name)
        self._said[name] = said
        if said == before:
            return
        if document["kind"] == WORKLOAD:
            queue = (document.get("spec") or {}).get("queueName", "")
            yield _event(now, f"{key} in {queue}: {said}" if said else f"{key} is submitted to {queue}", key)
        else:
            yield _event(now, f"{name} is {'here' if before is None else 'changed'}", None)


def _instant(line: Document) -> datetime:
    at = line.get("at")
    try:
        return timestamps.parse(str(at))
    except ValueError as error:
        raise StoryError(f"at: {error}") from None


def _event(now: datetime, text: str, workload: Key | None) -> Event:
    return Event(at=timestamps.rfc3339(now), text=text, workloads=(str(workload),) if workload else ())


def _condition_text(workload: Document) -> str:
    found = (condition_of(workload, type_) for type_ in _TOLD)
    return ", ".join(f"{c['type']}={c['status']} ({c['reason']})" for c in found if c)
