"""Kubeconfig files: what to connect to and as whom, or a message that names the field that is wrong.

Messages never hold credentials, only the names of fields. Files are read here and now; nothing refers to a path later
except the token file of a service account, which the kubelet rotates.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import urlsplit

import yaml

from worker_agent.api.document import Document
from worker_agent.kube import kubeconfig_exec
from worker_agent.kube.exec_plugin import ExecPlugin
from worker_agent.kube.kubeconfig_exec import StanzaError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

PROXY_SCHEMES = ("http", "https")
SERVER_SCHEMES = ("https", "http")
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser where it was built in: every program and command begins with this file."""


class KubeconfigError(ValueError):
    """The kubeconfig cannot be used; the text names the source and the field, and what would be right."""


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """One cluster and one identity. Certificates and keys are PEM; ``ca`` None = the system's authorities.

    Secrets are left out of ``repr``. ``source`` says where this came from, for messages.
    """

    server: str
    source: str = ""
    context: str = ""
    namespace: str = "default"
    ca: bytes | None = None
    client_certificate: bytes | None = None
    client_key: bytes | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    token_file: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = field(default="", repr=False)  # may hold a password
    exec_plugin: ExecPlugin | None = None
    """How to log in; ``exec_transport`` alone connects with it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which entries of a kubeconfig: a context (empty: the current one), or another cluster or user than it names."""

    context: str = ""
    cluster: str = ""
    user: str = ""
    credential: bool = True
    """False where the caller brings its own: what the user entry says of logging in is not read then."""
    exec_plugins: bool = False
    """True where the file is the user's own, on the user's machine; else no program is started on its behalf."""


def load(source: str | Path | bytes, context: str | Choice = "") -> ClusterConfig:
    """The cluster of ``context`` (default: current-context) in a kubeconfig given as a path or as its content."""
    context = Choice(context) if isinstance(context, str) else context
    if isinstance(source, bytes):
        return _Reader("kubeconfig", None).cluster_config(source, context)
    path = Path(source).expanduser()
    name = f"kubeconfig {path}"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KubeconfigError(f"{name}: cannot be read: {error.strerror}") from error
    return _Reader(name, path.parent).cluster_config(content, context)


