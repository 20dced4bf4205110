"""What ``fedhub explain`` and ``fedhub what-if`` answer, read with the asker's own rights: nothing runs for it, nothing
listens, nothing is written.

Workers are read with the credential that their MultiKueueCluster names, as far as the asker may read that Secret, or
with a kubeconfig context of the asker. What cannot be read so (agents that dial the hub) is told as the hub last found
it. Verdicts are made by the code that dispatch itself goes by.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from hub.app.worker_reading import Asker, Reading
from hub.engine import admission_check, candidates, dispatch, explanation, judging, remote_objects, sync_owner
from hub.engine.admission_check import BadReference
from hub.engine.candidates import Asked
from hub.engine.dispatch import Candidates
from hub.engine.evaluation import Evaluation, Outlook, Request
from hub.engine.explanation import ClusterOutlook
from hub.engine.remote_group import Sight
from worker_agent.api import names, timestamps
from worker_agent.api import resource_type as kinds
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.dispatch_policy import DispatchPolicy, DispatchPolicySpec
from worker_agent.api.document import Document
from worker_agent.api.local_queue import LocalQueue
from worker_agent.api.meta import Condition, Key
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.api.resource_type import ResourceType
from worker_agent.engine.story_shortage import Tale
from worker_agent.jobs import KINDS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import NotFound


class Unanswerable(Exception):
    """There is nothing to answer; the text says why, and what to do."""


class FederationOutlook(Tale, frozen=True):
    """``state``: Dispatched (``cluster`` has it), Waiting (for a cluster), Queued (for quota on the manager), Finished,
    or Hypothetical (not submitted). ``best`` is the cluster that dispatch would choose on what was read."""

    workload: str
    state: str
    summary: str
    at: str
    cluster_queue: str = ""
    cluster: str = ""
    best: str = ""
    clusters: tuple[ClusterOutlook, ...] = ()


@dataclass(frozen=True, slots=True)
class Manager:
    """The manager's objects that lead from a workload to its candidates, read once."""

    client: Client
    clusters: Mapping[str, MultiKueueCluster]
    checks: Mapping[str, AdmissionCheck]
    configs: Mapping[str, MultiKueueConfig]
    queues: Mapping[str, ClusterQueue]
    policies: Mapping[str, DispatchPolicy]

    @classmethod
    async def read(cls, client: Client) -> "Manager":
        """Raises ApiError, ConnectionError."""
        return cls(
            client,
            await _by_name(client, kinds.MULTIKUEUE_CLUSTERS, MultiKueueCluster),
            await _by_name(client, kinds.ADMISSION_CHECKS, AdmissionCheck),
            await _by_name(client, kinds.MULTIKUEUE_CONFIGS, MultiKueueConfig),
            await _by_name(client, kinds.CLUSTER_QUEUES, ClusterQueue),
            await _policies(client),
        )

    async def queue_of(self, sight: Sight) -> ClusterQueue:
        """Raises Unanswerable."""
        key = Key(sight.key.namespace, sight.view.spec.queue_name)
        if not key.name:
            raise Unanswerable(f"{sight.key} names no LocalQueue: set the label {names.QUEUE_NAME_LABEL}")
        try:
            raw = await self.client.get(kinds.LOCAL_QUEUES, key.name, key.namespace)
        except NotFound:
            raise Unanswerable(f"LocalQueue {key} does not exist on the manager: create it") from None
        name = msgspec.json.decode(raw, type=LocalQueue).spec.cluster_queue
        if name not in self.queues:
            raise Unanswerable(f"ClusterQueue {name} of LocalQueue {key} does not exist on the manager: create it")
        return self.queues[name]

    def candidates(self, queue: ClusterQueue) -> list[str]:
        """The workers that a queue leads to, in configuration order. Raises Unanswerable."""
        strategy = queue.spec.admission_checks_strategy
        for rule in (strategy.admission_checks if strategy is not None else None) or ():
            check = self.checks.get(rule.name)
            if check is not None and check.spec.controller_name == names.MULTIKUEUE_CONTROLLER:
                try:
                    return admission_check.resolve(check, self.configs).spec.clusters
                except BadReference as error:
                    raise Unanswerable(f"AdmissionCheck {rule.name}: {error}") from None
        raise Unanswerable(
            f"ClusterQueue {queue.metadata.name} has no MultiKueue admission check: its workloads stay on the manager; "
            "fedhub-agent explain answers for those"
        )

    def policy(self, queue: ClusterQueue) -> DispatchPolicySpec:
        name = queue.metadata.annotation(names.DISPATCH_POLICY_ANNOTATION) or names.DEFAULT_DISPATCH_POLICY
        found = self.policies.get(name)
        return found.spec if found is not None else DispatchPolicySpec()


