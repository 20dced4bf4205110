"""All pod sets of a workload on one flavor's nodes, group by group (spec/tas 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from worker_agent.engine.tas import elastic, placed_pods, placer, replacement
from worker_agent.engine.tas.ask import PodSetAsk
from worker_agent.engine.tas.flavor_room import FlavorRoom
from worker_agent.engine.tas.placer import Attempt, Refused
from worker_agent.engine.tas.topology_assignment import TopologyAssignment


class Outcome(NamedTuple):
    """Of one pod set: its place, or the reason why there is none."""

    assignment: TopologyAssignment | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is special about the workload. ``existing``: places of its pod sets as admitted."""

    unhealthy_node: str = ""
    """The failed node whose pods need a new place."""
    keeps_assignment: bool = False
    """It belongs to a single pod, which cannot move."""
    elastic: bool = False
    existing: Mapping[str, TopologyAssignment] = field(default_factory=dict)


def place_all(
    room: FlavorRoom, asks: Sequence[PodSetAsk], situation: Situation, attempt: Attempt
) -> dict[str, Outcome]:
    """By pod set. After a failure the pod sets of later groups are not looked at."""
    outcomes: dict[str, Outcome] = {}
    for group in _groups(asks):
        if situation.unhealthy_node:
            complete = _replace(room, group, situation, attempt, outcomes)
        else:
            complete = _place_group(room, group, situation, attempt, outcomes)
        if not complete:
            break
    return outcomes


def _groups(asks: Sequence[PodSetAsk]) -> list[list[PodSetAsk]]:
    groups: dict[str, list[PodSetAsk]] = {}
    for index, ask in enumerate(asks):
        groups.setdefault(str(index) if ask.group is None else ask.group, []).append(ask)
    return list(groups.values())


def _place_group(
    room: FlavorRoom,
    group: Sequence[PodSetAsk],
    situation: Situation,
    attempt: Attempt,
    outcomes: dict[str, Outcome],
) -> bool:
    workers, leader = placer.leaders_and_workers(group)
    extends = situation.elastic and elastic.reusable(room, workers, leader)
    try:
        place = elastic.extend if extends else placer.place
        found, led = place(room, workers, leader, attempt)
    except Refused as refused:
        for ask in [workers] if extends else group:
            outcomes[ask.name] = Outcome(None, str(refused))
        return False
    _settle(room, workers, found, extends, attempt, outcomes)
    if leader is not None and led is not None:
        _settle(room, leader, led, extends, attempt, outcomes)
    return True


def _settle(
    room: FlavorRoom,
    ask: PodSetAsk,
    found: TopologyAssignment,
    extends: bool,
    attempt: Attempt,
    outcomes: dict[str, Outcome],
) -> None:
    outcomes[ask.name] = Outcome(found)
    attempt.assumed.append(placed_pods.of(room.name, _new_part(found, ask, extends), ask.with_pod))


def _new_part(assignment: TopologyAssignment, ask: PodSetAsk, extends: bool) -> TopologyAssignment:
    """What is not among the assumed pods yet."""
    if not extends or ask.previous is None:
        return assignment
    before = {domain.values: domain.pods for domain in ask.previous.domains}
    grown = (d._replace(pods=d.pods - before.get(d.values, 0)) for d in assignment.domains)
    return TopologyAssignment(assignment.levels, tuple(d for d in grown if d.pods > 0))


def _replace(
    room: FlavorRoom,
    group: Sequence[PodSetAsk],
    situation: Situation,
    attempt: Attempt,
    outcomes: dict[str, Outcome],
) -> bool:
    for ask in group:
        existing = situation.existing.get(ask.name)
        if existing is None:
            continue
        if situation.keeps_assignment:
            outcomes[ask.name] = Outcome(existing)
            continue
        try:
            found, new = replacement.replace_node(room, ask, existing, situation.unhealthy_node, attempt)
        except Refused as refused:
            outcomes[ask.name] = Outcome(None, str(refused))
            return False
        outcomes[ask.name] = Outcome(found)
        attempt.assumed.append(placed_pods.of(room.name, new, ask.with_pod))
    return True
