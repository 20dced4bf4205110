"""What Kubernetes accepts as a name; each check gives the messages of k8s.io/apimachinery/pkg/util/validation."""

import re
from typing import Final

from worker_agent.api.field_error import FieldError, invalid, required

_LABEL_FMT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FMT: Final = rf"{_LABEL_FMT}(\.{_LABEL_FMT})*"
_QUALIFIED_FMT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_PATH_FMT: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_LABEL: Final = re.compile(rf"{_LABEL_FMT}\Z")
_SUBDOMAIN: Final = re.compile(rf"{_SUBDOMAIN_FMT}\Z")
_QUALIFIED: Final = re.compile(rf"{_QUALIFIED_FMT}\Z")
_LABEL_VALUE: Final = re.compile(rf"({_QUALIFIED_FMT})?\Z")
_PATH: Final = re.compile(rf"{_PATH_FMT}\Z")

_LABEL_WRONG: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_FMT}')"
)
_SUBDOMAIN_WRONG: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FMT}')"
)
_QUALIFIED_WRONG: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED_FMT}')"
)
_LABEL_VALUE_WRONG: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
LABEL_LIMIT: Final = 63
SUBDOMAIN_LIMIT: Final = 253


def _length(limit: int) -> str:
    return f"must be no more than {limit} characters"


def label_errors(name: str) -> list[str]:
    """Why ``name`` is no DNS-1123 label; empty when it is one."""
    errors = [_length(LABEL_LIMIT)] if len(name) > LABEL_LIMIT else []
    return errors if _LABEL.match(name) else [*errors, _LABEL_WRONG]


def subdomain_errors(name: str) -> list[str]:
    """Why ``name`` is no DNS-1123 subdomain; empty when it is one."""
    errors = [_length(SUBDOMAIN_LIMIT)] if len(name) > SUBDOMAIN_LIMIT else []
    return errors if _SUBDOMAIN.match(name) else [*errors, _SUBDOMAIN_WRONG]


def label_value_errors(value: str) -> list[str]:
    """Why ``value`` cannot be a label's value; empty when it can."""
    errors = [_length(LABEL_LIMIT)] if len(value) > LABEL_LIMIT else []
    return errors if _LABEL_VALUE.match(value) else [*errors, _LABEL_VALUE_WRONG]


def qualified_name_errors(text: str) -> list[str]:
    """Why ``text`` is no label or annotation key ("name" or "prefix/name"); empty when it is one."""
    parts = text.split("/")
    if len(parts) > 2:
        told = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a qualified name {_QUALIFIED_WRONG} {told}"]
    errors: list[str] = []
    if len(parts) == 2:
        prefix = parts[0]
        found = subdomain_errors(prefix) if prefix else ["must be non-empty"]
        errors += [f"prefix part {error}" for error in found]
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name) > LABEL_LIMIT:
        errors.append(f"name part {_length(LABEL_LIMIT)}")
    if not _QUALIFIED.match(name):
        errors.append(f"name part {_QUALIFIED_WRONG}")
    return errors


def domain_prefixed_path_errors(field: str, text: str) -> list[FieldError]:
    """``text`` must be a path behind a domain, such as a controller's name."""
    if not text:
        return [required(field)]
    host, _, path = text.partition("/")
    if not host or not path:
        return [invalid(field, text, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(field, host, error) for error in subdomain_errors(host)]
    if not _PATH.match(path):
        errors.append(invalid(field, path, f"Invalid path (regex used for validation is '{_PATH_FMT}')"))
    return errors
