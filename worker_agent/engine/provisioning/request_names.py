"""Names of ProvisioningRequests and of their PodTemplates: one per attempt, never longer than an object's name may be.

A name that would be too long keeps its beginning and ends in a hash of the whole.
"""

import hashlib
import re
from typing import Final

LONGEST: Final = 247
HASH_DIGITS: Final = 5
_TRAILING_NUMBER: Final = re.compile(r"[0-9]+\Z")


def request_name(workload: str, check: str, attempt: int) -> str:
    """``<workload>-<check>-<attempt>``; ``attempt`` counts from 1."""
    return limited(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    """``ppt-<request>-<pod set>``."""
    return limited(f"ppt-{request}-{pod_set}")


def limited(name: str) -> str:
    """The name itself, or its first 247 characters, a dash and five digits of the SHA-1 of the whole."""
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:LONGEST]}-{digest[:HASH_DIGITS]}"


def attempt_of(request: str, workload: str, check: str, highest: int) -> int | None:
    """Which attempt for this check the request is; None where its name is no attempt's.

    A shortened name does not show its number: those of the attempts up to ``highest`` are compared.
    """
    prefix = f"{workload}-{check}-"
    if len(prefix) < LONGEST:
        number = request.removeprefix(prefix)
        if number == request or not _TRAILING_NUMBER.fullmatch(number):
            return None
        return int(number)
    return next((n for n in range(1, highest + 1) if request_name(workload, check, n) == request), None)
