"""TopologyRoom: the node rooms of all flavors with a topology, kept up to date with nodes, pods and reservations.

Rooms are built when first asked for. Later changes are taken over in place; only another set of nodes, other labels,
taints or levels build a flavor's room anew.
"""

from collections.abc import Iterable, Sequence

from worker_agent.api.meta import Key
from worker_agent.api.names import HOSTNAME_LABEL
from worker_agent.engine.catalog import Catalog
from worker_agent.engine.flavor_row import FlavorRow
from worker_agent.engine.node_room import NodeRow
from worker_agent.engine.tas import node_facts
from worker_agent.engine.tas.flavor_room import FlavorRoom, NodeFacts, Shortage
from worker_agent.engine.tas.placed_pods import PlacedPods
from worker_agent.engine.trial import Journal


class TopologyRoom:
    """``shared``: pods on a host count for every flavor that has the host (spec/tas 5.4)."""

    __slots__ = ("_catalog", "_journal", "_placed", "_reported", "_rooms", "_shared")

    def __init__(self, catalog: Catalog, journal: Journal, shared: bool) -> None:
        self._catalog = catalog
        self._journal = journal
        self._shared = shared
        self._rooms: dict[str, FlavorRoom] = {}
        self._placed: dict[str, dict[Key, list[PlacedPods]]] = {}
        """Flavor -> workload -> its pods there, of all reservations."""
        self._reported: dict[str, Sequence[NodeFacts]] = {}

    # -- rooms -----------------------------------------------------------------------------------------------------

    def room(self, flavor: str) -> FlavorRoom | None:
        """None for a flavor without topology, or whose topology is not there."""
        if self._catalog.nodes.touched:
            self._follow_nodes()
        room = self._rooms.get(flavor)
        if room is None:
            row, levels = self._catalog.flavors.get(flavor), self.levels(flavor)
            if row is None or not levels:
                return None
            room = self._rooms[flavor] = self._build(row, levels)
        return room

    def report(self, flavor: str, nodes: Sequence[NodeFacts] | None) -> None:
        """Somebody who sees the nodes tells of a flavor's; None: no longer. They stand in for the catalog's."""
        if nodes is None:
            known = self._reported.pop(flavor, None)
        else:
            known, self._reported[flavor] = self._reported.get(flavor), nodes
        if known != nodes:
            self._rooms.pop(flavor, None)

    def is_reported(self, flavor: str) -> bool:
        return flavor in self._reported

    def levels(self, flavor: str) -> Sequence[str]:
        """Node labels of the flavor's topology; none when there is no such flavor or topology."""
        row = self._catalog.flavors.get(flavor)
        topology = self._catalog.topologies.get(row.topology) if row is not None and row.topology else None
        return [level.node_label for level in topology.spec.levels] if topology is not None else []

    def _build(self, row: FlavorRow, levels: Sequence[str]) -> FlavorRoom:
        reported = self._reported.get(row.name)
        if reported is not None:
            mine: Sequence[NodeFacts] = reported
        else:
            mine = self._own_nodes(row, levels)
        room = FlavorRoom(row.name, row.topology, row.tolerations, levels, mine)
        counting = [self._placed.get(flavor, {}) for flavor in self._counting_for(row.name, room.tree.hostname)]
        room.count_all(pods for held in counting for placed in held.values() for pods in placed)
        return room

    def _own_nodes(self, row: FlavorRow, levels: Sequence[str]) -> list[NodeFacts]:
        nodes = self._catalog.nodes
        facts = (node_facts.of(node, nodes) for node in nodes.nodes.values())
        return [fact for fact in facts if fact is not None and node_facts.belongs(fact.labels, row.labels, levels)]

    def _counting_for(self, flavor: str, hostname: bool) -> Iterable[str]:
        if not (self._shared and hostname):
            return (flavor,)
        return [name for name in self._placed if self._has_hosts(name)]

    def _has_hosts(self, flavor: str) -> bool:
        levels = self.levels(flavor)
        return bool(levels) and levels[-1] == HOSTNAME_LABEL

    def flavors_with(self, node: NodeRow | None) -> list[str]:
        """Flavors with a topology to which the node belongs, in whatever state it is."""
        if node is None:
            return []
        found = []
        for name, row in self._catalog.flavors.items():
            levels = self.levels(name) if row.topology else ()
            if levels and node_facts.belongs(node.labels, row.labels, levels):
                found.append(name)
        return found

    def configuration_changed(self) -> None:
        """A flavor or topology came, went or changed."""
        self._rooms.clear()

    def _follow_nodes(self) -> None:
        nodes = self._catalog.nodes
        for name in sorted(nodes.touched) if self._rooms else ():
            row = nodes.nodes.get(name)
            facts = None if row is None else node_facts.of(row, nodes)
            for flavor, room in list(self._rooms.items()):
                labels = self._catalog.flavors[flavor].labels
                mine = (
                    facts if facts is not None and node_facts.belongs(facts.labels, labels, room.tree.levels) else None
                )
                if not room.follow(name, mine):
                    del self._rooms[flavor]
        nodes.touched.clear()

    # -- usage -----------------------------------------------------------------------------------------------------

    def hold(self, key: Key, placed: Iterable[PlacedPods]) -> None:
        """A workload reserved its places."""
        for pods in placed:
            self._placed.setdefault(pods.flavor, {}).setdefault(key, []).append(pods)
            for room in self._rooms_counting(pods.flavor):
                room.count(pods, 1)

    def release(self, key: Key, placed: Iterable[PlacedPods]) -> None:
        for pods in placed:
            self._placed.get(pods.flavor, {}).pop(key, None)
            for room in self._rooms_counting(pods.flavor):
                room.count(pods, -1)

    def _rooms_counting(self, flavor: str) -> list[FlavorRoom]:
        if self._shared and self._has_hosts(flavor):
            return [room for room in self._rooms.values() if room.tree.hostname]
        return [self._rooms[flavor]] if flavor in self._rooms else []

    def try_use(self, placed: Iterable[PlacedPods], sign: int) -> None:
        """Inside a trial: only the flavor under which pods are recorded notices, as in the reference."""
        for pods in placed:
            room = self.room(pods.flavor)
            if room is not None:
                room.use(pods, sign, self._journal)

    def shortage(self, placed: Iterable[PlacedPods]) -> Shortage | None:
        """What keeps pods from their room, if anything does; a flavor without nodes of its own is not asked."""
        for pods in placed:
            room = self.room(pods.flavor)
            found = None if room is None else room.shortage(pods)
            if found is not None:
                return found
        return None
