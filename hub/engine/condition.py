"""One condition that a controller of the hub owns on an object: what it should say, and whether that is news."""

from collections.abc import Iterable
from dataclasses import dataclass

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


def find(conditions: Iterable[Condition] | None, type_: str) -> Condition | None:
    return next((condition for condition in conditions or () if condition.type == type_), None)
