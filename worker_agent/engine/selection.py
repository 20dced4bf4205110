"""Whether a pod may run on a flavor's nodes: taints, node selector and required node affinity (spec/engine 8.3)."""

from collections.abc import Iterable, Mapping, Sequence

from worker_agent.api import selectors
from worker_agent.api.pod import NodeSelectorTerm, PodSpec, Taint, Toleration


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first NoSchedule or NoExecute taint that nothing tolerates."""
    for taint in taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not any(tolerates(t, taint) for t in tolerations):
            return taint
    return None


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def taint_text(taint: Taint) -> str:
    """As Go prints a taint: ``{key value effect <nil>}``."""
    added = taint.time_added or "<nil>"
    return f"{{{taint.key} {taint.value} {taint.effect} {added}}}"


def matches_nodes(spec: PodSpec, labels: Mapping[str, str], known: Iterable[str] | None = None) -> bool:
    """Whether nodes with these labels satisfy the pod's node selector and required node affinity.

    ``known``: label keys to judge by, every other key is dropped from the pod's demands (a flavor speaks only about
    the labels it declares); None judges by all. A term emptied that way satisfies the whole affinity.
    Raises selectors.SelectorError.
    """
    keys = None if known is None else set(known)
    for key, value in (spec.node_selector or {}).items():
        if (keys is None or key in keys) and labels.get(key) != value:
            return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is None:
        return True
    terms = [_requirements(term, keys) for term in required.node_selector_terms or ()]
    if keys is not None and not (terms and all(terms)):
        return True
    return any(term and all(requirement.matches(labels) for requirement in term) for term in terms)


def _requirements(term: NodeSelectorTerm, keys: set[str] | None) -> list[selectors.Requirement]:
    return [
        selectors.node_requirement(expression)
        for expression in term.match_expressions or ()
        if keys is None or expression.key in keys
    ]
