"""Why a workload does not start, cluster by cluster: the verdict, what is in the way, and the smallest change that
would let it in there.

The verdict is the one dispatch goes by; changes were tried on the cluster's state, or follow from what is missing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from hub.engine.evaluation import Evaluation, Outlook, Request
from hub.engine.views import WorkerView
from worker_agent.api import names, timestamps
from worker_agent.api.meta import Key
from worker_agent.api.workload import Workload
from worker_agent.engine import story_explanation
from worker_agent.engine.conditions import Phase
from worker_agent.engine.story_shortage import Tale

VERDICTS: Final = {
    Outlook.FITS: "FITS",
    Outlook.FITS_AFTER_PREEMPTION: "AFTER_PREEMPTION",
    Outlook.WAITS: "WAITS",
    Outlook.WAITS_FOR_ROOM: "WAITS",
    Outlook.MAY_NEVER_START: "WAITS",
    Outlook.UNKNOWN: "UNKNOWN",
    Outlook.IMPOSSIBLE: "IMPOSSIBLE",
}


class ClusterOutlook(Tale, frozen=True):
    """How one cluster stands with a workload. Instants are RFC 3339, empty where there is none."""

    cluster: str
    verdict: str
    reason: str = ""
    blocker: str = ""
    """What is in the way; of what fits, what it still has to pass before it starts."""
    change: str = ""
    """The smallest change that would let it in; empty where none is needed or known."""
    other_changes: tuple[str, ...] = ()
    position: int | None = None
    """Workloads ahead of it in the queue there."""
    victims: tuple[str, ...] = ()
    lost_pod_seconds: int = 0
    exact: bool = False
    """The worker runs the same engine by the same policy: this is its own decision on equal knowledge."""
    as_of: str = ""
    """When its objects were read."""
    nodes_as_of: str = ""
    """When its agent last reported its nodes."""


def of(
    found: Evaluation, request: Request, view: WorkerView | None, now: datetime, read_at: datetime | None
) -> ClusterOutlook:
    """The outlook that an evaluation of this workload means; ``view`` is None where nothing is known of the cluster."""
    outlook = Outlook(found.outlook)
    changes: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    if not found.fits:
        changes = _changes(found, request, view, now)
    elif view is not None and outlook is Outlook.FITS_AFTER_PREEMPTION:
        victims = tuple(victim.workload for victim in _story(request, view, now).victims)
        changes = (f"none needed: preempting {', '.join(victims)} lets it in",)
    report = view.capacity.status.reported_at if view is not None and view.capacity is not None else None
    return ClusterOutlook(
        cluster=found.cluster,
        verdict=VERDICTS[outlook],
        reason=found.reason,
        blocker=_to_pass(found, request, view, now) if outlook is Outlook.FITS else found.message,
        change=changes[0] if changes else "",
        other_changes=changes[1:],
        position=found.position if found.position >= 0 else None,
        victims=victims,
        lost_pod_seconds=found.lost_pod_seconds,
        exact=found.exact,
        as_of=timestamps.rfc3339(read_at) if read_at is not None and view is not None else "",
        nodes_as_of=timestamps.rfc3339(report) if report is not None else "",
    )


def _to_pass(found: Evaluation, request: Request, view: WorkerView | None, now: datetime) -> str:
    """What stands between quota and start: admission checks of a copy that holds its quota, nodes still to be made."""
    row = view.state.rows.get(Key(request.namespace, request.name)) if view is not None else None
    if view is None or row is None or row.phase != Phase.RESERVED:
        return found.message if found.provisions else ""
    summary = _story(request, view, now).summary
    told = [f"{check.name}: {check.message}" for check in story_explanation.open_checks(row.workload) if check.message]
    return "; ".join((summary, *told))


_MISSING: Final[Mapping[str, str]] = {
    "NoNamespace": "create namespace {namespace} in {cluster}",
    "NoLocalQueue": "create LocalQueue {namespace}/{queue} in {cluster}",
    "KindNotServed": "add {framework} to integrations.frameworks of the agent of {cluster}",
    "NotReadable": "let the hub's account in {cluster} get, list and watch what it may not read",
    "NotKnownYet": "bring {cluster} into contact; fedhub cluster list says what is in the way",
    "NoContact": "bring {cluster} into contact; fedhub cluster list says what is in the way",
    "NoCluster": "create the MultiKueueCluster {cluster}, or take it out of the MultiKueueConfig",
    "Cordoned": "fedhub cluster uncordon {cluster}",
    "RegionNotAllowed": "add the region of {cluster} to spec.regions.allowed of the DispatchPolicy",
    names.STOPPED: "set spec.stopPolicy of the LocalQueue or ClusterQueue in {cluster} to None",
    "FlavorNotFound": "create the ResourceFlavor in {cluster} that the ClusterQueue names",
    "NotFound": "create the ClusterQueue in {cluster} that the LocalQueue names",
    names.MISCONFIGURED: "change the namespaceSelector of the ClusterQueue in {cluster}, or what it refuses there",
    "TooLargeForNodes": "ask for less in each pod, or add larger nodes to {cluster}",
    "MayBeTooLarge": "ask for less in each pod, or add larger nodes to {cluster}",
    "NoRoomOnNodes": "pods on nodes of {cluster} finishing, or more nodes there",
    "NoReportYet": "wait for the report of the agent of {cluster}",
    "UnknownNodeLabels": "none surely: the nodes that the affinity names are seen only in {cluster}",
}
"""What would have to be there, by the reason of the refusal."""


def _changes(found: Evaluation, request: Request, view: WorkerView | None, now: datetime) -> tuple[str, ...]:
    """What would do, the least first."""
    missing = _MISSING.get(found.reason)
    if missing is not None:
        queue = _decoder.decode(request.workload).spec.queue_name
        place = {"cluster": found.cluster, "namespace": request.namespace, "queue": queue}
        return (missing.format(**place, framework=request.framework),)
    if view is None:
        return ()
    return tuple(remedy.text for remedy in _story(request, view, now).remedies)


def _story(request: Request, view: WorkerView, now: datetime) -> story_explanation.Explanation:
    workload = _decoder.decode(request.workload)
    known = view.state.rows.get(Key(request.namespace, request.name))
    if known is not None and known.phase in (Phase.PENDING, Phase.RESERVED):
        workload = known.workload
    return story_explanation.explain(view.state, workload, now)


_decoder = msgspec.json.Decoder(Workload)
