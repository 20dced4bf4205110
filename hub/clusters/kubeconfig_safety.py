"""What a worker's credential may not contain (spec section 5.2): nothing that reads files, runs programs or skips TLS.

The file comes from a Secret that others may write, so every cluster and user in it is looked at, not only the current
context.
"""

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from worker_agent.api.document import Document
from worker_agent.kube.exec_plugin import ExecPlugin

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
LONGEST_SUBDOMAIN: Final = 253
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser where it was built in: a hub reads the file of every worker again at each change and attempt."""


class InsecureKubeconfig(ValueError):
    """The credential is refused; the text is the one Kueue's users know."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The resulting settings of a client, before any connection; an access provider fills them, or a kubeconfig.

    ``has_exec``: a kubeconfig names a program of its own.
    """

    host: str
    bearer_token: str = field(default="", repr=False)
    bearer_token_file: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    has_exec: bool = False
    has_auth_provider: bool = False
    certificate_authority: bytes | None = None
    certificate_authority_file: str = ""
    insecure: bool = False
    tls_server_name: str = ""
    proxy_url: str = field(default="", repr=False)
    exec_plugin: ExecPlugin | None = None
    """The program that gets the credentials, as the hub's own settings name it."""


def check(content: bytes) -> None:
    """Raises InsecureKubeconfig, naming the first rule that the kubeconfig breaks."""
    document = _parsed(content)
    users, clusters = _bodies(document, "users", "user"), _bodies(document, "clusters", "cluster")
    for user in users.values():
        if user.get("tokenFile"):
            raise InsecureKubeconfig("tokenFile is not allowed")
    for name, cluster in clusters.items():
        _check_cluster(name, cluster)
    check_settings(_settings(document, users, clusters))


def check_settings(settings: ClientSettings, *, exec_allowed: bool = False) -> None:
    """The checks on a client's settings, in Kueue's order. Raises InsecureKubeconfig."""
    if settings.bearer_token_file:
        raise InsecureKubeconfig("bearerTokenFile is not allowed")
    if not is_trusted(settings.host):
        raise InsecureKubeconfig("untrusted server endpoint")
    if settings.username or settings.password:
        raise InsecureKubeconfig("basic auth is not allowed")
    if settings.has_exec and not exec_allowed:
        raise InsecureKubeconfig("exec plugins are not allowed")
    if settings.has_auth_provider:
        raise InsecureKubeconfig("auth providers are not allowed")
    if settings.insecure:
        raise InsecureKubeconfig("insecure TLS verification is not allowed")
    if settings.certificate_authority_file:
        raise InsecureKubeconfig("certificate-authority file paths are not allowed, use certificate-authority-data")


def is_trusted(url: str) -> bool:
    """Whether a server URL names an IP address or a DNS name; not so without a scheme, or IPv6 without a port."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port
    except ValueError:
        return False
    if not parts.scheme or not host:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return len(host) <= LONGEST_SUBDOMAIN and _SUBDOMAIN.match(host.lower()) is not None
    return address.version == 4 or port is not None


def _check_cluster(name: str, cluster: Document) -> None:
    if cluster.get("insecure-skip-tls-verify"):
        raise InsecureKubeconfig(f"insecure TLS verification is not allowed for cluster {name}")
    if cluster.get("certificate-authority"):
        raise InsecureKubeconfig(
            f"certificate-authority file paths are not allowed, use certificate-authority-data for cluster {name}"
        )
    if not cluster.get("server"):
        raise InsecureKubeconfig(f"server URL is required for cluster {name}")


def _settings(document: Document, users: dict[str, Document], clusters: dict[str, Document]) -> ClientSettings:
    contexts = _bodies(document, "contexts", "context")
    current = str(document.get("current-context") or "")
    context = contexts.get(current)
    if context is None:
        raise InsecureKubeconfig(f'failed to parse kubeconfig(restconfig): context "{current}" does not exist')
    user = users.get(str(context.get("user") or ""), {})
    cluster = clusters.get(str(context.get("cluster") or ""))
    if cluster is None:
        name = context.get("cluster") or ""
        raise InsecureKubeconfig(f'failed to parse kubeconfig(restconfig): cluster "{name}" does not exist')
    return ClientSettings(
        host=str(cluster["server"]),
        bearer_token=str(user.get("token") or ""),
        username=str(user.get("username") or ""),
        password=str(user.get("password") or ""),
        has_exec=bool(user.get("exec")),
        has_auth_provider=bool(user.get("auth-provider")),
    )


def _parsed(content: bytes) -> Document:
    try:
        document = yaml.load(content, Loader=_LOADER)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # The parser's own text quotes the line, which may hold a secret.
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InsecureKubeconfig(f"failed to parse kubeconfig(apiconfig): not valid YAML{place}") from None
    if not isinstance(document, dict):
        raise InsecureKubeconfig(
            "failed to parse kubeconfig(apiconfig): not a mapping with clusters, users and contexts"
        )
    return document


def _bodies(document: Document, field: str, inner: str) -> dict[str, Document]:
    """The named entries of one of the three lists; what is not of that form is a parsing failure."""
    entries: Any = document.get(field) or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InsecureKubeconfig(f"failed to parse kubeconfig(apiconfig): {field} must be a list of named entries")
    bodies = {str(entry.get("name") or ""): entry.get(inner) or {} for entry in entries}
    if not all(isinstance(body, dict) for body in bodies.values()):
        raise InsecureKubeconfig(f"failed to parse kubeconfig(apiconfig): {field}[].{inner} must be a mapping")
    return bodies
