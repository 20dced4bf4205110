"""The job on the worker that runs it: create it, keep its spec in step, bring its status home (spec 10.2 to 10.4)."""

from dataclasses import dataclass
from datetime import datetime

from hub.engine import remote_objects
from hub.engine.intents import HubIntent
from hub.engine.remote_group import RemoteGroup
from worker_agent.api.document import Document
from worker_agent.engine.intents import MULTIKUEUE_MANAGER, CreateObject, PatchObject, RetryWithError


@dataclass(frozen=True, slots=True)
class JobSync:
    """``deferred``: the status cannot be copied yet, look again soon. ``refused``: a foreign object is in the way."""

    intents: tuple[HubIntent, ...] = ()
    deferred: bool = False
    refused: bool = False


def validated(group: RemoteGroup, cluster: str, now: datetime, *, may_create: bool = False) -> JobSync:
    """Synchronise the job on ``cluster`` after making sure that what stands there is ours.

    ``may_create``: a job that is not there is made. After its end that would run it a second time.
    """
    remote = group.connected[cluster].job
    kind = group.owner.kind
    if kind is not None and remote is not None and not remote_objects.is_ours(remote, group.policy.origin):
        message = remote_objects.foreign_object(kind.resource, remote_objects.key_of(remote), group.policy.origin)
        return JobSync((RetryWithError(message),), refused=True)
    if remote is None and not may_create:
        return JobSync()
    return _sync(group, cluster, remote, now)


def _sync(group: RemoteGroup, cluster: str, remote: Document | None, now: datetime) -> JobSync:
    kind, local = group.owner.kind, group.job
    if kind is None or local is None:
        return JobSync()
    if remote is None:
        document = kind.remote_copy(local, group.key.name, group.policy.origin, group.policy.jobs)
        return JobSync(
            (
                CreateObject(
                    resource=kind.resource, document=document, field_manager=MULTIKUEUE_MANAGER, cluster=cluster
                ),
            )
        )
    intents: list[HubIntent] = []
    wanted = kind.remote_patch(local, remote, group.key.name, group.policy.jobs)
    if wanted is not remote:
        intents.append(
            PatchObject(
                resource=kind.resource,
                before=remote,
                after=wanted,
                field_manager=MULTIKUEUE_MANAGER,
                strict=False,
                cluster=cluster,
            )
        )
    home = kind.status_back(local, remote, now)
    if home.status is not None:
        intents.append(
            PatchObject(
                resource=kind.resource,
                before=local,
                after={**local, "status": home.status},
                field_manager=MULTIKUEUE_MANAGER,
                subresource="status",
                strict=False,
            )
        )
    return JobSync(tuple(intents), deferred=home.deferred)
