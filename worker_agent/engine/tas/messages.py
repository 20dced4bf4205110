"""Why no place was found, in the words that users and other tools read (spec/tas 12)."""

from collections.abc import Mapping

from worker_agent.engine.tas.ask import Placing
from worker_agent.engine.tas.counting import Counts
from worker_agent.engine.tas.flavor_room import FlavorRoom
from worker_agent.engine.tas.search import NoDomains, TooFew

Failure = TooFew | NoDomains


def refusal(room: FlavorRoom, counts: Counts, placing: Placing, failure: Failure) -> str:
    if isinstance(failure, NoDomains):
        return f"no topology domains at level: {room.tree.levels[failure.level]}"
    if len(placing.layers) > 1:
        return _by_layer(room, counts, placing, failure.level)
    unit = "pod" if placing.slice_size == 1 else "slice"
    if failure.fit <= 0:
        return f'topology "{room.topology}" doesn\'t allow to fit any of {failure.wanted} {unit}(s)'
    return f'topology "{room.topology}" allows to fit only {failure.fit} out of {failure.wanted} {unit}(s)'


def _by_layer(room: FlavorRoom, counts: Counts, placing: Placing, level: int) -> str:
    """What fits of each layer in the best domain of the level where the search ended."""
    tree = room.tree
    slices = counts.slices[level]
    best = min((int(i) for i in (slices == slices.max()).nonzero()[0]), key=lambda i: tree.domain_id(level, i))
    start, end = tree.leaves_below(level, best)
    told = [f'topology "{room.topology}" doesn\'t allow to fit']
    for layer in placing.layers:
        below = tree.levels.index(layer.level)
        first, past = tree.domains_of_leaves(below, start, end)
        fit = int((counts.pods[below][first:past] // layer.size).sum()) if below >= level else 0
        told.append(f"{fit}/{placing.count // layer.size} slice(s) fit on level {layer.level}")
    return "; ".join(told)


def exclusions(leaves: int, excluded: Mapping[str, int]) -> str:
    """The end of a refusal: how many nodes were not usable, and why."""
    if not excluded:
        return ""
    reasons = ", ".join(sorted(f"{reason}: {count}" for reason, count in excluded.items()))
    return f". Total nodes: {leaves}; excluded: {reasons}"
