"""PlacedPods: what the pods of one pod set use on the nodes of one flavor."""

from typing import NamedTuple

from worker_agent.engine.resources import PODS, Requests
from worker_agent.engine.tas.topology_assignment import TopologyAssignment


class PlacedPods(NamedTuple):
    """``counts`` pods per leaf; ``requests`` are one pod's, itself counted."""

    flavor: str
    leaves: tuple[str, ...]
    counts: tuple[int, ...]
    requests: Requests
    pod_set: str = ""

    def beyond(self, before: "PlacedPods") -> "PlacedPods":
        """The pods that each leaf holds beyond those it held before (never less than none)."""
        known = dict(zip(before.leaves, before.counts, strict=True))
        more = [(leaf, count - known.get(leaf, 0)) for leaf, count in zip(self.leaves, self.counts, strict=True)]
        grown = [(leaf, count) for leaf, count in more if count > 0]
        return self._replace(leaves=tuple(leaf for leaf, _ in grown), counts=tuple(count for _, count in grown))


def of(flavor: str, assignment: TopologyAssignment, requests: Requests, pod_set: str = "") -> PlacedPods:
    """``requests``: one pod's, itself counted. A leaf is named by its host, or by all its values."""
    return PlacedPods(flavor, assignment.leaves, assignment.counts, requests, pod_set)


def with_pod(requests: Requests) -> Requests:
    """One pod's requests, itself counted."""
    return {**requests, PODS: requests.get(PODS, 0) + 1}
