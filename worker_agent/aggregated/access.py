"""Whether a user may do something in this cluster: the question is put to its API server (SubjectAccessReview)."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from worker_agent.aggregated.front_proxy import User
from worker_agent.api import need
from worker_agent.api.document import Document
from worker_agent.api.resource_type import ResourceType
from worker_agent.kube.client import Client

REVIEWS: Final = ResourceType(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)


NEEDS = (need.of(REVIEWS, "create"),)


@dataclass(frozen=True, slots=True)
class Access:
    """A verb on a resource of a namespace, as roles name them; ``group`` is empty for the core API."""

    verb: str
    namespace: str
    resource: str
    subresource: str = ""
    group: str = ""
    name: str = ""

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f'cannot {self.verb} resource "{what}" in API group "{self.group}" in the namespace "{self.namespace}"'


def review(user: User, access: Access) -> Document:
    """The question as an object."""
    spec: dict[str, Any] = {
        "user": user.name,
        "groups": list(user.groups),
        "resourceAttributes": {
            "verb": access.verb,
            "namespace": access.namespace,
            "group": access.group,
            "version": "v1",
            "resource": access.resource,
            "subresource": access.subresource,
            "name": access.name,
        },
    }
    if user.uid:
        spec["uid"] = user.uid
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "metadata": {}, "spec": spec}


async def is_allowed(client: Client, user: User, access: Access) -> bool:
    """Raises ApiError, ConnectionError: who cannot be asked about may do nothing."""
    answer = msgspec.json.decode(await client.create(REVIEWS, review(user, access)))
    status = answer.get("status") or {}
    return status.get("allowed") is True and not status.get("denied")
