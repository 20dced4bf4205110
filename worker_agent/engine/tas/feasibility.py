"""Which hosts a pod may use at all: taints, node selector, node affinity (spec/tas 5.5 and 10).

Nodes are judged by kind: each distinct set of taints and each distinct label value once, then gathered per leaf.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from worker_agent.api import selectors
from worker_agent.api.pod import NodeSelectorTerm, Taint, Toleration
from worker_agent.engine import selection
from worker_agent.engine.tas.ask import PodDemand
from worker_agent.engine.tas.tree import Ints, Mask

TaintSet = tuple[tuple[str, str, str], ...]
"""(key, value, effect) of the taints that keep pods away."""


class Verdict(NamedTuple):
    """``fit``: the leaves that may be used, None for all. ``excluded``: leaves by the first reason against them."""

    fit: Mask | None
    excluded: Mapping[str, int]
    score: Ints | None = None


class _Column(NamedTuple):
    """The values of one label: a code per host, and the codes of the values."""

    codes: Ints
    known: dict[str | None, int]


EVERYWHERE = Verdict(None, {})


def taint_set(taints: Iterable[Taint] | None) -> TaintSet:
    return tuple((t.key, t.value, t.effect) for t in taints or () if t.effect in ("NoSchedule", "NoExecute"))


class HostKinds:
    """The hosts of a tree by what sets them apart for a pod. ``names`` and ``labels`` are parallel to the leaves."""

    def __init__(self, names: Sequence[str], labels: Sequence[Mapping[str, str]], taints: Sequence[TaintSet]) -> None:
        self._names = list(names)
        self._labels = list(labels)
        self._taints: dict[TaintSet, int] = {}
        known = self._taints
        self._taint_kind: Ints = np.array([known.setdefault(t, len(known)) for t in taints], dtype=np.int64)
        self._columns: dict[str, _Column] = {}

    def insert(self, leaf: int, name: str, labels: Mapping[str, str], taints: TaintSet) -> None:
        """A host has come; all behind it move up by one."""
        self._names.insert(leaf, name)
        self._labels.insert(leaf, labels)
        kind = self._taints.setdefault(taints, len(self._taints))
        self._taint_kind = np.insert(self._taint_kind, leaf, kind)
        for key, (codes, known) in self._columns.items():
            code = known.setdefault(labels.get(key), len(known))
            self._columns[key] = _Column(np.insert(codes, leaf, code), known)

    def remove(self, leaf: int) -> None:
        del self._names[leaf], self._labels[leaf]
        self._taint_kind = np.delete(self._taint_kind, leaf)
        for key, (codes, known) in self._columns.items():
            self._columns[key] = _Column(np.delete(codes, leaf), known)

    def judge(self, demand: PodDemand, tolerations: Sequence[Toleration], scored: bool) -> Verdict:
        """``tolerations``: the flavor's, beside the pod's. Raises selectors.SelectorError."""
        fit = np.ones(len(self._names), dtype=np.bool_)
        excluded: dict[str, int] = {}
        self._judge_taints(fit, excluded, (*demand.tolerations, *tolerations))
        if demand.node_selector:
            self._exclude(fit, self._selected(demand.node_selector), "nodeSelector", excluded)
        affinity = demand.affinity
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        if required is not None:
            self._exclude(fit, self._any_term(required.node_selector_terms or ()), "affinity", excluded)
        score = self._scores(demand) * fit if scored else None
        return Verdict(None if fit.all() else fit, excluded, score)

    def _judge_taints(self, fit: Mask, excluded: dict[str, int], tolerations: Sequence[Toleration]) -> None:
        for taints, kind in self._taints.items():
            against = next((t for t in taints if not _tolerated(t, tolerations)), None)
            if against is not None:
                mask = self._taint_kind == kind
                if not mask.any():
                    continue
                key, value, effect = against
                told = f'taint "{key}={value}:{effect}"' if value else f'taint "{key}:{effect}"'
                excluded[told] = excluded.get(told, 0) + int(mask.sum())
                fit &= ~mask

    @staticmethod
    def _exclude(fit: Mask, allowed: Mask, reason: str, excluded: dict[str, int]) -> None:
        refused = int((fit & ~allowed).sum())
        if refused:
            excluded[reason] = refused
        fit &= allowed

    def _by_value(self, key: str, holds: Callable[[str | None], bool]) -> Mask:
        column = self._columns.get(key)
        if column is None:
            known: dict[str | None, int] = {}
            codes = np.array([known.setdefault(of.get(key), len(known)) for of in self._labels], dtype=np.int64)
            column = self._columns[key] = _Column(codes, known)
        return np.array([holds(value) for value in column.known], dtype=np.bool_)[column.codes]

    def _selected(self, selector: Mapping[str, str]) -> Mask:
        fit = np.ones(len(self._names), dtype=np.bool_)
        for key, wanted in selector.items():
            fit &= self._by_value(key, lambda value, wanted=wanted: value == wanted)  # type: ignore[misc]
        return fit

    def _any_term(self, terms: Sequence[NodeSelectorTerm]) -> Mask:
        fit = np.zeros(len(self._names), dtype=np.bool_)
        for term in terms:
            fit |= self._term(term)
        return fit

    def _term(self, term: NodeSelectorTerm) -> Mask:
        """A term without requirements matches nothing."""
        if not term.match_expressions and not term.match_fields:
            return np.zeros(len(self._names), dtype=np.bool_)
        fit = np.ones(len(self._names), dtype=np.bool_)
        for expression in term.match_expressions or ():
            requirement = selectors.node_requirement(expression)
            fit &= self._by_value(requirement.key, _on_label(requirement))
        for expression in term.match_fields or ():
            requirement = selectors.node_requirement(expression)
            fit &= np.array([requirement.matches({"metadata.name": name}) for name in self._names], dtype=np.bool_)
        return fit

    def _scores(self, demand: PodDemand) -> Ints:
        score = np.zeros(len(self._names), dtype=np.int64)
        affinity = demand.affinity
        for term in (affinity.preferred_during_scheduling_ignored_during_execution if affinity else None) or ():
            score += self._term(term.preference) * term.weight
        return score


def _on_label(requirement: selectors.Requirement) -> Callable[[str | None], bool]:
    return lambda value: requirement.matches({} if value is None else {requirement.key: value})


def _tolerated(taint: tuple[str, str, str], tolerations: Sequence[Toleration]) -> bool:
    key, value, effect = taint
    return any(selection.tolerates(t, Taint(key=key, value=value, effect=effect)) for t in tolerations)
