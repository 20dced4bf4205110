"""The manager of a federation and its workers, each looked at by every check that applies."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from hub.app.doctor import finding, snapshot
from hub.app.doctor.checks import CHECKS
from hub.app.doctor.finding import Finding, Severity
from hub.app.doctor.snapshot import Role, Snapshot
from hub.clusters.credentials import CredentialError
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS, ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.errors import ApiError
from worker_agent.kube.transport import Transport

PATIENCE_SECONDS: Final = 60.0
"""For one cluster."""

REMEDY: Final = "bring a context of your own: --worker {name}=CONTEXT"
ASKED_ITSELF: Final = "ask with a credential that may list them: --context CONTEXT, or --kubeconfig FILE"
ASKED_THROUGH: Final = "ask with a context of your own that may list them: --worker {name}=CONTEXT"

Reach = Callable[[str, Mapping[str, MultiKueueCluster]], Awaitable[Transport]]
"""A connection to a worker, by its name. Raises ConnectionError, ApiError or ValueError with the reason."""


class Unasked(Exception):
    """A worker that is not looked at without a context of the asker's own, and need not be: nothing is wrong there."""


@dataclass(slots=True)
class Result:
    """What one check found on one cluster; nothing is well."""

    cluster: str
    check: str
    findings: list[Finding] = field(default_factory=list)
    made: bool = True
    """Whether the check could be made; where not, its note says why."""
    unread: list[str] = field(default_factory=list)
    """What it would have had to read and could not, as ``plural.group``."""

    @property
    def ok(self) -> bool:
        return not any(each.severity is not Severity.NOTE for each in self.findings)


async def of_cluster(client: Client, cluster: str, role: Role, namespace: str) -> list[Result]:
    """One cluster by itself. Raises ConnectionError, ApiError."""
    return examine(await snapshot.read(client, cluster, role, namespace), ASKED_ITSELF)


async def of_federation(manager: Client, namespace: str, reach: Reach) -> list[Result]:
    """The manager and every worker that its MultiKueueClusters name. Raises ConnectionError, ApiError."""
    read = await snapshot.read(manager, "manager", Role.HUB, namespace)
    clusters = {
        each["metadata"]["name"]: msgspec.convert(each, MultiKueueCluster, strict=False)
        for each in read.all(MULTIKUEUE_CLUSTERS)
    }
    workers = await asyncio.gather(
        *(_worker(manager, name, namespace, lambda name=name: reach(name, clusters)) for name in sorted(clusters))  # type: ignore[misc]
    )
    return [*examine(read, ASKED_ITSELF), *(result for results in workers for result in results)]


def examine(read: Snapshot, remedy: str) -> list[Result]:
    """Every check on one cluster, in order; ``remedy`` is for what could not be read. Pure."""
    results = []
    for check in CHECKS:
        unread = [resource for resource in check.READS if resource in read.unreadable]
        found: Sequence[Finding]
        if unread:
            found = [
                finding.note(
                    f"cluster/{read.cluster}",
                    f"not looked at: {read.unreadable[unread[0]]}",
                    remedy,
                )
            ]
        else:
            found = list(check.check(read))
        results.append(
            Result(read.cluster, check.NAME, list(found), not unread, [_named(resource) for resource in unread])
        )
    return results


def _named(resource: ResourceType) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


async def _worker(
    manager: Client, name: str, namespace: str, reach: Callable[[], Awaitable[Transport]]
) -> list[Result]:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            client = Client(await reach(), manager.clock, user_agent="fedhub-cli")
            try:
                read = await snapshot.read(client, name, Role.AGENT, namespace)
                return examine(read, ASKED_THROUGH.format(name=name))
            finally:
                await client.close()
    except TimeoutError:
        problem = f"does not answer within {PATIENCE_SECONDS:g} s"
    except Unasked as error:
        unasked = finding.note(f"cluster/{name}", f"not looked at: {error}", REMEDY.format(name=name))
        return [Result(name, "contact", [unasked], made=False)]
    except ApiError as error:
        problem = error.message
    except (ConnectionError, CredentialError, ValueError) as error:
        problem = str(error)
    unreached = finding.error(f"cluster/{name}", f"cannot be looked at: {problem}", REMEDY.format(name=name))
    return [Result(name, "contact", [unreached])]
