"""One change of one worker, as bytes: what travels between the hub and whoever evaluates."""

import msgspec


class KnowledgeEvent(msgspec.Struct, frozen=True, array_like=True):
    """``raw`` is the object's JSON, empty when it is gone. An empty ``plural`` forgets all known of the cluster."""

    cluster: str
    plural: str
    namespace: str = ""
    name: str = ""
    raw: bytes = b""


def forgotten(cluster: str) -> KnowledgeEvent:
    return KnowledgeEvent(cluster, "")
