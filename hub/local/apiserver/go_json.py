"""What Go's JSON decoder says of text that is no JSON: clients see these words. Read only when a body was refused.

Source of the messages: Go's encoding/json scanner.
"""

import re

from hub.local.apiserver.schema.field_errors import quote

_SPACE = " \t\r\n"
_END = "unexpected end of JSON input"
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_ESCAPES = '"\\/bfnrt'
_HEX = "0123456789abcdefABCDEF"


class _Fault(Exception):
    pass


def complaint(body: bytes) -> str:
    """The decoder's message for a body that does not parse; the empty text for one that does."""
    try:
        _Scanner(body.decode(errors="replace")).document()
    except _Fault as fault:
        return str(fault)
    return ""


def summary(body: bytes, longest: int = 30) -> str:
    """How a body is shown in a message: objects as text, anything else in hexadecimal."""
    if not body:
        return "<empty>"
    text = body.decode(errors="replace") if body[:1] == b"{" else body.hex()
    limit = longest if body[:1] == b"{" else 2 * longest
    return text if len(text) <= limit else f"{text[:limit]} ..."


def _shown(character: str) -> str:
    if character == "'":
        return r"'\''"
    if character == '"':
        return "'\"'"
    return f"'{quote(character)[1:-1]}'"


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> None:
        self._value()
        self._skip()
        if self._at < len(self._text):
            raise self._fault("after top-level value")

    def _fault(self, context: str) -> _Fault:
        if self._at >= len(self._text):
            return _Fault(_END)
        return _Fault(f"invalid character {_shown(self._text[self._at])} {context}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self) -> str:
        while self._peek() and self._peek() in _SPACE:
            self._at += 1
        return self._peek()

    def _value(self) -> None:
        first = self._skip()
        if first == "{":
            self._object()
        elif first == "[":
            self._array()
        elif first == '"':
            self._string()
        elif first in _LITERALS and first:
            self._literal(_LITERALS[first])
        elif first == "-" or first.isdigit():
            self._number()
        else:
            raise self._fault("looking for beginning of value")

    def _object(self) -> None:
        self._at += 1
        if self._skip() == "}":
            self._at += 1
            return
        while True:
            if self._skip() != '"':
                raise self._fault("looking for beginning of object key string")
            self._string()
            if self._skip() != ":":
                raise self._fault("after object key")
            self._at += 1
            self._value()
            following = self._skip()
            if following not in (",", "}") or not following:
                raise self._fault("after object key:value pair")
            self._at += 1
            if following == "}":
                return

    def _array(self) -> None:
        self._at += 1
        if self._skip() == "]":
            self._at += 1
            return
        while True:
            self._value()
            following = self._skip()
            if following not in (",", "]") or not following:
                raise self._fault("after array element")
            self._at += 1
            if following == "]":
                return

    def _string(self) -> None:
        self._at += 1
        while (character := self._peek()) != '"':
            if not character or character < " ":
                raise self._fault("in string literal")
            self._at += 1
            if character == "\\":
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        character = self._peek()
        if character == "u":
            for _ in range(4):
                self._at += 1
                if not self._peek() or self._peek() not in _HEX:
                    raise self._fault("in \\u hexadecimal character escape")
        elif not character or character not in _ESCAPES:
            raise self._fault("in string escape code")
        self._at += 1

    def _literal(self, word: str) -> None:
        for letter in word:
            if self._peek() != letter:
                raise self._fault(f"in literal {word} (expecting {_shown(letter)})")
            self._at += 1

    def _number(self) -> None:
        matched = _NUMBER.match(self._text, self._at)
        if matched is None:
            self._at += 1
            raise self._fault("in numeric literal")
        self._at = matched.end()
        following = self._peek()
        if following == "." and not matched[2] and not matched[3]:
            self._at += 1
            raise self._fault("after decimal point in numeric literal")
        if following in ("e", "E") and following and not matched[3]:
            self._at += 1
            if self._peek() in ("+", "-"):
                self._at += 1
            raise self._fault("in exponent of numeric literal")