def in_cluster(environment: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT) -> ClusterConfig:
    """The API server of the pod we run in, as its service account."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise KubeconfigError(
            "in-cluster configuration: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; "
            "outside a pod name a kubeconfig file"
        )
    token_file = folder / "token"
    try:
        ca = (folder / "ca.crt").read_bytes()
        namespace_file = folder / "namespace"
        namespace = namespace_file.read_text().strip() if namespace_file.exists() else "default"
        token_file.read_bytes()
    except OSError as error:
        raise KubeconfigError(f"in-cluster configuration: {error.filename}: {error.strerror}") from error
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return ClusterConfig(server, "in-cluster configuration", namespace=namespace, ca=ca, token_file=str(token_file))


class _Reader:
    """Reads one file; ``folder`` is what relative paths in it are relative to (None: there is no file)."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self._name = name
        self._folder = folder

    def cluster_config(self, content: bytes, choice: Choice) -> ClusterConfig:
        document = self._parse(content)
        name, where, chosen = self._choose_context(document, choice.context)
        cluster_name = choice.cluster or self._named(chosen, "cluster", where)
        cluster_at, cluster = self._entry(document, "clusters", "cluster", cluster_name)
        user_name = (choice.user or self._text(chosen, "user", where)) if choice.credential else ""
        user_at, user = self._entry(document, "users", "user", user_name) if user_name else ("users", {})
        certificate = self._material(user, "client-certificate", user_at)
        key = self._material(user, "client-key", user_at)
        self._check_pair(certificate, key, user_at)
        ca = self._material(cluster, "certificate-authority", cluster_at)
        insecure = self._flag(cluster, "insecure-skip-tls-verify", cluster_at)
        if insecure and ca is not None:
            self._fail(
                f"{cluster_at}.insecure-skip-tls-verify", "must not be true beside a certificate-authority; drop one"
            )
        plugin = None
        if choice.exec_plugins and user.get("exec") is not None:
            plugin = self._plugin(user, user_at, cluster, ca)
            user = {name: value for name, value in user.items() if name != "exec"}
        token, token_file = self._token(user, user_at)
        return ClusterConfig(
            server=self._server(cluster, cluster_at),
            source=self._name,
            context=name,
            namespace=self._text(chosen, "namespace", where) or "default",
            ca=ca,
            client_certificate=certificate,
            client_key=key,
            token=token,
            token_file=token_file,
            insecure_skip_tls_verify=insecure,
            tls_server_name=self._server_name(cluster, cluster_at),
            proxy_url=self._proxy(cluster, cluster_at),
            exec_plugin=None if token or token_file else plugin,  # as in client-go: what is there is not asked for
        )

    def _parse(self, content: bytes) -> Document:
        try:
            document = yaml.load(content, _LOADER)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            mark = getattr(error, "problem_mark", None)
            place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            # The parser's own text quotes the line, which may hold a secret.
            raise KubeconfigError(f"{self._name}: not valid YAML{place}") from None
        if document is None:
            raise KubeconfigError(f"{self._name}: is empty")
        if not isinstance(document, dict):
            raise KubeconfigError(f"{self._name}: must be a mapping with clusters, users and contexts")
        kind = document.get("kind", "Config")
        if kind != "Config":
            self._fail("kind", f'must be "Config", not {kind!r}')
        version = document.get("apiVersion", "v1")
        if version != "v1":
            self._fail("apiVersion", f'must be "v1", not {version!r}')
        return document

    def _choose_context(self, document: Document, wanted: str) -> tuple[str, str, Document]:
        name = wanted or self._text(document, "current-context", "")
        if not name:
            names = ", ".join(str(entry.get("name")) for entry in self._entries(document, "contexts"))
            self._fail("current-context", f"is not set; choose one of the contexts: {names or 'there are none'}")
        where, context = self._entry(document, "contexts", "context", name)
        return name, where, context

    def _entries(self, document: Document, field_name: str) -> list[Document]:
        entries = document.get(field_name)
        if entries is None:
            return []
        if not isinstance(entries, list):
            self._fail(field_name, "must be a list")
        for position, entry in enumerate(entries):
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                self._fail(f"{field_name}[{position}]", "must be a mapping with a name")
        return list(entries)

    def _entry(self, document: Document, list_name: str, body_name: str, name: str) -> tuple[str, Document]:
        """Place and body of the entry called ``name`` in one of the three lists."""
        for position, entry in enumerate(self._entries(document, list_name)):
            if entry["name"] == name:
                where = f"{list_name}[{position}].{body_name}"
                body = entry.get(body_name)
                if body is None:
                    body = {}
                if not isinstance(body, dict):
                    self._fail(where, "must be a mapping")
                return where, body
        known = ", ".join(entry["name"] for entry in self._entries(document, list_name))
        self._fail(list_name, f"has no entry named {name!r} (it has: {known or 'none'})")

    def _named(self, body: Document, field_name: str, where: str) -> str:
        value = self._text(body, field_name, where)
        if not value:
            self._fail(f"{where}.{field_name}", "is required")
        return value

    def _text(self, body: Document, field_name: str, where: str) -> str:
        value = body.get(field_name)
        if value is None:
            return ""
        if not isinstance(value, str):
            self._fail(f"{where}.{field_name}" if where else field_name, f"must be text, not {type(value).__name__}")
        return value

    def _flag(self, body: Document, field_name: str, where: str) -> bool:
        value = body.get(field_name)
        if value is not None and not isinstance(value, bool):
            self._fail(f"{where}.{field_name}", "must be true or false")
        return bool(value)

    def _server(self, cluster: Document, where: str) -> str:
        server = self._named(cluster, "server", where)
        self._check_url(server, f"{where}.server", SERVER_SCHEMES)
        return server.rstrip("/")

    def _server_name(self, cluster: Document, where: str) -> str:
        name = self._text(cluster, "tls-server-name", where)
        if name and (problem := host_problem(name)):
            self._fail(f"{where}.tls-server-name", problem)
        return name

    def _proxy(self, cluster: Document, where: str) -> str:
        proxy = self._text(cluster, "proxy-url", where)
        if proxy:
            self._check_url(proxy, f"{where}.proxy-url", PROXY_SCHEMES)
        return proxy

    def _check_url(self, url: str, where: str, schemes: tuple[str, ...]) -> None:
        if problem := url_problem(url, schemes):
            self._fail(where, problem)

    def _material(self, body: Document, field_name: str, where: str) -> bytes | None:
        """PEM from ``<field>-data`` (base64, wins as in client-go) or from the file that ``<field>`` names."""
        inline = self._text(body, f"{field_name}-data", where)
        if inline:
            place = f"{where}.{field_name}-data"
            try:
                pem = base64.b64decode("".join(inline.split()), validate=True)
            except binascii.Error:
                self._fail(place, "is not valid base64")
        else:
            place = f"{where}.{field_name}"
            path = self._text(body, field_name, where)
            if not path:
                return None
            pem = self._file(path, place)
        if b"-----BEGIN " not in pem:
            self._fail(place, "holds no PEM block (-----BEGIN ...)")
        return pem

    def _file(self, path: str, where: str) -> bytes:
        try:
            return self._resolved(path, where).read_bytes()
        except OSError as error:
            self._fail(where, f"file {path} cannot be read: {error.strerror}")

    def _resolved(self, path: str, where: str) -> Path:
        found = Path(path)
        if found.is_absolute():
            return found
        if self._folder is None:
            self._fail(where, f"relative path {path} in a kubeconfig that is not a file; put the data inline")
        return self._folder / found

    def _token(self, user: Document, where: str) -> tuple[str, str]:
        """Token and token file; at most one is set. Ways to log in that need a program or a password are refused."""
        for field_name, remedy in _REFUSED_LOGINS.items():
            if user.get(field_name):
                self._fail(f"{where}.{field_name}", remedy)
        token = self._text(user, "token", where).strip()
        if token and (problem := token_problem(token)):
            self._fail(f"{where}.token", problem)
        path = self._text(user, "tokenFile", where)
        if not path or token:  # client-go: the inline token wins
            return token, ""
        place = f"{where}.tokenFile"
        if not self._file(path, place).strip():
            self._fail(place, f"file {path} is empty")
        return "", str(self._resolved(path, place))

    def _plugin(self, user: Document, where: str, cluster: Document, ca: bytes | None) -> ExecPlugin:
        try:
            return kubeconfig_exec.read(user["exec"], cluster, ca, self._folder)
        except StanzaError as error:
            self._fail(f"{where}.exec.{error.field}".removesuffix("."), str(error))

    def _check_pair(self, certificate: bytes | None, key: bytes | None, where: str) -> None:
        if certificate is not None and key is None:
            self._fail(f"{where}.client-key-data", "is required beside a client certificate (or client-key)")
        if key is not None and certificate is None:
            self._fail(f"{where}.client-certificate-data", "is required beside a client key (or client-certificate)")

    def _fail(self, where: str, what: str) -> NoReturn:
        raise KubeconfigError(f"{self._name}: {where}: {what}")


