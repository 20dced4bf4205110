"""The chain of owners above a job, loaded from informers where the kind is followed, else from the server."""

from collections.abc import Mapping

import msgspec

from worker_agent.api import frameworks, need
from worker_agent.api.document import Document
from worker_agent.api.frameworks import GVK
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.meta import Key
from worker_agent.api.resource_type import REPLICA_SETS, ResourceType
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine import job_ancestors
from worker_agent.engine.job_ancestors import Lookup
from worker_agent.jobs import KINDS
from worker_agent.kube.client import Client
from worker_agent.kube.errors import NotFound

NOT_FOLLOWED = "an owner of a kind that is not enabled, or a job that the cache has not heard of"
NEEDS = tuple(
    need.of(resource, "get", unseen=NOT_FOLLOWED)
    for resource in (REPLICA_SETS, *(kind.resource for kind in KINDS.values()))
)


def owner_value(namespace: str, api_version: str, kind: str, name: str) -> str:
    """One owner as the value of an index."""
    return f"{namespace} {api_version} {kind} {name}"


class Ancestors:
    """``kinds`` are those followed by an informer; it may grow while the program runs."""

    def __init__(
        self, client: Client, known: KnownObjects, policy: JobPolicy, kinds: Mapping[GVK, ResourceType]
    ) -> None:
        self._client = client
        self._known = known
        self._policy = policy
        self._kinds = kinds

    async def of(self, job: Document) -> Lookup:
        """A lookup that knows every owner in the chain above ``job``. Raises ApiError, ConnectionError."""
        found: dict[str, Document | None] = {}
        namespace = (job.get("metadata") or {}).get("namespace", "")
        current: Document | None = job
        while current is not None and len(found) <= job_ancestors.MAX_DEPTH:
            owner = job_ancestors.next_owner(current, self._policy)
            if owner is None:
                break
            value = owner_value(namespace, owner["apiVersion"], owner["kind"], owner["name"])
            if value in found:
                break
            current = found[value] = await self._fetch(owner, namespace)

        def lookup(api_version: str, kind: str, namespace: str, name: str) -> Document | None:
            return found.get(owner_value(namespace, api_version, kind, name))

        return lookup

    async def exists(self, resource: ResourceType, key: Key) -> bool:
        """Whether the server itself has the object; caches may not have heard of a new one. Raises ApiError."""
        try:
            await self._client.get(resource, key.name, key.namespace)
        except NotFound:
            return False
        return True

    async def _fetch(self, owner: Document, namespace: str) -> Document | None:
        gvk = frameworks.gvk_of(owner)
        resource = self._kinds.get(gvk)
        if resource is not None and self._known.follows(resource):
            return self._known.document(resource, Key(namespace, owner["name"]))
        group, _, version = gvk[0].rpartition("/")
        unfollowed = resource or ResourceType(group, version, gvk[1], f"{gvk[1].lower()}s")
        try:
            document: Document = msgspec.json.decode(await self._client.get(unfollowed, owner["name"], namespace))
        except NotFound:
            return None
        return document
