"""Messages as Go 1.26's encoding/json gives them for the same text."""

import pytest

from hub.local.apiserver import go_json


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", ""),
        (' {"a": [1, -2.5e3, true, null, "x\\u00e9"]} ', ""),
        ("", "unexpected end of JSON input"),
        ('{"a": 1', "unexpected end of JSON input"),
        ("{a", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a": 1 "b"', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{} {}", "invalid character '{' after top-level value"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u00g"', "invalid character 'g' in \\u hexadecimal character escape"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("'a'", r"invalid character '\'' looking for beginning of value"),
    ],
)
def test_complaint(text: str, message: str) -> None:
    assert go_json.complaint(text.encode()) == message


@pytest.mark.parametrize(("body", "shown"), [(b"", "<empty>"), (b"[]", "5b5d"), (b"{x", "{x")])
def test_summary(body: bytes, shown: str) -> None:
    assert go_json.summary(body) == shown
