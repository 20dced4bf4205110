"""When an API server asks the validating webhooks about a Job or a pod, in CEL (``matchConditions``).

Of every Job and every pod the rules look at little: labels and annotations of ours, and a Job's counts. What starts,
suspends or places a Job that was sound, and pods that bear nothing the rules read, are no business of theirs; a
comparison inside the API server then takes the place of a request. What was sound before is not looked at again.
"""

from collections.abc import Mapping
from typing import Final

from worker_agent.api import names
from worker_agent.webhooks.change_conditions import NEW, any_of, differs

_OURS: Final = "kueue.x-k8s.io/"
_TOLD_BY_US: Final = (
    names.POD_SET_LABEL,
    names.LOCAL_QUEUE_NAME_LABEL,
    names.CLUSTER_QUEUE_NAME_LABEL,
    names.WORKLOAD_ANNOTATION,
)
"""What starting a job puts on its pods. No rule reads these."""

_METADATA: Final = ("metadata.labels", "metadata.annotations")


def _is_read(key: str) -> str:
    told = ", ".join(f"'{name}'" for name in _TOLD_BY_US)
    return f"{key}.startsWith('{_OURS}') && !({key} in [{told}])"


def _bears(which: str) -> str:
    """Whether the object has a label or annotation of ours that a rule may read."""
    return any_of(f"has({which}.{field}) && {which}.{field}.exists(key, {_is_read('key')})" for field in _METADATA)


def _template_annotations(which: str) -> str:
    metadata = f"{which}.spec.template.metadata"
    return f"(has({metadata}) && has({metadata}.annotations) ? {metadata}.annotations : {{}})"


def _not_as_in(these: str, those: str) -> str:
    return f"{these}.exists(key, {_is_read('key')} && !(key in {those} && {those}[key] == {these}[key]))"


_NEW_TEMPLATE: Final = _template_annotations("object")
_OLD_TEMPLATE: Final = _template_annotations("oldObject")
_COUNTS: Final = ("spec.parallelism", "spec.completions", "spec.completionMode")

JOB_CHANGES_WHAT_RULES_SAY: Final = any_of(
    (
        NEW,
        *(differs(field) for field in (*_METADATA, *_COUNTS)),
        _not_as_in(_NEW_TEMPLATE, _OLD_TEMPLATE),
        _not_as_in(_OLD_TEMPLATE, _NEW_TEMPLATE),
    )
)
"""A creation, other labels or annotations, another number of pods, or another topology asked for."""

POD_BEARS_WHAT_RULES_READ: Final = any_of(
    (
        f"{NEW} && ({_bears('object')})",
        f"!({NEW}) && ({any_of(differs(field) for field in _METADATA)})"
        f" && ({any_of((_bears('object'), _bears('oldObject')))})",
    )
)
"""A creation with one of our labels or annotations, or a change of labels or annotations among which there is one."""

VALIDATED_IF: Final[Mapping[str, Mapping[str, str]]] = {
    "batch/job": {"changes-what-rules-say": JOB_CHANGES_WHAT_RULES_SAY},
    "pod": {"bears-what-rules-read": POD_BEARS_WHAT_RULES_READ},
}
"""By framework. The other kinds are few, and always asked about."""