async def explain(manager: Manager, asker: Asker, document: Document, *, submitted: bool) -> FederationOutlook:
    """The outlook of a Workload document. Raises Unanswerable, ApiError, ConnectionError."""
    sight = Sight.of(document)
    now = manager.client.clock.now()
    configuration = asker.configuration
    owner = sync_owner.find(sight.view, sync_owner.table((*KINDS.values(), *configuration.external_kinds)))
    if owner.kind is None:
        raise Unanswerable(f"{sight.key}: {sync_owner.no_adapter(owner)}: such workloads are not sent to workers")
    queue = await manager.queue_of(sight)
    order = manager.candidates(queue)
    policy = manager.policy(queue)
    state, summary = _standing(sight) if submitted else ("Hypothetical", "if it were submitted now")
    if state == "Finished":
        return _told(sight, state, summary, now, queue)
    reading = Reading(manager.client, manager.clusters, asker)
    await reading.read([name for name in order if name in manager.clusters])
    asked = candidates.choose(order, manager.clusters, reading.reached, policy, sight.view)
    copy = remote_objects.workload_copy(document, configuration.sync)
    copy["metadata"]["creationTimestamp"] = timestamps.rfc3339(now)
    request = Request(sight.key.namespace, sight.key.name, owner.kind.framework, asked.open, msgspec.json.encode(copy))
    evaluations = _evaluations(reading, request, asked, sight, now)
    found = Candidates(sight.key, tuple(evaluations[name] for name in order), preference=asked.preference)
    decision = dispatch.decide(found, policy, now, configuration.round_timeout)
    outlooks = [
        explanation.of(each, request, reading.views.get(each.cluster), now, reading.reached.get(each.cluster))
        for each in decision.ranked
    ]
    best = decision.cluster if state in ("Waiting", "Queued", "Hypothetical") else ""
    return msgspec.structs.replace(_told(sight, state, summary, now, queue), best=best, clusters=tuple(outlooks))


def _evaluations(
    reading: Reading, request: Request, asked: Asked, sight: Sight, now: datetime
) -> dict[str, Evaluation]:
    """For every candidate what was read says; what could not be read is told as the hub found it."""
    judged = judging.evaluate(request, reading.views, reading.policy, now)
    found = {evaluation.cluster: evaluation for evaluation in (*asked.closed, *judged)}
    last = sight.condition(names.DISPATCHED)
    for cluster, why in reading.unread.items():
        if cluster in found and found[cluster].reason == "NoContact":
            told = f"{why}{_hub_said(last, cluster)}"
            found[cluster] = Evaluation(cluster, int(Outlook.UNKNOWN), "NotReadHere", told)
    return found


def _hub_said(last: Condition | None, cluster: str) -> str:
    """What the Dispatched condition tells of this cluster."""
    for part in last.message.split("; ") if last is not None else ():
        name, _, told = part.partition(": ")
        if last is not None and name == cluster:
            since = last.last_transition_time
            return f"; the hub found{f' at {timestamps.rfc3339(since)}' if since else ''}: {told}"
    return ""


def _told(sight: Sight, state: str, summary: str, now: datetime, queue: ClusterQueue) -> FederationOutlook:
    return FederationOutlook(
        workload=str(sight.key),
        state=state,
        summary=summary,
        at=timestamps.rfc3339(now),
        cluster_queue=queue.metadata.name,
        cluster=sight.view.status.cluster_name or "",
    )


def _standing(sight: Sight) -> tuple[str, str]:
    view = sight.view
    if sight.is_true(names.FINISHED):
        place = f"in cluster {view.status.cluster_name}: " if view.status.cluster_name else ""
        return "Finished", place + _said(sight, names.FINISHED)
    if view.status.cluster_name:
        return "Dispatched", f"is in cluster {view.status.cluster_name}"
    if not sight.is_true(names.QUOTA_RESERVED):
        told = _said(sight, names.QUOTA_RESERVED)
        return "Queued", f"waits for quota on the manager{': ' if told else ''}{told}"
    nominated = view.status.nominated_cluster_names or ()
    where = f"waits in {', '.join(nominated)}" if nominated else "waits for a cluster"
    return "Waiting", where


def _said(sight: Sight, type_: str) -> str:
    found = sight.condition(type_)
    return found.message or found.reason if found is not None else ""


async def _policies(client: Client) -> dict[str, DispatchPolicy]:
    try:
        return await _by_name(client, kinds.DISPATCH_POLICIES, DispatchPolicy)
    except NotFound:
        return {}


async def _by_name(client: Client, resource: ResourceType, type_: type[Any]) -> dict[str, Any]:
    decode = msgspec.json.Decoder(type_, strict=False).decode
    found = [decode(raw) for raw in (await client.list(resource)).items]
    return {each.metadata.name: each for each in found}
