"""Whether the manager's API server keeps ``managedBy`` of jobs: that of batch/v1 Jobs came with Kubernetes 1.32.

Versions 1.30 and 1.31 have the field behind a feature gate and 1.29 has none; all three take a Job that names its
manager and drop the field unsaid. So the server is asked, not its version: a job like the one in question, with a
manager, is created without effect (dry run).
"""

import logging

import msgspec

from worker_agent.api import names, need
from worker_agent.api.document import Document, at, put
from worker_agent.api.job_kind import JobKind, without_labels
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.resource_type import ResourceType
from worker_agent.engine.intents import MULTIKUEUE_MANAGER
from worker_agent.jobs import KINDS
from worker_agent.kube import verbs
from worker_agent.kube.client import Client
from worker_agent.kube.transport import Request
from worker_agent.kube.verbs import Target

log = logging.getLogger(__name__)


DRY_RUN = "one dry run, where a job without a manager is sent"
NEEDS = tuple(need.of(kind.resource, "create", unseen=DRY_RUN) for kind in KINDS.values() if kind.managed_by_optional)
"""A dry run needs the right to the whole."""


class ManagedByField:
    """Answers for one API server, and remembers: an upgrade of it adds the field to new jobs alone."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._dropped: dict[ResourceType, bool] = {}

    async def is_dropped(self, kind: JobKind, job: Document) -> bool:
        """``job`` has no manager. Raises ApiError or ConnectionError where nothing was learnt."""
        if kind.resource not in self._dropped:
            dropped = self._dropped[kind.resource] = not kind.managed_by(await self._answer(kind, job))
            if dropped:
                log.warning(
                    "this API server does not keep %s of %s objects: they stay suspended here while they run on a"
                    " worker, and their status comes home at their end. Kubernetes 1.32 and later keep the field",
                    kind.managed_by_path,
                    kind.resource.kind,
                )
        return self._dropped[kind.resource]

    async def _answer(self, kind: JobKind, job: Document) -> Document:
        body = _like(kind, job)
        request = verbs.create(Target(kind.resource, job["metadata"]["namespace"]), body, MULTIKUEUE_MANAGER)
        query = (*request.query, ("dryRun", "All"))
        made = await self._client.raw(Request(request.method, request.path, query, request.headers, request.body))
        document: Document = msgspec.json.decode(made)
        return document


def _like(kind: JobKind, job: Document) -> Document:
    """Another job that says the same, for policies of the cluster to find nothing amiss, but has a manager."""
    copy = kind.remote_copy(job, "", "", JobPolicy())
    described = {name: value for name, value in job["metadata"].items() if name in ("labels", "annotations")}
    copy["metadata"] = {**described, "generateName": f"{job['metadata']['name']}-"}
    for template in kind.templates(copy):
        copy = put(copy, template.path, without_labels(at(copy, template.path, {}), kind.template_labels))
    return kind.with_managed_by(copy, names.MULTIKUEUE_CONTROLLER)
