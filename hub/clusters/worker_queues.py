"""The queues of a worker that share quota with those global work comes to, read from what its watches hold."""

from collections.abc import Iterable

import msgspec

from hub.clusters.worker_connection import WorkerConnection
from hub.engine.cohort_span import WorkerQueues
from worker_agent.api import resource_type
from worker_agent.api.cluster_queue import ClusterQueue
from worker_agent.api.cohort import Cohort
from worker_agent.api.meta import Key, Object, View

_decode_queue = msgspec.json.Decoder(ClusterQueue, strict=False).decode
_decode_cohort = msgspec.json.Decoder(Cohort, strict=False).decode


class _Place(View):
    cohort_name: str = ""


class _Placed(Object):
    """All that is read of the many queues that have nothing to do with ours."""

    spec: _Place = msgspec.field(default_factory=_Place)


_decode_place = msgspec.json.Decoder(_Placed, strict=False).decode


def around(link: WorkerConnection, local_queues: Iterable[Key]) -> WorkerQueues:
    """The queues that namesakes of these LocalQueues lead to, and the cohort trees they are in."""
    found = (link.local_queue(key) for key in local_queues)
    ours = {local.spec.cluster_queue for local in found if local is not None}
    queues = link.watches.knowledge[resource_type.CLUSTER_QUEUES]
    cohorts = link.watches.knowledge[resource_type.COHORTS]
    queue_keys, cohort_keys = queues.keys(), cohorts.keys()
    places = {key.name: _decode_place(queues.raw(key)).spec.cohort_name for key in queue_keys}
    ours &= places.keys()
    all_cohorts = [_decode_cohort(cohorts.raw(key)) for key in cohort_keys]
    parents = {cohort.metadata.name: cohort.spec.parent_name for cohort in all_cohorts}
    roots = {_root(places[name], parents) for name in ours} - {""}
    return WorkerQueues(
        ours,
        [
            _decode_queue(queues.raw(Key("", name)))
            for name, cohort in places.items()
            if name in ours or (cohort and _root(cohort, parents) in roots)
        ],
        [cohort for cohort in all_cohorts if _root(cohort.metadata.name, parents) in roots],
    )


def _root(cohort: str, parents: dict[str, str]) -> str:
    """The top of the tree; of a cycle the one that was met first."""
    seen: set[str] = set()
    while parents.get(cohort) and cohort not in seen:
        seen.add(cohort)
        cohort = parents[cohort]
    return cohort
