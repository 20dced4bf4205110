"""A scenario that people write: a cluster in a few lines, what arrives when, and what is expected of it.

It runs on virtual time: a workload that says how long it ``runs`` ends so long after its admission, an evicted one
stops at once and queues again, and cycles follow each other until nothing changes any more. Expectations are looked at
when all of that has come to rest. ``story_scenario`` turns the short forms into objects.
"""

import heapq
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from worker_agent.api import durations, quantity, timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import policy, story, story_expectations, story_objects, story_scenario, story_shape
from worker_agent.engine.feature_gates import FeatureGateError
from worker_agent.engine.plan import Plan
from worker_agent.engine.story_objects import WORKLOAD, StoryError
from worker_agent.engine.story_script import Chapter, Event
from worker_agent.engine.story_world import StoryWorld

START: Final = timestamps.parse("2026-01-01T00:00:00Z")
END: Final = "end"
MOST_CYCLES: Final = 10_000
"""At one instant; more means that decisions undo each other."""

ACTIONS: Final = ("submit", "finish", "delete", "change", "expect")


class Timeline:
    """``differing`` names the first expectation that was not met."""

    def __init__(self, document: Document) -> None:
        """Raises StoryError for a document that is no scenario."""
        story_shape.check(document, story_shape.Scenario)
        unknown = sorted(document.keys() - {"about", "settings", "featureGates", "cluster", "timeline"})
        if unknown:
            raise StoryError(f"{unknown[0]}: unknown field; known are about, settings, featureGates, cluster, timeline")
        self.differing = ""
        self.about = str(document.get("about", ""))
        self._cluster = story_scenario.Cluster(document.get("cluster") or {})
        try:
            resolved = policy.resolve(document.get("featureGates") or {}, document.get("settings") or {})
        except (FeatureGateError, quantity.QuantityError, ValueError) as error:
            raise StoryError(f"settings: {error}") from None
        self.world = StoryWorld(self._cluster.objects(), resolved, START)
        self._agenda: list[tuple[datetime, int, str, Any]] = []
        self._runs: dict[Key, timedelta] = {}
        self._ends: dict[Key, int] = {}
        """Which entry of the agenda ends each running workload; an eviction takes it back."""
        self._count = 0
        self._submitted = 0
        self._last: list[Document] = []
        self.admitted_at: dict[Key, datetime] = {}
        for index, entry in enumerate(document.get("timeline") or ()):
            self._plan(index, entry)

    def _plan(self, index: int, entry: Document) -> None:
        place = f"timeline[{index}]"
        actions = [name for name in ACTIONS if name in entry]
        unknown = sorted(entry.keys() - {"at", *ACTIONS})
        if unknown or not actions:
            raise StoryError(f"{place}: {unknown[0] if unknown else 'empty'}: must be one of {', '.join(ACTIONS)}")
        if entry.get("at") == END:
            self._last.append(entry.get("expect") or {})
            return
        try:
            moment = START + durations.parse(str(entry["at"]))
        except (KeyError, ValueError):
            raise StoryError(f"{place}.at: {entry.get('at')!r}: must be a time such as 90s or 1h30m, or end") from None
        for name in actions:
            self._note(moment, name, entry[name] or {})

    def _note(self, moment: datetime, name: str, what: Any) -> int:
        self._count += 1
        heapq.heappush(self._agenda, (moment, self._count, name, what))
        return self._count

    # -- time ------------------------------------------------------------------------------------------------------

    def play(self) -> Iterator[Chapter]:
        """Chapter by chapter. Raises StoryError for an action that cannot be done."""
        if self.about:
            yield self._event(self.about)
        while self._agenda:
            moment = self._agenda[0][0]
            self.world.advance((moment - self.world.now).total_seconds())
            expected: list[Document] = []
            while self._agenda and self._agenda[0][0] == moment:
                _, number, name, what = heapq.heappop(self._agenda)
                if name == "expect":
                    expected.append(what)
                else:
                    yield from self._act(name, what, number)
            yield from self._settle()
            for expectation in expected:
                yield self._expect(expectation, str(moment - START))
        for expectation in self._last:
            yield self._expect(expectation, END)

    def _settle(self) -> Iterator[Chapter]:
        """Cycles, and the stops that they lead to, until the same heads get the same answers again."""
        before: list[tuple[Key, str, str]] = []
        for _ in range(MOST_CYCLES):
            yield from self._stop_evicted()
            plan = self.world.cycle()
            if plan is None:
                return
            outcome = [(step.key, step.reason, step.message) for step in plan]
            if outcome == before and not plan.progressed:
                return
            before = outcome
            yield story.tell(self.world.state, plan, timestamps.micros(self.world.now))
            self._follow(plan)
        raise StoryError(f"the cycles at {timestamps.rfc3339(self.world.now)} do not come to rest")

    def _stop_evicted(self) -> Iterator[Event]:
        released = self.world.release_evicted()
        for key in released:
            self._ends.pop(key, None)
        if released:
            yield self._event(f"evicted, stopped and back in the queue: {', '.join(map(_short, released))}", *released)

    def _follow(self, plan: Plan) -> None:
        for step in plan.admissions:
            self.admitted_at[step.key] = self.world.now
            if step.key in self._runs:
                self._ends[step.key] = self._note(self.world.now + self._runs[step.key], "end", step.key)

    # -- actions ---------------------------------------------------------------------------------------------------

    def _act(self, name: str, what: Any, number: int) -> Iterator[Event]:
        if name == "end":
            if self._ends.get(what) == number:
                yield self._finish(what)
        elif name == "change":
            for document in self._cluster.change(what):
                self.world.replace_queue(document)
                yield self._event(f"{document['kind']} {document['metadata']['name']} is changed")
        else:
            for item in what if isinstance(what, list) else [what]:
                yield self._one(name, item)

    def _one(self, name: str, item: Any) -> Event:
        if name == "submit":
            return self._submit(item)
        key = story_scenario.key_of(item)
        if name == "finish":
            return self._finish(key)
        self._ends.pop(key, None)
        self.world.delete(WORKLOAD, key)
        return self._event(f"{_short(key)} is deleted", key)

    def _finish(self, key: Key) -> Event:
        self._ends.pop(key, None)
        self.world.finish(key)
        return self._event(f"{_short(key)} finishes", key)

    def _submit(self, item: Any) -> Event:
        self._submitted += 1
        document, runs = story_scenario.workload(item, self.world.now, self._submitted)
        key = story_objects.key_of(document)
        if (WORKLOAD, key) in self.world.objects:
            raise StoryError(f"submit: {_short(key)}: there is a workload of this name")
        if runs is not None:
            self._runs[key] = runs
        self.world.put(document)
        spec = document["spec"]
        return self._event(f"{_short(key)} is submitted to {spec['queueName']} (priority {spec['priority']})", key)

    def _expect(self, expected: Document, moment: str) -> Event:
        found = tuple(story_expectations.unmet(self.world, expected, self.admitted_at, START))
        if found and not self.differing:
            self.differing = f"what is expected at {moment}"
        text = f"expected: {msgspec.json.encode(expected).decode()}"
        return Event(at=timestamps.rfc3339(self.world.now), text=text, differences=found)

    def _event(self, text: str, *workloads: Key) -> Event:
        return Event(at=timestamps.rfc3339(self.world.now), text=text, workloads=tuple(map(str, workloads)))


def _short(key: Key) -> str:
    return str(key).removeprefix(f"{story_scenario.NAMESPACE}/")
