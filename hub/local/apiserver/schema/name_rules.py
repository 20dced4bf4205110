"""What names, labels and keys may look like, in the real server's words. A rule returns complaints, none when fine."""

import re
from functools import lru_cache
from typing import Final

DNS1035_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN: Final = rf"{LABEL}(\.{LABEL})*"
KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
VALUE: Final = f"({KEY})?"
ENVIRONMENT_KEY: Final = "[-._a-zA-Z0-9]+"

LABEL_WORDS: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
SUBDOMAIN_WORDS: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
KEY_WORDS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
VALUE_WORDS: Final = f"a valid label must be an empty string or consist of {KEY_WORDS.removeprefix('must consist of ')}"


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def described(words: str, pattern: str, *examples: str) -> str:
    """A rule with its examples and its pattern, as every such message ends."""
    shown = " or ".join(f"'{example}', " for example in examples)
    shown = f"e.g. {shown}" if examples else ""
    return f"{words} ({shown}regex used for validation is '{pattern}')"


def too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def in_range(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


@lru_cache(4096)
def dns1123_label(text: str) -> tuple[str, ...]:
    found = [too_long(63)] if len(text.encode()) > 63 else []
    if not _matches(LABEL, text):
        dotted = _matches(SUBDOMAIN, text)
        found.append("must not contain dots" if dotted else described(LABEL_WORDS, LABEL, "my-name", "123-abc"))
    return tuple(found)


@lru_cache(4096)
def dns1123_subdomain(text: str) -> tuple[str, ...]:
    found = [too_long(253)] if len(text.encode()) > 253 else []
    if not _matches(SUBDOMAIN, text):
        found.append(described(SUBDOMAIN_WORDS, SUBDOMAIN, "example.com"))
    return tuple(found)


@lru_cache(4096)
def dns1035_label(text: str) -> tuple[str, ...]:
    """Complaints about a name that must be a DNS label starting with a letter."""
    complaints: tuple[str, ...] = (too_long(63),) if len(text) > 63 else ()
    if not _matches(DNS1035_LABEL, text):
        words = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character"
        )
        complaints += (described(words, DNS1035_LABEL, "my-name", "abc-123"),)
    return complaints


def path_segment(text: str) -> tuple[str, ...]:
    """Names of RBAC objects: anything a URL path can hold."""
    if text in {".", ".."}:
        return (f"may not be '{text}'",)
    return tuple(f"may not contain '{part}'" for part in ("/", "%") if part in text)


@lru_cache(4096)
def label_key(text: str) -> tuple[str, ...]:
    parts = text.split("/")
    words = described(KEY_WORDS, KEY, "MyName", "my.name", "123-abc")
    if len(parts) > 2:
        return (f"a valid label key {words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    found = []
    if len(parts) == 2:
        complaints = dns1123_subdomain(parts[0]) if parts[0] else ("must be non-empty",)
        found += [f"prefix part {complaint}" for complaint in complaints]
    name = parts[-1]
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append(f"name part {too_long(63)}")
    if not _matches(KEY, name):
        found.append(f"name part {words}")
    return tuple(found)


@lru_cache(4096)
def label_value(text: str) -> tuple[str, ...]:
    found = [too_long(63)] if len(text) > 63 else []
    if not _matches(VALUE, text):
        found.append(described(VALUE_WORDS, VALUE, "MyValue", "my_value", "12345"))
    return tuple(found)


@lru_cache(4096)
def config_map_key(text: str) -> tuple[str, ...]:
    """Keys of ConfigMap and Secret data."""
    found = [too_long(253)] if len(text) > 253 else []
    if not _matches(ENVIRONMENT_KEY, text):
        words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        found.append(described(words, ENVIRONMENT_KEY, "key.name", "KEY_NAME", "key-name"))
    if text == ".":
        found.append("must not be '.'")
    elif text == "..":
        found.append("must not be '..'")
    elif text.startswith(".."):
        found.append("must not start with '..'")
    return tuple(found)
