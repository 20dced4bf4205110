"""What the webhook rules of a job may look at beside the job itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from worker_agent.api import companions
from worker_agent.api.companions import Companion
from worker_agent.api.document import Document
from worker_agent.api.job_policy import JobPolicy
from worker_agent.engine.job_ancestors import Lookup


def _nothing(api_version: str, kind: str, namespace: str, name: str) -> Document | None:
    return None


def _alone(companion: Companion) -> Document | None:
    return None


def _never(queue: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSurroundings:
    """The job's namespace as the webhook's caches show it.

    ``default_queue``: a LocalQueue named ``default`` exists there. ``default_priority_class``: a WorkloadPriorityClass
    of that name exists. ``lookup`` finds owners, ``companion`` what the job's pods follow from. ``is_dispatched`` tells
    of a LocalQueue in the namespace whether its ClusterQueue is known and has a MultiKueue check. ``namespace_labels``
    is None when the namespace is not known.
    """

    policy: JobPolicy
    namespace_labels: Mapping[str, str] | None = field(default_factory=dict)
    default_queue: bool = False
    default_priority_class: bool = False
    lookup: Lookup = _nothing
    companion: companions.Lookup = _alone
    is_dispatched: Callable[[str], bool] = _never

    @property
    def managed_namespace(self) -> bool:
        """Whether jobs of this namespace are ours to manage."""
        selector = self.policy.namespaces
        return selector is None or (self.namespace_labels is not None and selector.matches(self.namespace_labels))