_REFUSED_LOGINS: Mapping[str, str] = {
    "exec": "exec plugins are not supported here: only commands start one, and only for the user's own kubeconfig; "
    "use a token or a client certificate",
    "auth-provider": "auth providers are not supported; use a token or a client certificate",
    "username": "basic auth is not supported; use a token or a client certificate",
    "password": "basic auth is not supported; use a token or a client certificate",
    "as": "impersonation is not supported; give the identity credentials of its own",
}


def url_problem(url: str, schemes: tuple[str, ...] = SERVER_SCHEMES) -> str:
    """What is wrong with an address to connect to; empty where it can be used."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in schemes and not host_problem(parts.hostname or "") and not _has_spaces(url)
        _ = parts.port
    except ValueError:
        usable = False
    return "" if usable else f"must be a URL such as {schemes[0]}://host:port (schemes: {', '.join(schemes)})"


def host_problem(name: str) -> str:
    """What is wrong with a host's name or address; empty where it can be looked for."""
    try:
        labels = name.encode("idna").rstrip(b".").split(b".")
    except UnicodeError:
        labels = []
    usable = all(labels) and len(name) < 254 and name.isprintable() and not _has_spaces(name)
    return "" if labels and usable else "must be a host name or an address"


def _has_spaces(text: str) -> bool:
    return any(each.isspace() for each in text)


def token_problem(token: str) -> str:
    """What is wrong with a bearer token, without a word of it; empty where it can be sent."""
    safe = all(33 <= ord(character) < 127 for character in token)
    return "" if safe else "has characters that cannot stand in an HTTP header"
