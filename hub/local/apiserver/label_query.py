"""A labelSelector's text read as the real server reads it, with its words for what it cannot read.

Source: k8s.io/apimachinery pkg/labels/selector.go (lexer and parser). ``worker_agent.api.selectors`` matches.
"""

import re

from hub.local.apiserver import failure
from hub.local.apiserver.schema import field_errors, name_rules
from worker_agent.api.selectors import Requirement

_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SYMBOLS = frozenset({"=", "==", "!=", "!", "(", ")", ",", "<", ">"})
_OPERATORS = {"=": "In", "==": "In", "in": "In", "!=": "NotIn", "notin": "NotIn", ">": "Gt", "<": "Lt"}
_EXPECTED_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_END = ""


class _Unreadable(Exception):
    """What was found and what was expected."""


def parse(text: str) -> tuple[Requirement, ...]:
    """The requirements, all of which must hold. Raises BadRequest."""
    if not text:
        return ()
    try:
        return tuple(_Parser(_TOKEN.findall(text)).requirements())
    except _Unreadable as error:
        raise failure.bad_request(str(error)) from None


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            token = self._peek()
            if token == _END:
                return found
            if token in _SYMBOLS and token != "!":
                raise _Unreadable(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except _Unreadable as error:
                raise _Unreadable(f"unable to parse requirement: {error}") from None
            self._separator()

    def _separator(self) -> None:
        token = self._take()
        if token == ",":
            following = self._peek()
            if following == _END or (following in _SYMBOLS and following != "!"):
                raise _Unreadable(f"found '{following}', expected: identifier after ','")
        elif token != _END:
            raise _Unreadable(f"found '{token}', expected: ',' or 'end of string'")

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._take()
        key = self._take()
        if key == _END or key in _SYMBOLS:
            raise _Unreadable(f"found '{key}', expected: identifier")
        if complaints := name_rules.label_key(key):
            raise _Unreadable(f"<nil>: Invalid value: {field_errors.quote(key)}: {'; '.join(complaints)}")
        if absent or self._peek() in (_END, ","):
            return Requirement(key, "DoesNotExist" if absent else "Exists")
        sign = self._take()
        operator = _OPERATORS.get(sign)
        if operator is None:
            raise _Unreadable(f"found '{sign}', expected: {_EXPECTED_OPERATORS}")
        values = self._values() if sign in ("in", "notin") else (self._exact(),)
        _check_values(key, operator, values)
        return Requirement(key, operator, values)

    def _exact(self) -> str:
        token = self._peek()
        if token in (_END, ","):
            return ""
        if token in _SYMBOLS:
            raise _Unreadable(f"found '{token}', expected: identifier")
        return self._take()

    def _values(self) -> tuple[str, ...]:
        """``(a,b)``; an empty place is the empty text."""
        token = self._take()
        if token != "(":
            raise _Unreadable(f"found '{token}' expected: '('")
        found = {""} if self._peek() in (")", ",") else set()
        while (token := self._take()) != ")":
            if token == ",":
                if self._peek() in (",", ")"):
                    found.add("")
                continue
            if token == _END or token in _SYMBOLS:
                raise _Unreadable(f"found '{token}', expected: ',', or identifier")
            found.add(token)
            if self._peek() not in (",", ")"):
                raise _Unreadable(f"found '{self._peek()}', expected: ',' or ')'")
        return tuple(sorted(found))


def _check_values(key: str, operator: str, values: tuple[str, ...]) -> None:
    for index, value in enumerate(values):
        if operator in ("Gt", "Lt") and not re.fullmatch(r"[+-]?\d+", value):
            words = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _Unreadable(f"values[{index}]: Invalid value: {field_errors.quote(value)}: {words}")
        if complaints := name_rules.label_value(value):
            shown = f"values[{index}][{key}]: Invalid value: {field_errors.quote(value)}"
            raise _Unreadable(f"{shown}: {'; '.join(complaints)}")
