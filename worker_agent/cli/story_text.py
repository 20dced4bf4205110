"""Stories in words: what ``replay`` and ``explain`` print for people."""

from collections.abc import Iterator
from typing import Final

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


def cycle(tale: CycleTale) -> Iterator[str]:
    """One cycle, with its queues and usage afterwards."""
    if not tale.heads:
        yield f"{tale.at}  a cycle without heads: no active ClusterQueue has a workload in its queue"
    else:
        yield f"{tale.at}  cycle {tale.cycle}: {len(tale.heads)} head(s)"
    for told in tale.heads:
        yield from (f"  {line}" for line in head(told))
    yield from _queues(tale)
    for line in tale.differences:
        yield f"  DIFFERS from the recording: {line}"


def event(told: Event) -> Iterator[str]:
    """What happened between cycles, or was expected."""
    yield f"{told.at}  {told.text}"
    for line in told.differences:
        yield f"  NOT SO: {line}"


def head(told: HeadTale) -> Iterator[str]:
    """One workload's turn."""
    turn = f"{told.turn}." if told.turn else "-"
    yield f"{turn} {told.workload} in {told.cluster_queue} (priority {told.priority}): {_outcome(told)}"
    for pod_set in told.pod_sets:
        yield f"     {_pod_set(pod_set)}"
        if pod_set.places:
            places = ", ".join(f"{count} on {place}" for place, count in pod_set.places.items())
            yield f"       pods: {places}"
        yield from (f"       {_tried(flavor)}" for flavor in pod_set.tried)
    for victim in told.victims:
        yield f"     takes the room of {victim.workload} in {victim.cluster_queue} ({victim.reason})"
    yield from (f"     {shortage(found)}" for found in told.short)
    if told.waits:
        yield f"     {_WAITS[told.waits]}"


_WAITS: Final = {
    "active": "stays in the queue and is tried again",
    "inadmissible": "set aside until something changes that could let it in",
}


def shortage(found: Shortage) -> str:
    """``cpu in flavor f: wants 4, 1 free, 3 short; held by ...``."""
    text = f"{found.resource} in flavor {found.flavor}: wants {found.wanted}, {found.free} free of {found.most}"
    if not found.short:
        return text
    text += f", {found.lacking} short"
    return f"{text}; held by {holders(found.held_by)}" if found.held_by else text


def holders(found: tuple[Holder, ...]) -> str:
    shown = [_holder(holder) for holder in found[:HOLDERS_SHOWN]]
    rest = len(found) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _holder(holder: Holder) -> str:
    marks = [holder.cluster_queue, *(["borrows"] if holder.borrowed else []), *(["leaving"] if holder.evicted else [])]
    return f"{holder.workload} {holder.amount} ({', '.join(marks)})"


def _outcome(told: HeadTale) -> str:
    if told.result == "Admitted":
        return "ADMITTED"
    if told.result == "Reserved":
        return "QUOTA RESERVED, its admission checks are outstanding"
    said = {"Preempting": "PREEMPTS", "Skipped": "SKIPPED"}.get(told.result, "NOT ADMITTED")
    return f"{said}, {': '.join(part for part in (told.reason, told.message) if part)}"


def _pod_set(pod_set: PodSetTale) -> str:
    count = f"{pod_set.count} pod(s)"
    if pod_set.count != pod_set.wanted_count:
        count = f"{pod_set.count} of {pod_set.wanted_count} pods"
    requests = ", ".join(f"{name} {amount}" for name, amount in pod_set.requests.items()) or "nothing"
    flavors = ", ".join(f"{resource} from {flavor}" for resource, flavor in pod_set.flavors.items())
    return f"{pod_set.name}: {count}, {requests}" + (f" -> {flavors}" if flavors else "")


def _tried(flavor: Tried) -> str:
    borrows = f", borrowing up to level {flavor.borrows} of its cohorts" if flavor.borrows else ""
    problem = f": {flavor.problem.replace(';', '; ')}" if flavor.problem else ""
    return f"tried {flavor.flavor}: {MODES[flavor.mode]}{borrows}{problem}"


def _queues(tale: CycleTale) -> Iterator[str]:
    for queue in sorted(tale.queue.keys() | tale.inadmissible.keys() | tale.usage.keys()):
        parts = []
        if queue in tale.queue:
            parts.append(f"waiting {_row(tale.queue[queue])}")
        if queue in tale.inadmissible:
            parts.append(f"set aside {_row(tale.inadmissible[queue])}")
        if queue in tale.usage:
            flavors = tale.usage[queue].items()
            used = [f"{flavor}/{name} {amount}" for flavor, amounts in flavors for name, amount in amounts.items()]
            parts.append(f"in use {', '.join(used)}")
        yield f"  {queue}: {'; '.join(parts)}"


def _row(workloads: list[str]) -> str:
    rest = len(workloads) - WORKLOADS_SHOWN
    return " < ".join(workloads[:WORKLOADS_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
