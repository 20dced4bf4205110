"""The Secret that says that an agent is enrolled: without it, or with another enrolment in it, no certificate counts.

It holds nothing secret; it is a Secret because the hub may write no other kind in its namespace. Pure.
"""

import base64
from dataclasses import dataclass
from typing import Final, Self

from worker_agent.api.document import Document
from worker_agent.api.document import get as value_at
from worker_agent.api.meta import Key

SECRET_PREFIX: Final = "fedhub-enrolled-"
SECRET_TYPE: Final = "fedhub.dev/agent-enrolment"


def key(namespace: str, agent: str) -> Key:
    return Key(namespace, SECRET_PREFIX + agent)


@dataclass(frozen=True, slots=True)
class Record:
    """``cluster_uid`` is the cluster that enrolled: a copied certificate does not make another one of it."""

    agent: str
    enrolment: str
    cluster_uid: str

    def document(self, namespace: str, owners: list[Document]) -> Document:
        metadata: Document = {"name": SECRET_PREFIX + self.agent, "namespace": namespace, "ownerReferences": owners}
        data = {"agent": self.agent, "enrolment": self.enrolment, "cluster-uid": self.cluster_uid}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "type": SECRET_TYPE,
            "data": {name: base64.b64encode(value.encode()).decode() for name, value in data.items()},
        }

    @classmethod
    def read(cls, secret: Document | None) -> Self | None:
        """None where there is none that counts: also while it is being deleted."""
        if secret is None or secret.get("type") != SECRET_TYPE or value_at(secret, "metadata.deletionTimestamp"):
            return None
        data = secret.get("data") or {}
        try:
            values = [
                base64.b64decode(data.get(name, ""), validate=True).decode()
                for name in ("agent", "enrolment", "cluster-uid")
            ]
        except (ValueError, TypeError):
            return None
        return cls(*values) if all(values) else None
