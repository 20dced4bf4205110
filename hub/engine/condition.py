"""One condition that a controller of the hub owns on an object: what it should say, and whether that is news."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from worker_agent.api import timestamps
from worker_agent.api.document import Document
from worker_agent.api.meta import Condition


@dataclass(frozen=True, slots=True)
class Stand:
    """What a condition shall say, apart from its times and generation."""

    status: str
    reason: str
    message: str

    def differs_from(self, current: Condition | None) -> bool:
        """True when status, reason or message change: only then is the condition written."""
        return current is None or (current.status, current.reason, current.message) != (
            self.status,
            self.reason,
            self.message,
        )

    def document(self, type_: str, current: Condition | None, generation: int, now: datetime) -> Document:
        """The condition as JSON; its transition time moves only when the status flips."""
        since = now
        if current is not None and current.status == self.status and current.last_transition_time is not None:
            since = current.last_transition_time
        return {
            "type": type_,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "observedGeneration": generation,
            "lastTransitionTime": timestamps.rfc3339(since),
        }


def find(conditions: Iterable[Condition] | None, type_: str) -> Condition | None:
    return next((condition for condition in conditions or () if condition.type == type_), None)
