"""Elastic jobs: a bigger slice keeps the pods of the one it replaces where they are (spec/tas 16)."""

from dataclasses import replace

from worker_agent.engine.tas import placed_pods, placer
from worker_agent.engine.tas.ask import PodSetAsk
from worker_agent.engine.tas.flavor_room import FlavorRoom
from worker_agent.engine.tas.placer import Attempt
from worker_agent.engine.tas.replacement import full_path
from worker_agent.engine.tas.topology_assignment import TopologyAssignment

Both = tuple[TopologyAssignment, TopologyAssignment | None]


def reusable(room: FlavorRoom, workers: PodSetAsk, leader: PodSetAsk | None) -> bool:
    """Whether the previous places still exist."""
    if workers.previous is None or not _exists(room, workers.previous):
        return False
    return leader is None or leader.previous is None or _exists(room, leader.previous)


def _exists(room: FlavorRoom, assignment: TopologyAssignment) -> bool:
    return all(room.tree.leaf_of(domain.values) is not None for domain in assignment.domains)


def extend(room: FlavorRoom, workers: PodSetAsk, leader: PodSetAsk | None, attempt: Attempt) -> Both:
    """Places of which as many as possible are the previous ones. Raises Refused (then for the workers alone)."""
    previous = workers.previous
    if previous is None:
        return placer.place(room, workers, leader, attempt)
    led = None if leader is None else leader.previous
    if workers.count <= previous.pods:
        if leader is not None and led is None:
            return placer.place(room, workers, leader, attempt)
        return previous.first(workers.count), led
    attempt.assumed.append(placed_pods.of(room.name, previous, workers.with_pod))
    if leader is not None and led is not None:
        attempt.assumed.append(placed_pods.of(room.name, led, leader.with_pod))
    more = replace(workers, count=workers.count - previous.pods)
    found, found_led = placer.place(room, more, leader if led is None else None, attempt)
    return previous.merged(found, lambda values: full_path(room.tree, values)), led or found_led
