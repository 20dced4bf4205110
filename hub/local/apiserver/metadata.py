"""Object metadata: what the server sets and what an update cannot change. Its rules are ``schema.object_meta``'s.

Source: k8s.io/apiserver pkg/registry/rest/{create,update}.go.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from hub.local.apiserver import failure
from hub.local.apiserver.call import Call
from worker_agent.api.document import Document

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # apimachinery pkg/util/rand
_SUFFIX = 5
_LONGEST_BASE = 63 - _SUFFIX
FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


def timestamp(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def new_uid(entropy: Callable[[int], bytes]) -> str:
    return str(UUID(bytes=entropy(16), version=4))


def generated_name(base: str, entropy: Callable[[int], bytes]) -> str:
    """``base`` and five characters of Kubernetes' alphabet, at most 63 in all."""
    return base[:_LONGEST_BASE] + "".join(ALPHABET[byte % len(ALPHABET)] for byte in entropy(_SUFFIX))


def check_place(call: Call, document: Document) -> None:
    """Refuse another namespace than that of the path."""
    given = document["metadata"].get("namespace") or ""
    if call.resource.namespaced and given and given != call.target.namespace:
        raise failure.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def place(call: Call, document: Document) -> None:
    """Set the namespace of the path on a document, or refuse another one."""
    check_place(call, document)
    if call.resource.namespaced:
        document["metadata"]["namespace"] = call.target.namespace
    else:
        document["metadata"].pop("namespace", None)


def drop_given(document: Document) -> None:
    """Take out of a new object what nobody can bring along. Raises for a revision: the object would not be new."""
    metadata = document["metadata"]
    if metadata.get("resourceVersion"):
        raise failure.unclassified("resourceVersion should not be set on objects to be created")
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "managedFields"):
        metadata.pop(name, None)


def fill_new(call: Call, document: Document) -> None:
    """What only the server sets on a new object: uid, creation time, generated name; the client's values go."""
    metadata = document["metadata"]
    metadata["uid"] = new_uid(call.state.entropy)
    metadata["creationTimestamp"] = timestamp(call.now)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generated_name(metadata["generateName"], call.state.entropy)


def keep_old(document: Document, old: Document) -> None:
    """What an update cannot change is put back (others are refused by validation)."""
    new, before = document["metadata"], old["metadata"]
    for name in ("generation", "creationTimestamp", "deletionTimestamp"):
        if before.get(name) is not None:
            new[name] = before[name]
        else:
            new.pop(name, None)
    new.setdefault("uid", before["uid"])
    if before.get("deletionGracePeriodSeconds") is not None:
        new.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    else:
        new.pop("deletionGracePeriodSeconds", None)
    new.pop("selfLink", None)
