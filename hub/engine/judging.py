"""How one workload stands with one cluster: the cheap questions, then what the worker's own engine would decide, then
whether its nodes have the room that its quota promises."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from hub.engine import expected_wait, known_answers, node_fit, screen
from hub.engine.evaluation import Evaluation, Outlook, Request
from hub.engine.known_answers import Alike
from hub.engine.node_fit import Holding
from hub.engine.views import Views, WorkerView
from worker_agent.api import names, quantity, timestamps
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine import resources, simulate, workload_info
from worker_agent.engine.cluster_queue import ClusterQueueRow
from worker_agent.engine.conditions import Phase
from worker_agent.engine.nomination import Search
from worker_agent.engine.policy import Policy
from worker_agent.engine.preemption import victims
from worker_agent.engine.resources import Requests
from worker_agent.engine.simulate import Verdict
from worker_agent.engine.tas.topology_placement import TopologyPlacement
from worker_agent.engine.workload_info import WorkloadRow

THOUSANDTHS: Final = 1000
_decoder = msgspec.json.Decoder(Workload)

_OUTLOOKS: Final = {
    simulate.Outlook.FITS: Outlook.FITS,
    simulate.Outlook.FITS_AFTER_PREEMPTION: Outlook.FITS_AFTER_PREEMPTION,
    simulate.Outlook.WAITS: Outlook.WAITS,
    simulate.Outlook.IMPOSSIBLE: Outlook.IMPOSSIBLE,
}


def evaluate(request: Request, views: Views, policy: Policy, now: datetime) -> list[Evaluation]:
    """One evaluation per cluster of the request, in its order."""
    question = _Question(request, _decoder.decode(request.workload), policy, now)
    return [question.ask(cluster, views.get(cluster)) for cluster in request.clusters]


class _Question:
    """One workload, asked about cluster by cluster."""

    def __init__(self, request: Request, workload: Workload, policy: Policy, now: datetime) -> None:
        self._request = request
        self._workload = workload
        self._search = victims.search_of(policy)
        self._now = now
        self._plain: WorkloadRow | None = None
        """Its row where neither LimitRanges nor runtime classes have a say: the same in all such clusters."""
        self._alike: Alike | None = None
        """What it has in common with workloads that are judged like it, by that row."""

    def ask(self, cluster: str, view: WorkerView | None) -> Evaluation:
        """The answer that this cluster gave to a workload like it, else a new one."""
        alike = self._likeness(view) if view is not None else None
        if view is None or alike is None:
            return self._judged(cluster, view)
        found = known_answers.get(view, alike)
        if found is None:
            found = self._judged(cluster, view)
            known_answers.keep(view, alike, found)
        return found

    def _likeness(self, view: WorkerView) -> Alike | None:
        """None where the workload stands already, or where the cluster has rules of its own for its pods."""
        key = Key(self._request.namespace, self._request.name)
        if key in view.state.rows or not view.state.shapes.is_plain(self._request.namespace):
            return None
        if self._plain is None:
            self._alike = known_answers.likeness(self._request.framework, self._row(view, None))
        return self._alike

    def _judged(self, cluster: str, view: WorkerView | None) -> Evaluation:
        refused = screen.screen(view, cluster, self._request, self._workload)
        if refused is not None or view is None:
            return refused or Evaluation(cluster, int(Outlook.UNKNOWN))
        state = view.state
        known = state.rows.get(Key(self._request.namespace, self._request.name))
        row = known
        if known is None or known.phase not in (Phase.RESERVED, Phase.ADMITTED):
            row = self._row(view, known)
        assert row is not None
        verdict = simulate.verdict_on(row, state, self._now, Search(self._search, TopologyPlacement(state)))
        return _Judgement(view, row, verdict, timestamps.micros(self._now)).evaluation()

    def _row(self, view: WorkerView, known: WorkloadRow | None) -> WorkloadRow:
        """Of what would be sent there; the copy that waits there already has its own place in the queue."""
        shapes = view.state.shapes
        if known is not None and known.phase == Phase.PENDING:
            return workload_info.build(known.workload, shapes)
        if not shapes.is_plain(self._request.namespace):
            return workload_info.build(self._workload, shapes)
        if self._plain is None:
            self._plain = workload_info.build(self._workload, shapes)
        return self._plain


class _Judgement:
    """A verdict in figures that clusters can be compared by."""

    def __init__(self, view: WorkerView, row: WorkloadRow, verdict: Verdict, now: int) -> None:
        self._now = now
        self._view = view
        self._row = row
        self._verdict = verdict
        name = verdict.cluster_queue or row.reserved_in
        self._queue: ClusterQueueRow | None = view.state.cluster_queues.get(name)
        self._asked: Requests = resources.total(pod_set.requests for pod_set in row.pod_sets)

    def evaluation(self) -> Evaluation:
        verdict = self._verdict
        outlook, reason, message = self._on_nodes() or (_OUTLOOKS[verdict.kind], verdict.reason, self._message())
        return Evaluation(
            cluster=self._view.cluster,
            outlook=int(outlook),
            reason=reason,
            message=message,
            position=-1 if verdict.position is None else verdict.position,
            wait=self._wait(),
            load=self._load(),
            free=self._free(),
            victims=len(verdict.victims),
            lost_pod_seconds=verdict.lost_pod_seconds,
            price=self._price(),
            exact=self._view.exact,
            admission=msgspec.json.encode(verdict.assignment) if verdict.assignment is not None else b"",
            provisions=self._provisions(),
        )

    def _message(self) -> str:
        verdict = self._verdict
        if verdict.kind is simulate.Outlook.FITS:
            flavors = sorted({flavor for assignment in self._assignments() for flavor in assignment.values()})
            when = "once its nodes have come" if self._provisions() else "now"
            return f"fits {when} in {', '.join(flavors)}" if flavors else f"fits {when}"
        if verdict.kind is simulate.Outlook.FITS_AFTER_PREEMPTION:
            lost = verdict.lost_pod_seconds
            return f"fits after preempting {len(verdict.victims)} workload(s), {lost} pod-seconds lost"
        if verdict.kind is simulate.Outlook.WAITS:
            ahead = f" behind {verdict.position} workload(s)" if verdict.position else ""
            return f"waits for quota{ahead}: {verdict.message}"
        return f"impossible: {verdict.message}"

    def _provisions(self) -> bool:
        """Whether its nodes have to come first: those it would ask for, or has asked for with the quota it holds."""
        if self._queue is None:
            return False
        if self._verdict.assignment is not None:
            flavors = {flavor for assignment in self._assignments() for flavor in assignment.values()}
        elif self._row.phase is Phase.RESERVED and self._row.workload.status.admission is not None:
            assignments = self._row.workload.status.admission.pod_set_assignments
            flavors = {flavor for assignment in assignments for flavor in (assignment.flavors or {}).values()}
        else:
            return False
        return node_fit.makes_nodes(self._view, self._queue, flavors)

    def _assignments(self) -> Iterable[dict[str, str]]:
        for assignment in value_at(self._verdict.assignment, "podSetAssignments", []):
            yield assignment.get("flavors") or {}

    def _on_nodes(self) -> tuple[Outlook, str, str] | None:
        """What stands against a promise of quota on the side of the nodes; None when nothing does, as far as known."""
        view, verdict, queue = self._view, self._verdict, self._queue
        if verdict.kind is simulate.Outlook.IMPOSSIBLE or queue is None or node_fit.makes_nodes(view, queue):
            return None
        if verdict.kind is simulate.Outlook.FITS and verdict.assignment is None:
            return None  # it holds its quota there already
        if view.awaits_report(node_fit.flavors(view, queue, self._row, verdict.assignment)):
            return Outlook.WAITS_FOR_ROOM, "NoReportYet", "its agent has not told of its nodes yet"
        held = node_fit.holding(view, queue, self._row, verdict.assignment)
        if held is Holding.NONE:
            message = f"no node is large enough for {self._pods()}, not even an empty one"
            return Outlook.IMPOSSIBLE, "TooLargeForNodes", message
        if held is Holding.SOME:
            message = f"{self._message()}; some flavors it may get then have no node large enough for {self._pods()}"
            return Outlook.MAY_NEVER_START, "MayBeTooLarge", message
        placed = verdict.assignment is not None and node_fit.placed_by_topology(verdict.assignment)
        if placed and node_fit.asks_for_unknown_labels(view, self._row, self._assignments()):
            message = f"{self._message()}; whether nodes have the labels that its affinity asks for is not known here"
            return Outlook.WAITS_FOR_ROOM, "UnknownNodeLabels", message
        if verdict.assignment is not None and not placed and not view.has_nodes(self._row, verdict.assignment):
            message = f"quota is free, but no nodes have room for {self._pods()} now"
            return Outlook.WAITS_FOR_ROOM, "NoRoomOnNodes", message
        return None

    def _pods(self) -> str:
        shapes = []
        for pod_set in self._row.pod_sets:
            if pod_set.count:
                each = {name: amount // pod_set.count for name, amount in pod_set.requests.items()}
                words = ", ".join(f"{name} {text}" for name, text in sorted(resources.documents(each).items()))
                shapes.append(f"{pod_set.count} {'pod' if pod_set.count == 1 else 'pods'} of {words}")
        return " and ".join(shapes)

    def _wait(self) -> int:
        """Where it waits for quota: for what it lacks once those ahead of it have theirs."""
        if self._queue is None or self._verdict.kind is not simulate.Outlook.WAITS:
            return 0
        left, ahead = simulate.room_left(self._view.state, self._queue), self._verdict.demand_ahead
        missing = {name: ahead.get(name, 0) + asked - left.get(name, 0) for name, asked in self._asked.items()}
        return expected_wait.milliseconds(self._queue, missing, self._now)

    def _load(self) -> int:
        """Demand ahead, usage and its own, in thousandths of the queue's quota: the fullest resource counts."""
        if self._queue is None:
            return 0
        shares = []
        for name, asked in self._asked.items():
            nominal, used = self._nominal(name)
            demand = self._verdict.demand_ahead.get(name, 0) + asked + used
            shares.append(demand * THOUSANDTHS // nominal if nominal > 0 else 0)
        return max(shares, default=0)

    def _free(self) -> int:
        """What would be left of the queue's reach, in thousandths of its quota: the scarcest resource counts."""
        if self._queue is None:
            return 0
        left = simulate.room_left(self._view.state, self._queue)
        shares = []
        for name, asked in self._asked.items():
            nominal, _ = self._nominal(name)
            if nominal > 0:
                shares.append((left.get(name, 0) - asked) * THOUSANDTHS // nominal)
        return min(shares, default=0)

    def _nominal(self, resource: str) -> tuple[int, int]:
        """Nominal quota of one resource over all flavors, and what is in use of it."""
        assert self._queue is not None
        node = self._queue.node
        nominal = sum(quota.nominal for fr, quota in node.quotas.items() if fr[1] == resource)
        return nominal, sum(node.usage.get(fr, 0) for fr in node.quotas if fr[1] == resource)

    def _price(self) -> int:
        """The dearest of the assigned flavors, in millionths per hour."""
        prices = [_price_of(self._view, flavor) for assignment in self._assignments() for flavor in assignment.values()]
        return max(prices, default=0)


def _price_of(view: WorkerView, flavor: str) -> int:
    row = view.state.catalog.flavors.get(flavor)
    text = row.view.metadata.annotation(names.PRICE_ANNOTATION) if row is not None else ""
    try:
        return quantity.nanos(text) // 1000 if text else 0
    except quantity.QuantityError:
        return 0
