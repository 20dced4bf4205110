"""Stories in words: what ``replay`` and ``explain`` print for people.

The short form tells each fact once: where a line says how much of which flavor is short, Kueue's message about the same
is left out, long rows are cut. ``full`` leaves nothing out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from worker_agent.cli.counting import counted
from worker_agent.engine.story import CycleTale, HeadTale, PodSetTale, Tried
from worker_agent.engine.story_script import Event
from worker_agent.engine.story_shortage import Holder, Shortage

HOLDERS_SHOWN: Final = 6
WORKLOADS_SHOWN: Final = 12

MODES: Final = {
    "Fit": "fits",
    "Reclaim": "fits after taking back lent quota",
    "Preempt": "fits after preemption",
    "NoCandidates": "could preempt, but nobody can be a victim",
    "NoFit": "does not fit",
}
_WAITS: Final = {
    "active": "stays in the queue and is tried again",
    "inadmissible": "set aside until something changes that could let it in",
}
_ABOUT_QUOTA: Final = "insufficient "
"""How the engine's messages about an amount begin; the others are about nodes, taints and the like."""


@dataclass(frozen=True, slots=True)
class Words:
    """The tales in words, short or in full."""

    full: bool = False

    def cycle(self, tale: CycleTale) -> Iterator[str]:
        """One cycle, with its queues and usage afterwards."""
        if not tale.heads:
            yield f"{tale.at}  a cycle without heads: no active ClusterQueue has a workload in its queue"
        else:
            yield f"{tale.at}  cycle {tale.cycle}: {counted(len(tale.heads), 'head')}"
        for told in tale.heads:
            yield from (f"  {line}" for line in self._head(told))
        yield from self._queues(tale)
        for line in tale.differences:
            yield f"  DIFFERS from the recording: {line}"

    def event(self, told: Event) -> Iterator[str]:
        """What happened between cycles, or was expected."""
        yield f"{told.at}  {told.text}"
        for line in told.differences:
            yield f"  NOT SO: {line}"

    def shortage(self, found: Shortage) -> str:
        """``cpu in flavor f: wants 4, 1 free, 3 short; held by ...``."""
        text = f"{found.resource} in flavor {found.flavor}: wants {found.wanted}"
        if found.never and not self.full:
            return f"{text}, and {found.most} is the most that its ClusterQueue can ever use"
        text += f", {found.free} free of {found.most}"
        if not found.short:
            return text
        text += f", {found.lacking} short"
        return f"{text}; held by {self._holders(found.held_by)}" if found.held_by else text

    def row(self, workloads: Sequence[str], shown: int = WORKLOADS_SHOWN, between: str = " < ") -> str:
        """Names in their order, as many as the form shows."""
        rest = 0 if self.full else max(0, len(workloads) - shown)
        text = between.join(workloads[: len(workloads) - rest])
        return f"{text} and {rest} more" if rest else text

    def _holders(self, found: tuple[Holder, ...]) -> str:
        return self.row([_holder(holder) for holder in found], HOLDERS_SHOWN, ", ")

    def _head(self, told: HeadTale) -> Iterator[str]:
        """One workload's turn."""
        turn = f"{told.turn}." if told.turn else "-"
        outcome = self._outcome(told)
        yield f"{turn} {told.workload} in {told.cluster_queue} (priority {told.priority}): {outcome}"
        short = {found.flavor for found in told.short}
        for pod_set in told.pod_sets:
            yield f"     {_pod_set(pod_set, taken=told.result in ('Admitted', 'Reserved'))}"
            if pod_set.places:
                places = ", ".join(f"{count} on {place}" for place, count in pod_set.places.items())
                yield f"       pods: {places}"
            if self.full or any(flavor.mode != "Fit" or flavor.borrows for flavor in pod_set.tried):
                yield from (f"       {self._tried(flavor, short)}" for flavor in pod_set.tried)
        for victim in told.victims:
            yield f"     takes the room of {victim.workload} in {victim.cluster_queue} ({victim.reason})"
        yield from (f"     {self.shortage(found)}" for found in told.short)
        if told.waits:
            yield f"     {_WAITS[told.waits]}"

    def _outcome(self, told: HeadTale) -> str:
        if told.result == "Admitted":
            return "ADMITTED"
        if told.result == "Reserved":
            return "QUOTA RESERVED, its admission checks are outstanding"
        said = {"Preempting": "PREEMPTS", "Skipped": "SKIPPED"}.get(told.result, "NOT ADMITTED")
        told_below = bool(told.short or told.victims) and told.result != "Skipped"
        message = "" if told_below and not self.full else told.message
        return f"{said}, {': '.join(part for part in (told.reason, message) if part)}"

    def _tried(self, flavor: Tried, short: set[str]) -> str:
        borrows = f", borrowing up to level {flavor.borrows} of its cohorts" if flavor.borrows else ""
        problems = [text for text in flavor.problem.split(";") if text]
        if not self.full and flavor.flavor in short:
            problems = [text for text in problems if not text.strip().startswith(_ABOUT_QUOTA)]
        problem = f": {'; '.join(problems)}" if problems else ""
        return f"tried {flavor.flavor}: {MODES[flavor.mode]}{borrows}{problem}"

    def _queues(self, tale: CycleTale) -> Iterator[str]:
        for queue in sorted(tale.queue.keys() | tale.inadmissible.keys() | tale.usage.keys()):
            parts = []
            if queue in tale.queue:
                parts.append(f"waiting {self.row(tale.queue[queue])}")
            if queue in tale.inadmissible:
                parts.append(f"set aside {self.row(tale.inadmissible[queue])}")
            if queue in tale.usage:
                parts.append(f"in use {_usage(tale.usage[queue])}")
            yield f"  {queue}: {'; '.join(parts)}"


