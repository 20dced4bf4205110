"""What a scenario expects at one moment, held against the world: one line for each thing that is not so."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from worker_agent.api import durations, names, quantity
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.engine import resources, story_scenario
from worker_agent.engine.story_objects import WORKLOAD, StoryError
from worker_agent.engine.story_world import StoryWorld, condition_of, is_true


def unmet(world: StoryWorld, expected: Document, admitted_at: Mapping[Key, datetime], start: datetime) -> Iterator[str]:
    """Raises StoryError for an expectation of an unknown kind."""
    for what, wanted in expected.items():
        if what == "admittedAt":
            yield from _admission_times(wanted, admitted_at, start)
        elif what in _CHECKS:
            yield from _CHECKS[what](world, wanted)
        else:
            raise StoryError(f"expect.{what}: must be one of {', '.join([*_CHECKS, 'admittedAt'])}")


def _running(world: StoryWorld, wanted: Any) -> Iterator[str]:
    """Names, or name: flavor of its pods."""
    for name, flavor in _items(wanted):
        document = _workload(world, name)
        got = _flavor(document)
        if is_true(document, names.FINISHED) or not got:
            yield f"{name} is not running: {_state(document)}"
        elif flavor is not None and got != flavor:
            yield f"{name} runs on flavor {got} instead of {flavor}"


def _waiting(world: StoryWorld, wanted: Any) -> Iterator[str]:
    """Names, or name: reason of QuotaReserved=False."""
    for name, reason in _items(wanted):
        document = _workload(world, name)
        got = (condition_of(document, names.QUOTA_RESERVED) or {}).get("reason", "")
        if _flavor(document) or is_true(document, names.FINISHED):
            yield f"{name} is not waiting: {_state(document)}"
        elif reason is not None and got != reason:
            yield f"{name} waits with reason {got or '(none)'} instead of {reason}"


def _finished(world: StoryWorld, wanted: Any) -> Iterator[str]:
    for name, _ in _items(wanted):
        document = _workload(world, name)
        if not is_true(document, names.FINISHED):
            yield f"{name} is not finished: {_state(document)}"


def _preempted(world: StoryWorld, wanted: Any) -> Iterator[str]:
    """Names, or name: reason of Preempted; at any time so far."""
    for name, reason in _items(wanted):
        found = condition_of(_workload(world, name), names.PREEMPTED)
        if found is None:
            yield f"{name} was never preempted"
        elif reason is not None and found["status"] == "True" and found["reason"] != reason:
            yield f"{name} was preempted with reason {found['reason']} instead of {reason}"


def _undisturbed(world: StoryWorld, wanted: Any) -> Iterator[str]:
    for name, _ in _items(wanted):
        if condition_of(_workload(world, name), names.PREEMPTED) is not None:
            yield f"{name} was preempted"


def _pods(world: StoryWorld, wanted: Any) -> Iterator[str]:
    """Name: how many pods were admitted."""
    for name, count in _items(wanted):
        admission = (_workload(world, name).get("status") or {}).get("admission") or {}
        got = sum(one["count"] for one in admission.get("podSetAssignments") or ())
        if got != count:
            yield f"{name} has {got} pod(s) admitted instead of {count}"


def _queues(world: StoryWorld, wanted: Any) -> Iterator[str]:
    """ClusterQueue: its pending workloads in order."""
    for queue, row in wanted.items():
        pending = world.state.pending.get(queue)
        if pending is None:
            raise StoryError(f"expect.queues.{queue}: no such ClusterQueue")
        got = [order.key for order in sorted(pending.waiting().orders())]
        if got != [story_scenario.key_of(name) for name in row or ()]:
            yield f"{queue} has {', '.join(key.name for key in got) or 'nobody'} pending"


def _usage(world: StoryWorld, wanted: Any) -> Iterator[str]:
    """ClusterQueue: flavor: resource: amount in use."""
    for queue, flavors in wanted.items():
        row = world.state.cluster_queues.get(queue)
        if row is None:
            raise StoryError(f"expect.usage.{queue}: no such ClusterQueue")
        for flavor, amounts in flavors.items():
            for resource, amount in amounts.items():
                got = row.node.usage.get((flavor, resource), 0)
                if got != _amount(resource, amount, f"expect.usage.{queue}.{flavor}.{resource}"):
                    yield f"{queue} uses {resources.text(resource, got)} {resource} of {flavor} instead of {amount}"


def _amount(resource: str, amount: Any, place: str) -> int:
    try:
        return quantity.value(resource, amount)
    except quantity.QuantityError as error:
        raise StoryError(f"{place}: {amount!r}: {error}") from None


_CHECKS: Final[dict[str, Callable[[StoryWorld, Any], Iterator[str]]]] = {
    "running": _running,
    "waiting": _waiting,
    "finished": _finished,
    "preempted": _preempted,
    "undisturbed": _undisturbed,
    "pods": _pods,
    "queues": _queues,
    "usage": _usage,
}


def _admission_times(wanted: Any, admitted_at: Mapping[Key, datetime], start: datetime) -> Iterator[str]:
    """Name: when it was admitted last, counted from the start."""
    for name, moment in wanted.items():
        got = admitted_at.get(story_scenario.key_of(name))
        try:
            wanted_at = durations.parse(str(moment))
        except ValueError as error:
            raise StoryError(f"expect.admittedAt.{name}: {error}") from None
        if got is None:
            yield f"{name} was never admitted"
        elif got - start != wanted_at:
            yield f"{name} was admitted at {got - start} instead of {moment}"


def _items(wanted: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(wanted, dict):
        yield from wanted.items()
    else:
        yield from ((name, None) for name in wanted or ())


def _workload(world: StoryWorld, name: str) -> Document:
    found = world.objects.get((WORKLOAD, story_scenario.key_of(name)))
    if found is None:
        raise StoryError(f"expect: {name}: there is no such workload at this point")
    return found


def _flavor(document: Document) -> str:
    """Of its first pod set's first resource; empty without an admission."""
    admission = (document.get("status") or {}).get("admission") or {}
    flavors = [one.get("flavors") or {} for one in admission.get("podSetAssignments") or ()]
    return str(next(iter(flavors[0].values()), "")) if flavors else ""


def _state(document: Document) -> str:
    if is_true(document, names.FINISHED):
        return "it has finished"
    if _flavor(document):
        return f"it runs on {_flavor(document)}"
    found = condition_of(document, names.QUOTA_RESERVED) or {}
    return f"{found.get('reason', 'not looked at yet')}: {found.get('message', '')}"
