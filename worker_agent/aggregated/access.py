"""Whether a user may do something in this cluster: the question is put to its API server (SubjectAccessReview)."""

from dataclasses import dataclass
from typing import Final

import msgspec

from worker_agent.aggregated.front_proxy import User
from worker_agent.aggregated.kept_answers import KeptAnswers
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client

REVIEWS: Final = ResourceType(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)

ALLOWED_SECONDS: Final = 10.0
DENIED_SECONDS: Final = 10.0
"""What servers of aggregated APIs keep by default (k8s.io/apiserver, DelegatingAuthorizationOptions)."""


NEEDS = (need.of(REVIEWS, "create"),)


@dataclass(frozen=True, slots=True)
class Access:
    """A verb on a resource of a namespace (empty: of the cluster), as roles name them; ``group`` is empty for the core
    API."""

    verb: str
    namespace: str
    resource: str
    subresource: str = ""
    group: str = ""
    name: str = ""
    version: str = "v1"

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return f'cannot {self.verb} resource "{what}" in API group "{self.group}" {where}'

    def attributes(self) -> Document:
        """As part of a review's spec."""
        return {
            "resourceAttributes": {
                "verb": self.verb,
                "namespace": self.namespace,
                "group": self.group,
                "version": self.version,
                "resource": self.resource,
                "subresource": self.subresource,
                "name": self.name,
            }
        }


@dataclass(frozen=True, slots=True)
class PathAccess:
    """A verb on a path that is no resource (``nonResourceURLs`` in roles)."""

    verb: str
    path: str

    def __str__(self) -> str:
        return f'cannot {self.verb} path "{self.path}"'

    def attributes(self) -> Document:
        """As part of a review's spec."""
        return {"nonResourceAttributes": {"verb": self.verb, "path": self.path}}


def review(user: User, access: Access | PathAccess) -> Document:
    """The question as an object."""
    spec: Document = {"user": user.name, "groups": list(user.groups), **access.attributes()}
    if user.uid:
        spec["uid"] = user.uid
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "metadata": {}, "spec": spec}


async def is_allowed(client: Client, user: User, access: Access | PathAccess) -> bool:
    """Raises ApiError, ConnectionError: who cannot be asked about may do nothing."""
    answer = msgspec.json.decode(await client.create(REVIEWS, review(user, access)))
    status = answer.get("status") or {}
    return status.get("allowed") is True and not status.get("denied")


class Decisions:
    """``is_allowed``, with answers kept for a while, as servers of aggregated APIs do: one question for many requests
    of one user. A right that is taken away may so be used for ``ALLOWED_SECONDS`` longer."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kept = KeptAnswers[bytes, bool](client.clock)

    async def is_allowed(self, user: User, access: Access | PathAccess) -> bool:
        """Raises ApiError, ConnectionError."""
        question = msgspec.json.encode(review(user, access)["spec"], order="sorted")
        kept = self._kept.get(question)
        if kept is not None:
            return kept
        allowed = await is_allowed(self._client, user, access)
        self._kept.put(question, allowed, ALLOWED_SECONDS if allowed else DENIED_SECONDS)
        return allowed
