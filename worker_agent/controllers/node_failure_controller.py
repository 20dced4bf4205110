"""The node controller's shell: which Workloads a failed, tainted or removed node concerns, and what becomes of them.

``engine.tas.node_failures`` decides; a Workload whose node is marked gets a new place for its pods there in the next
scheduling cycle that looks at it.
"""

from collections.abc import Iterable
from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at
from worker_agent.api.meta import Key
from worker_agent.api.names import HOSTNAME_LABEL
from worker_agent.api.pod import Node, Pod
from worker_agent.api.resource_type import NODES, RESOURCE_FLAVORS, WORKLOADS
from worker_agent.api.workload import Workload
from worker_agent.controllers import topology_pods
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.controllers.topology_pods import TopologyPods
from worker_agent.engine import workload_status
from worker_agent.engine.tas import node_failures, pod_writes, workload_facts
from worker_agent.engine.tas.node_failures import FailureRules, NodeView
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event, Informer

POD_BATCH_SECONDS: Final = 0.1
NODE_INDEX: Final = "placed on"
_ENDED: Final = ("Succeeded", "Failed")


def by_node(workload: Workload) -> Iterable[str]:
    """Hosts of an admitted Workload's assignment."""
    if workload.status.admission is None or workload.is_true(names.FINISHED):
        return
    for place in workload_facts.existing(workload).values():
        if place.levels[-1] == HOSTNAME_LABEL:
            yield from (domain.values[-1] for domain in place.domains)


class NodeFailureController:
    """Reconciles nodes, by name, when they, the Workloads placed on them or those Workloads' pods change."""

    def __init__(
        self, known: KnownObjects, pods: TopologyPods, applier: Applier, rules: FailureRules, clock: Clock
    ) -> None:
        self._known = known
        self._pods = pods
        self._applier = applier
        self._rules = rules
        self._clock = clock
        self.controller: Controller[str] = Controller("node failures", self._reconcile, workers=5, clock=clock)
        self._nodes: Informer[Node] = known.informer(NODES)
        self._workloads: Informer[Workload] = known.informer(WORKLOADS)
        self._workloads.add_index(NODE_INDEX, by_node)
        self._nodes.add_handler(self._node_changed)
        self._workloads.add_handler(self._workload_changed)
        pods.informer.add_handler(self._pod_changed)

    async def run(self) -> None:
        await self.controller.run()

    def _node_changed(self, event: Event[Node]) -> None:
        old, new = event.old, event.new
        if old is None or new is None or _told(old) != _told(new):
            self.controller.enqueue(event.key.name)

    def _workload_changed(self, event: Event[Workload]) -> None:
        """A place on a node that failed while the admission was on its way has no other event to tell of it."""
        new = event.new
        if new is None or (event.old is not None and event.old.status.admission == new.status.admission):
            return
        for name in by_node(new):
            node = self._nodes.get(Key("", name))
            if node is None or not _is_healthy(node):
                self.controller.enqueue(name)

    def _pod_changed(self, event: Event[Pod]) -> None:
        pod = event.new or event.old
        if pod is None or not topology_pods.slice_of(pod):
            return
        node = pod.spec.node_name
        ending = event.new is None or pod.metadata.deletion_timestamp is not None or pod.status.phase in _ENDED
        if node and ending:
            self.controller.enqueue(node, POD_BATCH_SECONDS)
        elif not node and event.new is not None:
            for pinned in topology_pods.nodes_of(pod):
                self.controller.enqueue(pinned, POD_BATCH_SECONDS)

    async def _reconcile(self, name: str) -> float | None:
        if not self._workloads.by_index(NODE_INDEX, name) and not self._pods.any_on(name):
            return None
        view = self._view(name)
        now = self._clock.now()
        decision = node_failures.decide(view, self._rules, now)
        after = await self._applier.apply(pod_writes.of_failures(decision, view.workloads, now))
        return decision.requeue_after or after

    def _view(self, name: str) -> NodeView:
        """Everything is read in one turn of the loop, so that it shows one moment."""
        pods = self._pods.on(name)
        workloads = {workload_status.key_of(w): w for w in self._known.documents(WORKLOADS, NODE_INDEX, name)}
        for pod in pods:
            key = Key(pod["metadata"]["namespace"], pod["metadata"]["annotations"].get(names.WORKLOAD_ANNOTATION, ""))
            stray = None if key in workloads else self._known.document(WORKLOADS, key)
            if stray is not None:
                workloads[key] = stray
        return NodeView(
            name,
            self._known.document(NODES, Key("", name)),
            list(workloads.values()),
            pods,
            self._flavors(workloads.values()),
        )

    def _flavors(self, workloads: Iterable[Document]) -> dict[str, Document]:
        used = {
            flavor
            for workload in workloads
            for assignment in at(workload, ("status", "admission", "podSetAssignments"), [])
            for flavor in (assignment.get("flavors") or {}).values()
        }
        found = ((name, self._known.document(RESOURCE_FLAVORS, Key("", name))) for name in used)
        return {name: flavor for name, flavor in found if flavor is not None}


def _told(node: Node) -> tuple[object, ...]:
    """What makes a node fail or recover."""
    return _ready(node), node.spec.taints


def _ready(node: Node) -> str:
    return next((c.status for c in node.status.conditions or () if c.type == "Ready"), "")


def _is_healthy(node: Node) -> bool:
    return _ready(node) == "True" and not node.spec.taints
