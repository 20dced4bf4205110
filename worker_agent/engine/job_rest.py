"""What a look at a job came to rest on: the next look that sees the very same need not decide anew.

Most changes of a job and of its Workload are the controller's own writes, which come back through the watch. The
decision that made them was taken on to where nothing more was to be done, so that what they look like is known; a look
that finds just that, and nothing else changed of all that a decision reads, has its answer already.
"""

from dataclasses import fields
from operator import attrgetter
from typing import Final

from worker_agent.api.document import Document
from worker_agent.engine.job_view import JobView

_DOCUMENTS: Final = ("job", "workloads", "prebuilt")
_ONE_CONTROLLERS: Final = ("kind", "policy", "key")
"""The same in all views that are compared."""

_surroundings = attrgetter(
    *(each.name for each in fields(JobView) if each.name not in (*_DOCUMENTS, *_ONE_CONTROLLERS))
)

_SERVERS_OWN: Final = ("resourceVersion",)
_SERVERS_COUNTS: Final = ("resourceVersion", "generation")


def is_still(rest: JobView, view: JobView) -> bool:
    """Whether a decision on ``view``, of the same kind and key, finds what one on ``rest`` did.

    The version of an object is no fact of it. Nor is a job's generation, unless its slices are named by it.
    """
    if len(rest.workloads) != len(view.workloads) or _surroundings(rest) != _surroundings(view):
        return False
    counted = view.job is not None and (
        view.kind.companion_resources or view.kind.composable or view.kind.is_elastic(view.job, view.policy)
    )
    return (
        _same(rest.job, view.job, _SERVERS_OWN if counted else _SERVERS_COUNTS)
        and _same(rest.prebuilt, view.prebuilt)
        and all(_same(before, after) for before, after in zip(rest.workloads, view.workloads, strict=True))
    )


def _same(one: Document | None, other: Document | None, apart: tuple[str, ...] = _SERVERS_OWN) -> bool:
    """Whether two objects say the same in all but these fields of their metadata."""
    if one is other:
        return True
    if one is None or other is None or one.keys() != other.keys():
        return False
    if any(value != other[name] for name, value in one.items() if name != "metadata"):
        return False
    return _facts(one["metadata"], apart) == _facts(other["metadata"], apart)


def _facts(metadata: Document, apart: tuple[str, ...]) -> Document:
    """A server leaves out lists and maps that have become empty."""
    return {name: value for name, value in metadata.items() if value and name not in apart}
