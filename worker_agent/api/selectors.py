"""Label and field selectors: those inside objects, and the query strings of list and watch.

One ``Requirement`` carries both; whoever lists, watches or matches namespaces asks it. Source: apimachinery/pkg/labels
and pkg/fields.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from worker_agent.api.meta import LabelSelector, LabelSelectorRequirement

Labels = Mapping[str, str]

_SET_OPERATORS: Final = {"In": "In", "NotIn": "NotIn", "Exists": "Exists", "DoesNotExist": "DoesNotExist"}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+\Z")
_TOKEN: Final = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")


class SelectorError(ValueError):
    """The selector cannot be read; the message says which part and why."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term: ``operator`` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        present = self.key in labels
        match self.operator:
            case "In":
                return present and labels[self.key] in self.values
            case "NotIn":
                return not present or labels[self.key] not in self.values
            case "Exists":
                return present
            case "DoesNotExist":
                return not present
            case _:
                return present and self._compares(labels[self.key])

    def _compares(self, text: str) -> bool:
        if len(self.values) != 1 or not _INTEGER.match(text) or not _INTEGER.match(self.values[0]):
            return False
        number, bound = int(text), int(self.values[0])
        return number > bound if self.operator == "Gt" else number < bound


@dataclass(frozen=True, slots=True)
class Query:
    """A conjunction of requirements; the empty one matches everything. Also used over field values."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels | None) -> bool:
        found = labels or {}
        return all(requirement.matches(found) for requirement in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)


def matches(selector: LabelSelector | None, labels: Labels | None) -> bool:
    """Whether an object's selector takes these labels. None takes nothing, an empty selector everything.

    Raises SelectorError for an operator or a value list that Kubernetes would refuse.
    """
    return selector is not None and compile_selector(selector).matches(labels)


def compile_selector(selector: LabelSelector) -> Query:
    """The selector as a query that can be asked many times. Raises SelectorError."""
    equal = [Requirement(key, "In", (value,)) for key, value in sorted((selector.match_labels or {}).items())]
    return Query((*equal, *(_checked(expression) for expression in selector.match_expressions or ())))


def node_requirement(expression: LabelSelectorRequirement) -> Requirement:
    """A node affinity term, which knows Gt and Lt too. Raises SelectorError for an unknown operator."""
    if expression.operator not in (*_SET_OPERATORS, "Gt", "Lt"):
        raise SelectorError(f'"{expression.operator}" is not a valid node selector operator')
    return Requirement(expression.key, expression.operator, tuple(expression.values or ()))


def _checked(expression: LabelSelectorRequirement) -> Requirement:
    values = tuple(expression.values or ())
    if expression.operator not in _SET_OPERATORS:
        raise SelectorError(f'"{expression.operator}" is not a valid label selector operator')
    if expression.operator in ("In", "NotIn") and not values:
        raise SelectorError(f"{expression.key}: for 'in', 'notin' operators, values set can't be empty")
    if expression.operator in ("Exists", "DoesNotExist") and values:
        raise SelectorError(f"{expression.key}: values set must be empty for exists and does not exist")
    return Requirement(expression.key, expression.operator, values)


def parse_label_query(text: str) -> Query:
    """Read ``a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1``. Raises SelectorError."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s+", "", text):
        raise SelectorError(f"unable to parse requirement: {text!r}")
    reader = _Reader(text, tokens)
    requirements = []
    while reader.peek():
        requirements.append(reader.requirement())
        if reader.peek():
            reader.expect(",")
            if not reader.peek():
                raise reader.error("identifier after ','")
    return Query(tuple(requirements))


def parse_field_query(text: str) -> Query:
    """Read ``metadata.name=x,status.phase!=Running``. Raises SelectorError."""
    return Query(tuple(_field_term(term, text) for term in _split_fields(text) if term))


def field_equality(query: Query, path: str) -> str | None:
    """The value the query demands of one field, if it demands exactly one."""
    return next((r.values[0] for r in query.requirements if r.key == path and r.operator == "In"), None)


def _field_term(term: str, whole: str) -> Requirement:
    for mark, operator in (("!=", "NotIn"), ("==", "In"), ("=", "In")):
        key, found, value = term.partition(mark)
        if found:
            return Requirement(key.strip(), operator, (re.sub(r"\\([\\,=])", r"\1", value),))
    raise SelectorError(f"invalid field selector: '{whole}'; can't understand '{term}'")


def _split_fields(text: str) -> Iterable[str]:
    return re.split(r"(?<!\\),", text)


class _Reader:
    """Recursive descent over the tokens of a label query."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self._text, self._tokens, self._at = text, tokens, 0

    def peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self._at += 1
        return token

    def expect(self, wanted: str) -> None:
        if self.take() != wanted:
            self._at -= 1
            raise self.error(f"'{wanted}'")

    def error(self, expected: str) -> SelectorError:
        found = self.peek() or "end of text"
        return SelectorError(f"unable to parse requirement: found '{found}', expected: {expected} in {self._text!r}")

    def word(self) -> str:
        token = self.peek()
        if not token or token in "=!<>()," or token in ("==", "!="):
            raise self.error("identifier")
        return self.take()

    def requirement(self) -> Requirement:
        if self.peek() == "!":
            self.take()
            return Requirement(self.word(), "DoesNotExist")
        key = self.word()
        return self._term(key)

    def _term(self, key: str) -> Requirement:
        match self.peek():
            case "" | ",":
                return Requirement(key, "Exists")
            case "=" | "==":
                self.take()
                return Requirement(key, "In", (self._value(),))
            case "!=":
                self.take()
                return Requirement(key, "NotIn", (self._value(),))
            case "in" | "notin":
                operator = "In" if self.take() == "in" else "NotIn"
                return Requirement(key, operator, self._values())
            case "<" | ">":
                operator = "Lt" if self.take() == "<" else "Gt"
                return Requirement(key, operator, (self._integer(key),))
        raise self.error("one of '=', '==', '!=', 'in', 'notin', '<', '>'")

    def _value(self) -> str:
        return "" if self.peek() in ("", ",", ")") else self.word()

    def _values(self) -> tuple[str, ...]:
        self.expect("(")
        values = [self._value()]
        while self.peek() == ",":
            self.take()
            values.append(self._value())
        self.expect(")")
        return tuple(sorted(set(values)))

    def _integer(self, key: str) -> str:
        text = self.word()
        if not _INTEGER.match(text):
            raise SelectorError(f"{key}: for 'Gt', 'Lt' operators, the value must be an integer, not {text!r}")
        return text
