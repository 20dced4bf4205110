"""Failure recovery's shell: watches pods that may be ended by force, and the nodes that they hang on."""

from collections.abc import Iterable

import msgspec

from worker_agent.api import names, need
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node, Pod
from worker_agent.api.resource_type import NODES, PODS
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import failure_recovery
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import NotFound
from worker_agent.kube.informer import Event, Informer

FORCEFUL_INDEX = "ended by force on"
"""Pods that are on their way out and may be ended by force, by node."""


NEEDS = (
    need.of(PODS, "get", "delete", unseen="pods of lost nodes, past their deadline, behind a gate"),
    need.of(PODS, "patch", subresource="status"),
)


def by_node(pod: Pod) -> Iterable[str]:
    allowed = pod.metadata.annotation(names.SAFE_TO_FORCEFULLY_DELETE_ANNOTATION) == "true"
    if allowed and pod.metadata.deletion_timestamp is not None and pod.spec.node_name:
        yield pod.spec.node_name


class FailureRecoveryController:
    """Reconciles pods of any kind, whoever made them."""

    def __init__(self, client: Client, known: KnownObjects, applier: Applier, clock: Clock) -> None:
        self._client = client
        self._known = known
        self._applier = applier
        self._clock = clock
        self.controller: Controller[Key] = Controller("failure recovery", self._reconcile, clock=clock)
        self._pods: Informer[Pod] = known.informer(PODS)
        self._pods.add_index(FORCEFUL_INDEX, by_node)
        self._pods.add_handler(self._pod_changed)
        known.informer(NODES).add_handler(self._node_changed)

    async def run(self) -> None:
        await self.controller.run()

    def _pod_changed(self, event: Event[Pod]) -> None:
        if event.new is not None and any(True for _ in by_node(event.new)):
            self.controller.enqueue(event.key)

    def _node_changed(self, event: Event[Node]) -> None:
        if event.old is None or event.new is None or event.old.spec.taints != event.new.spec.taints:
            for pod in self._pods.by_index(FORCEFUL_INDEX, event.key.name):
                self.controller.enqueue(pod.metadata.key)

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.get(key)
        node = None if pod is None else self._known.document(NODES, Key("", pod.spec.node_name))
        if pod is None or node is None:
            return None
        # The cache holds no conditions of pods, and what is done by force is done on the pod as it is now.
        try:
            document = msgspec.json.decode(await self._client.get(PODS, key.name, key.namespace))
        except NotFound:
            return None
        return await self._applier.apply(failure_recovery.decide(document, node, self._clock.now()))
