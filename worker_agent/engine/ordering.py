"""Who comes first: in a pending queue (spec/engine 5.2) and inside a cycle (7.3)."""

from collections.abc import Iterator, Sequence

from worker_agent.engine.nomination import Entry
from worker_agent.engine.policy import Policy


def classical(entries: Sequence[Entry], policy: Policy) -> Iterator[Entry]:
    """Second passes, then the lowest borrowing level, the highest priority, the longest wait.

    Entries that do not fit take part with the level they got. What is equal in all this, UID included, keeps the order
    in which it came.
    """
    return iter(sorted(entries, key=lambda entry: _classical_key(entry, policy)))


def _classical_key(entry: Entry, policy: Policy) -> tuple[bool, bool, int, int, int, str]:
    row = entry.row
    return (
        not entry.second_pass,
        policy.prioritize_preemptors and not entry.is_preemptor,
        entry.borrowing,
        -row.priority if policy.sort_priority_within_cohort else 0,
        row.order_time,
        row.uid,
    )
