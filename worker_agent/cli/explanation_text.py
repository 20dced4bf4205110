"""An explanation in words."""

from collections.abc import Iterator
from typing import Final

from worker_agent.api import timestamps
from worker_agent.cli.counting import counted
from worker_agent.cli.story_text import MODES, Words
from worker_agent.engine import story_checks
from worker_agent.engine.story_explanation import Explanation, FlavorOutlook

AHEAD_SHOWN: Final = 8


def lines(told: Explanation, *, full: bool = False) -> Iterator[str]:
    """Where it stands, flavor by flavor, and what would do."""
    yield (
        f"{told.workload} {told.summary}"
        if told.state not in ("Waiting", "Held")
        else f"{told.workload}: {told.summary}"
    )
    now = timestamps.parse(told.at)
    for check in told.checks:
        yield from (f"  {line}" for line in story_checks.lines(check, now))
    if told.state not in ("Waiting", "Held"):
        return
    words = Words(full)
    where = f"LocalQueue {told.local_queue or '(none)'}"
    if told.cluster_queue:
        where += f", ClusterQueue {told.cluster_queue}"
    requests = ", ".join(f"{name} {amount}" for name, amount in told.requests.items()) or "nothing"
    yield f"  {where}, priority {told.priority}; asks for {requests}"
    if told.position is not None:
        yield f"  {_position(told, words)}"
    for flavor in told.flavors:
        yield from (f"  {line}" for line in _flavor(flavor, words))
    for victim in told.victims:
        yield f"  would take the room of {victim.workload} in {victim.cluster_queue}"
    if told.remedies:
        yield "  Any one of these would let it in:"
        yield from (f"    - {remedy.text}" for remedy in told.remedies)
    elif told.verdict in ("Waits", "Impossible") and told.state == "Waiting":
        yield f"  {_NOTHING[told.verdict]}"


_NOTHING: Final = {
    "Waits": "No change of one quota and no workload finishing would surely let it in: others come first.",
    "Impossible": "More quota would not help: its pods must tolerate and select what a flavor offers, or ask for less.",
}


def _position(told: Explanation, words: Words) -> str:
    pending = counted(told.pending or 0, "pending workload")
    if not told.ahead:
        return f"first of {pending}"
    return f"number {told.position} of {pending}, behind {words.row(told.ahead, AHEAD_SHOWN, ', ')}"


def _flavor(flavor: FlavorOutlook, words: Words) -> Iterator[str]:
    if flavor.problem:
        yield f"flavor {flavor.flavor}: does not suit: {flavor.problem}"
        return
    borrows = f", borrowing up to level {flavor.borrows} of its cohorts" if flavor.borrows else ""
    yield f"flavor {flavor.flavor}: {MODES[flavor.mode]}{borrows}"
    yield from (f"  {words.shortage(found)}" for found in flavor.resources)
