"""Syntax of names and labels, and what Kubernetes says when it is broken (apimachinery/pkg/util/validation).

Each check returns the messages, none when the text is well-formed: an empty name breaks two rules and gets two.
"""

import re
from typing import Final

_LABEL_KEY: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_DNS_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN: Final = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_CONDITION_REASON: Final = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_EMPTY: Final = "must be non-empty"
_LABEL_WORDS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)


def regex_message(words: str, pattern: str, *examples: str) -> str:
    """``words (e.g. 'a',  or 'b', regex used for validation is 'pattern')``, the odd spaces being Kubernetes' own."""
    if not examples:
        return f"{words} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


def label_key(text: str) -> list[str]:
    """An optional DNS subdomain and ``/``, then a name of at most 63 characters."""
    parts = text.split("/")
    if len(parts) > 2:
        words = regex_message(f"a valid label key {_LABEL_WORDS}", _LABEL_KEY, "MyName", "my.name", "123-abc")
        return [f"{words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    prefix = _prefix(parts[0]) if len(parts) == 2 else []
    return prefix + [f"name part {message}" for message in _label_name(parts[-1])]


def _prefix(text: str) -> list[str]:
    if not text:
        return [f"prefix part {_EMPTY}"]
    return [f"prefix part {message}" for message in dns_subdomain(text)]


def _label_name(text: str) -> list[str]:
    messages = [] if text else [_EMPTY]
    messages += _too_long(text, 63)
    if not re.fullmatch(_LABEL_KEY, text):
        messages.append(regex_message(_LABEL_WORDS, _LABEL_KEY, "MyName", "my.name", "123-abc"))
    return messages


def label_value(text: str) -> list[str]:
    """At most 63 characters, or empty."""
    messages = _too_long(text, 63)
    if not re.fullmatch(_LABEL_VALUE, text):
        words = f"a valid label must be an empty string or {_LABEL_WORDS.removeprefix('must ')}"
        messages.append(regex_message(words, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return messages


def dns_subdomain(text: str) -> list[str]:
    """``example.com``: at most 253 characters."""
    messages = _too_long(text, 253)
    if not re.fullmatch(_DNS_SUBDOMAIN, text):
        words = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        messages.append(regex_message(words, _DNS_SUBDOMAIN, "example.com"))
    return messages


def dns_label(text: str) -> list[str]:
    """``my-name``: at most 63 characters."""
    messages = _too_long(text, 63)
    if not re.fullmatch(_DNS_LABEL, text):
        words = (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            "and must start and end with an alphanumeric character"
        )
        messages.append(regex_message(words, _DNS_LABEL, "my-name", "123-abc"))
    return messages


def http_path(text: str) -> list[str]:
    """The part behind the domain in ``acme.io/foo``."""
    return [] if re.fullmatch(_HTTP_PATH, text) else [regex_message("Invalid path", _HTTP_PATH)]


def condition_reason(text: str) -> list[str]:
    """One CamelCase word."""
    if re.fullmatch(_CONDITION_REASON, text):
        return []
    words = (
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
        "characters or '_,:', and must end with an alphanumeric character or '_'"
    )
    examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
    return [regex_message(words, _CONDITION_REASON, *examples)]


def _too_long(text: str, bytes_at_most: int) -> list[str]:
    too_long = len(text.encode()) > bytes_at_most
    return [f"must be no more than {bytes_at_most} bytes"] if too_long else []