class Summary:
    """What a story came to; its cycles are added as they are told."""

    def __init__(self) -> None:
        self._cycles = 0
        self._results: dict[str, int] = {}
        self._victims = 0
        self._last: CycleTale | None = None

    def add(self, tale: CycleTale) -> None:
        self._cycles += 1
        self._last = tale
        for head in tale.heads:
            self._results[head.result] = self._results.get(head.result, 0) + 1
            self._victims += len(head.victims)

    def line(self) -> str:
        """Empty for a story without cycles."""
        if self._last is None:
            return ""
        parts = [counted(self._cycles, "cycle"), counted(self._results.get("Admitted", 0), "admission")]
        reserved = self._results.get("Reserved", 0)
        if reserved:
            parts.append(counted(reserved, "quota reservation"))
        parts.append(counted(self._victims, "preempted workload"))
        waiting = sum(map(len, self._last.queue.values()))
        aside = sum(map(len, self._last.inadmissible.values()))
        return f"{', '.join(parts)}; after the last cycle {waiting} in the queues and {aside} set aside"


def _holder(holder: Holder) -> str:
    marks = [holder.cluster_queue, *(["borrows"] if holder.borrowed else []), *(["leaving"] if holder.evicted else [])]
    return f"{holder.workload} {holder.amount} ({', '.join(marks)})"


def _pod_set(pod_set: PodSetTale, *, taken: bool) -> str:
    count = counted(pod_set.count, "pod")
    if pod_set.count != pod_set.wanted_count:
        count = f"{pod_set.count} of {counted(pod_set.wanted_count, 'pod')}"
    requests = ", ".join(f"{name} {amount}" for name, amount in pod_set.requests.items()) or "nothing"
    return f"{pod_set.name}: {count}, {requests}{_chosen(pod_set.flavors, taken=taken)}"


def _chosen(flavors: dict[str, str], *, taken: bool) -> str:
    """`` -> cpu, memory from reserved; gpu from a100``, or what would be taken if it had been let in."""
    if not flavors:
        return ""
    by_flavor: dict[str, list[str]] = {}
    for resource, flavor in sorted(flavors.items()):
        by_flavor.setdefault(flavor, []).append(resource)
    text = "; ".join(f"{', '.join(names)} from {name}" for name, names in by_flavor.items())
    return f" -> {text}" if taken else f" -> would take {text}"


def _usage(flavors: dict[str, dict[str, str]]) -> str:
    used = [f"{flavor}/{name} {amount}" for flavor, amounts in flavors.items() for name, amount in amounts.items()]
    return ", ".join(used)
