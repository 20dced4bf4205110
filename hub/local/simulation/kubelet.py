"""Shell of the kubelets of all simulated nodes: carries out ``pod_life`` and keeps a record of what ran to its end."""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass

import msgspec

from hub.local.simulation import job_pods, pod_life, pod_status
from hub.local.simulation.placement import is_ready
from hub.local.simulation.pod_life import NodeState
from worker_agent.api.document import Document
from worker_agent.api.meta import Key
from worker_agent.api.pod import Node
from worker_agent.api.resource_type import PODS
from worker_agent.kube.client import Client, PatchType
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.errors import Conflict, NotFound
from worker_agent.kube.informer import Event, Informer

log = logging.getLogger(__name__)

FIELD_MANAGER = "kubelet"
WORKERS = 16
NODE = "node"
"""Index of pods by the node they are bound to."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One pod that ran to its end. After a restart a pod that is still there is told again: count distinct ``uid``."""

    namespace: str
    pod: str
    uid: str
    node: str
    job_uid: str
    index: int | None
    phase: str


def log_completion(completion: Completion) -> None:
    """One line of JSON per pod, in logger ``fedhub.simulation.completions``: evidence for tests that kill processes."""
    completions_log.info("%s", msgspec.json.encode(asdict(completion)).decode())


completions_log = logging.getLogger("fedhub.simulation.completions")


class Kubelet:
    """Runs over an informer of pods that the caller runs; ``run`` may start once it has synced."""

    def __init__(
        self,
        client: Client,
        pods: Informer[Document],
        nodes: Informer[Node],
        clock: Clock,
        on_completion: Callable[[Completion], None] = log_completion,
    ) -> None:
        self._client = client
        self._pods = pods
        self._nodes = nodes
        self._clock = clock
        self._on_completion = on_completion
        self._told: set[str] = set()
        self._controller: Controller[Key] = Controller(
            "simulated kubelet", self._reconcile, workers=WORKERS, clock=clock
        )

    async def run(self) -> None:
        """Works until cancelled."""
        self._pods.add_index(NODE, lambda pod: [pod["spec"].get("nodeName", "")])
        self._pods.add_handler(self._pod_changed)
        self._nodes.add_handler(self._node_changed)
        await self._controller.run()

    def _pod_changed(self, event: Event[Document]) -> None:
        pod = event.new
        if pod is None:
            self._told.discard(job_pods.uid(event.old or {"metadata": {}}))
            return
        if pod["spec"].get("nodeName"):
            self._tell(pod)
            self._controller.enqueue(event.key)

    def _node_changed(self, event: Event[Node]) -> None:
        if event.old is None or event.new is None or is_ready(event.old) != is_ready(event.new):
            for pod in self._pods.by_index(NODE, event.key.name):
                self._controller.enqueue(Key(pod["metadata"]["namespace"], pod["metadata"]["name"]))

    def _node_state(self, pod: Document) -> NodeState:
        node = self._nodes.get(Key("", pod["spec"].get("nodeName", "")))
        if node is None:
            return NodeState.GONE
        return NodeState.WORKS if is_ready(node) else NodeState.SILENT

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.get(key)
        if pod is None:
            return None
        step = pod_life.next_step(pod, self._clock.now(), self._node_state(pod))
        try:
            if step.status is not None:
                await self._write_status(pod, step.status)
            elif step.remove:
                await self._client.delete(PODS, key.name, key.namespace, uid=job_pods.uid(pod), grace_seconds=0)
        except NotFound:
            return None
        except Conflict:
            # The watch is a moment behind; what it shows next decides.
            return None if self._pods.get(key) is not pod else 0.2
        return step.look_again

    async def _write_status(self, pod: Document, status: Document) -> None:
        """Refused if anything changed since we looked: a pod that is being ended must not succeed beside it."""
        meta = pod["metadata"]
        before = pod.get("status") or {}
        changed = {name: status.get(name) for name in {*before, *status} if status.get(name) != before.get(name)}
        body = {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}, "status": changed}
        raw = await self._client.patch(
            PODS,
            meta["name"],
            meta["namespace"],
            body,
            patch_type=PatchType.MERGE,
            subresource="status",
            field_manager=FIELD_MANAGER,
        )
        self._tell(msgspec.json.decode(raw))

    def _tell(self, pod: Document) -> None:
        """Records a pod that has run to its end, once."""
        uid = job_pods.uid(pod)
        phase = job_pods.phase(pod)
        if uid in self._told or phase not in (pod_status.SUCCEEDED, pod_status.FAILED):
            return
        self._told.add(uid)
        meta = pod["metadata"]
        self._on_completion(
            Completion(
                meta["namespace"],
                meta["name"],
                uid,
                pod["spec"].get("nodeName", ""),
                job_pods.owner_uid(pod),
                job_pods.index(pod),
                phase,
            )
        )
