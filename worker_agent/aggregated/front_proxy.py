"""Who asks, according to an API server that sends a user's request on. Pure.

Source: kubernetes apiserver pkg/authentication/request/headerrequest; the ConfigMap is written by every API server.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from worker_agent.api.document import Document

NAMESPACE: Final = "kube-system"
CONFIG_MAP: Final = "extension-apiserver-authentication"
ROLE: Final = "extension-apiserver-authentication-reader"


class Untrusted(Exception):
    """The request does not come from the API server, or names nobody; the text says which."""


@dataclass(frozen=True, slots=True)
class User:
    """As SubjectAccessReviews want them."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose certificates are believed (``authority``, PEM), which names in them, and in which headers they write.

    Without ``names`` every certificate of the authority will do. Headers are in lower case.
    """

    authority: bytes
    names: tuple[str, ...] = ()
    user_headers: tuple[str, ...] = ("x-remote-user",)
    group_headers: tuple[str, ...] = ("x-remote-group",)
    uid_headers: tuple[str, ...] = ("x-remote-uid",)
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)

    @classmethod
    def read(cls, config_map: Document | None) -> "Trust | None":
        """None while the API server names no front proxy."""
        data = (config_map or {}).get("data") or {}
        authority = data.get("requestheader-client-ca-file", "")
        if not authority:
            return None
        return cls(
            authority.encode(),
            tuple(_listed(data, "requestheader-allowed-names")),
            _lower(_listed(data, "requestheader-username-headers")),
            _lower(_listed(data, "requestheader-group-headers")),
            _lower(_listed(data, "requestheader-uid-headers")),
            _lower(_listed(data, "requestheader-extra-headers-prefix")),
        )

    def user(self, common_name: str, headers: Iterable[tuple[str, str]]) -> User:
        """Whose request it is; ``common_name`` is that of the certificate TLS verified. Raises Untrusted."""
        if self.names and common_name not in self.names:
            raise Untrusted(f"the certificate of {common_name!r} is not one of the API server's front proxy")
        given = [(name.lower(), value) for name, value in headers]
        name = next((value for header in self.user_headers for known, value in given if known == header), "")
        if not name:
            raise Untrusted("the request names no user")
        groups = tuple(value for known, value in given if known in self.group_headers)
        uid = next((value for known, value in given if known in self.uid_headers), "")
        return User(name, uid, groups, self._extra(given))

    def _extra(self, given: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for header, value in given:
            prefix = next((each for each in self.extra_prefixes if header.startswith(each)), "")
            if prefix:
                key = unquote(header.removeprefix(prefix))
                found[key] = (*found.get(key, ()), value)
        return found


def _listed(data: Mapping[str, Any], key: str) -> list[str]:
    try:
        return msgspec.json.decode(data.get(key) or "[]", type=list[str])
    except msgspec.DecodeError:
        return []


def _lower(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(value.lower() for value in values)
