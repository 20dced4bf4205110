"""Names of Workloads: readable, bounded, and never another owner's (spec/jobs 5.1)."""

import hashlib
from collections.abc import Iterable
from typing import Final

NAME_LIMIT: Final = 253
SHORT_NAME_LIMIT: Final = 63
_HASH_LENGTH: Final = 5


def name_of(kind: str, group: str, owner: str, uid: str, *, extra: str = "", short: bool = False) -> str:
    """``<kind>-<owner>-<hash>``: readable, and never the name of another owner's Workload.

    ``extra`` distinguishes several Workloads of one owner; ``short`` keeps the name within a label value.
    """
    hashed = (kind, group, owner, uid, *((extra,) if extra else ()))
    return with_hash(f"{kind.lower()}-{owner}", hashed, short=short)


def is_of(name: str, kind: str, owner: str) -> bool:
    """Whether ``name`` is what ``name_of`` gives to an owner of this kind and name, whatever its uid: of all objects of
    a kind in a namespace that is true of one at most. A name that had to be cut is nobody's."""
    prefix, _, digest = name.rpartition("-")
    return (
        prefix == f"{kind.lower()}-{owner}" and len(digest) == _HASH_LENGTH and set(digest) <= set("0123456789abcdef")
    )


def with_hash(prefix: str, hashed: Iterable[str], *, short: bool = False) -> str:
    """``prefix``, cut where the name would get too long, and a few digits that depend on all of ``hashed``."""
    limit = SHORT_NAME_LIMIT if short else NAME_LIMIT
    digest = hashlib.sha1("\n".join(hashed).encode(), usedforsecurity=False).hexdigest()[:_HASH_LENGTH]
    return prefix[: limit - _HASH_LENGTH - 1] + f"-{digest}"
