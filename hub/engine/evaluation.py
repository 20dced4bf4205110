"""What is asked of each candidate cluster, and what it answers. Integers and text only, so that an answer is the same
wherever it was worked out."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

import msgspec

ENCODING_VERSION: Final = 4


class Outlook(IntEnum):
    """How a workload stands with a cluster; smaller is better."""

    FITS = 0
    FITS_AFTER_PREEMPTION = 1
    WAITS = 2
    WAITS_FOR_ROOM = 3
    """Quota is there, the nodes are not."""
    UNKNOWN = 4
    """The cluster cannot be judged: its objects may not be read."""
    MAY_NEVER_START = 5
    """The quota it would wait for may come in a flavor none of whose nodes is large enough for its pods."""
    IMPOSSIBLE = 6


class Request(msgspec.Struct, frozen=True, array_like=True):
    """One workload and the clusters it may go to. ``workload`` is the manager's object as JSON.

    ``framework``: what an agent must run there; empty for kinds that agents do not tell of.
    """

    namespace: str
    name: str
    framework: str
    clusters: tuple[str, ...]
    workload: bytes


class Evaluation(msgspec.Struct, frozen=True, array_like=True):
    """One cluster's answer.

    ``reason`` is a word, ``message`` says it to people. ``position`` counts workloads ahead in the queue (-1: does not
    wait), ``wait`` is the time for which quota may have to be waited for, in milliseconds. ``load`` is the demand ahead
    and held, in thousandths of the queue's quota, ``free`` what would be left after
    it, likewise. ``lost_pod_seconds`` is what preemption would throw away. ``price`` is in millionths per hour.
    ``exact``: the worker runs the same engine by the same policy. ``admission`` is what the worker would write (JSON).
    ``provisions``: an autoscaler there is asked for nodes first, so starting takes its time even where it fits.
    """

    cluster: str
    outlook: int
    reason: str = ""
    message: str = ""
    position: int = -1
    wait: int = 0
    load: int = 0
    free: int = 0
    victims: int = 0
    lost_pod_seconds: int = 0
    price: int = 0
    exact: bool = False
    admission: bytes = b""
    provisions: bool = False

    @property
    def fits(self) -> bool:
        return self.outlook in (Outlook.FITS, Outlook.FITS_AFTER_PREEMPTION)


def impossible(cluster: str, reason: str, message: str) -> Evaluation:
    return Evaluation(cluster, int(Outlook.IMPOSSIBLE), reason, message)


_requests = msgspec.msgpack.Decoder(tuple[int, list[Request]])
_answers = msgspec.msgpack.Decoder(tuple[int, list[list[Evaluation]]])


def encode_requests(requests: Sequence[Request]) -> bytes:
    return msgspec.msgpack.encode((ENCODING_VERSION, list(requests)))


def decode_requests(batch: bytes) -> list[Request]:
    requests: list[Request] = _checked(_requests.decode(batch))
    return requests


def encode_answers(answers: Sequence[Sequence[Evaluation]]) -> bytes:
    return msgspec.msgpack.encode((ENCODING_VERSION, [list(answer) for answer in answers]))


def decode_answers(batch: bytes) -> list[list[Evaluation]]:
    answers: list[list[Evaluation]] = _checked(_answers.decode(batch))
    return answers


def _checked(decoded: tuple[int, Any]) -> Any:
    version, content = decoded
    if version != ENCODING_VERSION:
        raise ValueError(f"evaluations in encoding {version}, this program reads {ENCODING_VERSION}")
    return content
