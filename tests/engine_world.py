"""A cluster of one engine for tests: ``StoryWorld`` with defaults, keys as text, and questions about what came out."""

from collections.abc import Iterable
from datetime import datetime

from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import story_objects
from worker_agent.engine.plan import Plan
from worker_agent.engine.policy import DEFAULT, Policy
from worker_agent.engine.story_world import StoryWorld, condition_of, is_true

__all__ = ["START", "EngineWorld", "condition_of", "is_true"]

START = timestamps.parse("2026-01-01T12:00:00Z")


class EngineWorld(StoryWorld):
    """``plan`` is the last cycle's, None when there was no head."""

    def __init__(self, objects: Iterable[Document] = (), policy: Policy = DEFAULT, now: datetime = START) -> None:
        self.plan: Plan | None = None
        super().__init__(objects, policy, now)

    # -- what happens ----------------------------------------------------------------------------------------------

    def put(self, *documents: Document) -> None:
        """Create or replace objects, and show them to the engine: Workloads last, by name."""
        for document in documents:
            key = story_objects.key_of(document)
            self.objects[document["kind"], key] = document
            if document["kind"] == "Workload":
                self.changed[key] = None
            else:
                story_objects.put(self.state, document, self.now)
        self.observe()

    def delete(self, kind: str, key: Key | None = None) -> None:
        """With one argument: the Workload of that ``namespace/name``."""
        super().delete(*((kind, key) if key is not None else ("Workload", Key.parse(kind))))

    def finish(self, key: Key | str) -> None:
        super().finish(Key.parse(key) if isinstance(key, str) else key)

    def cycle(self) -> Plan:
        """One cycle with its writes observed; an empty plan when there was no head."""
        return super().cycle() or Plan()

    def decide(self) -> Plan | None:
        self.plan = super().decide()
        return self.plan

    def settle(self) -> None:
        """Cycles until nothing is admitted any more."""
        while self.cycle().progressed:
            pass

    # -- what is there ---------------------------------------------------------------------------------------------

    def reason(self, key: str) -> str:
        """Why a workload has no quota."""
        condition = condition_of(self.workload(Key.parse(key)), "QuotaReserved") or {}
        return str(condition.get("reason", ""))

    def message(self, key: str) -> str:
        condition = condition_of(self.workload(Key.parse(key)), "QuotaReserved") or {}
        return str(condition.get("message", ""))

    def active(self, queue: str) -> list[str]:
        return [key.name for key in self.state.pending[queue].active()]

    def parked(self, queue: str) -> list[str]:
        return sorted(key.name for key in self.state.pending[queue].parked)
