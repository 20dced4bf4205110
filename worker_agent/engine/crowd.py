"""Crowd: pending workloads of one queue that fare alike, kept in order.

Members have an equal scheduling hash, namespace and LocalQueue, so whatever parks or wakes one of them does so to all.
Parking and waking a crowd costs the same however many they are, and of an active crowd only the first member competes.
"""

import heapq

from worker_agent.api.meta import Key
from worker_agent.engine.queue_order import Order
from worker_agent.engine.workload_info import WorkloadRow


class Crowd:
    """``number`` tells its valid entry among the competitors of the queue; 0 while it has none."""

    __slots__ = ("_heap", "hash", "number", "parked", "place", "queue", "rows")

    def __init__(self, place: object, row: WorkloadRow) -> None:
        self.place = place
        """Under what the queue finds it."""
        self.hash: str = row.hash
        self.queue: Key = row.queue
        self.rows: dict[Key, tuple[Order, WorkloadRow]] = {}
        self.parked = False
        self.number = 0
        self._heap: list[Order] = []

    def add(self, order: Order, row: WorkloadRow) -> None:
        """Enter a member, or its new version."""
        known = self.rows.get(row.key)
        if known is not None and known[0] == order:
            order = known[0]
        else:
            heapq.heappush(self._heap, order)
        self.rows[row.key] = (order, row)

    def remove(self, key: Key) -> WorkloadRow:
        row = self.rows.pop(key)[1]
        # Entries of members that left stay in the heap until they surface; clear them before they outnumber the rest.
        if len(self._heap) > 2 * len(self.rows) + 16:
            self._heap = [order for order, _ in self.rows.values()]
            heapq.heapify(self._heap)
        return row

    def best(self) -> Order | None:
        """Of the member that comes first; None when nobody is left."""
        heap = self._heap
        while heap:
            order = heap[0]
            found = self.rows.get(order.key)
            if found is not None and found[0] is order:
                return order
            heapq.heappop(heap)
        return None

    def any_row(self) -> WorkloadRow:
        """Some member: they fare alike. There must be one."""
        return next(iter(self.rows.values()))[1]
