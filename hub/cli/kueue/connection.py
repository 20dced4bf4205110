"""The options by which kubectl and kueuectl choose a server and an identity, and the client they lead to."""

import dataclasses
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hub.cli import output
from hub.cli.flag_groups import FlagGroup
from hub.cli.kueue import completion

if TYPE_CHECKING:
    from worker_agent.kube.client import Client
    from worker_agent.kube.kubeconfig import ClusterConfig
    from worker_agent.kube.transport import Transport

PANEL: Final = "Connection, as of kubectl"
USER_AGENT: Final = "fedhub-kueue"


def _option(*names: str, help_text: str, **more: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel=PANEL, show_default=False, **more)


@dataclass(frozen=True, slots=True)
class Connection(FlagGroup):
    """What was typed of them; empty is what the kubeconfig says."""

    kubeconfig: Annotated[str, _option("--kubeconfig", help_text="Path to the kubeconfig file.")] = ""
    context: Annotated[
        str, _option("--context", help_text="Context of the kubeconfig.", autocompletion=completion.contexts)
    ] = ""
    cluster: Annotated[
        str, _option("--cluster", help_text="Cluster of the kubeconfig.", autocompletion=completion.clusters)
    ] = ""
    user: Annotated[str, _option("--user", help_text="User of the kubeconfig.", autocompletion=completion.users)] = ""
    namespace: Annotated[
        str,
        _option("--namespace", "-n", help_text="Namespace of the request.", autocompletion=completion.namespaces),
    ] = ""
    server: Annotated[str, _option("--server", "-s", help_text="Address and port of the API server.")] = ""
    token: Annotated[str, _option("--token", help_text="Bearer token for the API server.")] = ""
    as_user: Annotated[str, _option("--as", help_text="User name to impersonate.")] = ""
    as_group: Annotated[list[str] | None, _option("--as-group", help_text="Group to impersonate; repeatable.")] = None
    as_uid: Annotated[str, _option("--as-uid", help_text="UID to impersonate.")] = ""
    as_user_extra: Annotated[
        list[str] | None, _option("--as-user-extra", help_text="Extra KEY=VALUE to impersonate; repeatable.")
    ] = None
    request_timeout: Annotated[
        str, _option("--request-timeout", help_text="Longest wait for an answer, such as 5s or 1m; 0 is no limit.")
    ] = ""
    cache_dir: Annotated[str, _option("--cache-dir", help_text="Handed on to kubectl; nothing is cached here.")] = ""
    certificate_authority: Annotated[
        str, _option("--certificate-authority", help_text="File of the authority that signs the server's certificate.")
    ] = ""
    client_certificate: Annotated[str, _option("--client-certificate", help_text="File of a client certificate.")] = ""
    client_key: Annotated[str, _option("--client-key", help_text="File of its key.")] = ""
    insecure_skip_tls_verify: Annotated[
        bool, _option("--insecure-skip-tls-verify", help_text="Trust any certificate of the server.")
    ] = False
    tls_server_name: Annotated[
        str, _option("--tls-server-name", help_text="Name that the server's certificate must bear.")
    ] = ""
    disable_compression: Annotated[
        bool, _option("--disable-compression", help_text="Handed on to kubectl; answers are never compressed here.")
    ] = False

    @classmethod
    def of(cls, context: typer.Context) -> "Connection":
        """What was typed so far, before and after the command's own name: while a command is completed."""
        typed: dict[str, Any] = _handed_on(context.params.get("arguments") or ())
        link: Any = context
        while link is not None:
            typed = {**{name: value for name, value in link.params.items() if value}, **typed}
            link = link.parent
        return cls.take({name: value for name, value in typed.items() if name in _FIELDS})

    def flags(self) -> list[str]:
        """The same, as kubectl takes it."""
        told: list[str] = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            flag = "--" + ("as" if field.name == "as_user" else field.name.replace("_", "-"))
            values = value if isinstance(value, list) else [value]
            told += [flag if each is True else f"{flag}={each}" for each in values if each]
        return told

    def precede(self) -> None:
        """These were typed before the command's name: they hold where nothing is typed after it."""
        _before.set(self)

    def whole(self) -> "Connection":
        """This, with what was typed before the command's name."""
        before = _before.get() or Connection()
        return Connection(**{name: getattr(self, name) or getattr(before, name) for name in _FIELDS})

    def config(self) -> "ClusterConfig":
        """The server and the identity. Raises KubeconfigError."""
        from worker_agent.kube import kubeconfig, kubeconfig_files  # noqa: PLC0415 - slow imports wait
        from worker_agent.kube.kubeconfig import Choice  # noqa: PLC0415

        own = bool(self.token or self.client_certificate)
        choice = Choice(self.context, self.cluster, self.user, credential=not own, exec_plugins=True)
        if self.kubeconfig:
            found = kubeconfig.load(Path(self.kubeconfig), choice)
        elif self.server and not kubeconfig_files.usual():
            found = kubeconfig.ClusterConfig(self.server, "--server")
        else:
            found = kubeconfig_files.own(choice)
        return dataclasses.replace(found, **self._overrides())

    def _check_typed(self) -> None:
        """Raises KubeconfigError naming the option whose value nothing can be sent to or with."""
        from worker_agent.kube import kubeconfig  # noqa: PLC0415 - slow imports wait

        if self.server and (problem := kubeconfig.url_problem(self.server)):
            raise kubeconfig.KubeconfigError(f"--server: {self.server!r}: {problem}")
        if self.tls_server_name and (problem := kubeconfig.host_problem(self.tls_server_name)):
            raise kubeconfig.KubeconfigError(f"--tls-server-name: {self.tls_server_name!r}: {problem}")
        if self.token and (problem := kubeconfig.token_problem(self.token)):
            raise kubeconfig.KubeconfigError(f"--token: {problem}; give it as it was issued, in one line")
        sent = {"--as": [self.as_user], "--as-uid": [self.as_uid], "--as-group": self.as_group or []}
        for option, values in (sent | {"--as-user-extra": self.as_user_extra or []}).items():
            if not all(value.isprintable() for value in values):
                raise kubeconfig.KubeconfigError(f"{option}: has characters that cannot stand in an HTTP header")

    def _overrides(self) -> dict[str, Any]:
        from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415

        self._check_typed()
        named = {"server": self.server, "token": self.token, "namespace": self.namespace}
        named["tls_server_name"] = self.tls_server_name
        changes: dict[str, Any] = {name: value for name, value in named.items() if value}
        if self.insecure_skip_tls_verify:
            changes |= {"insecure_skip_tls_verify": True, "ca": None}
        if bool(self.client_certificate) != bool(self.client_key):
            raise KubeconfigError("--client-certificate and --client-key go together")
        for option, path, field in (
            ("--certificate-authority", self.certificate_authority, "ca"),
            ("--client-certificate", self.client_certificate, "client_certificate"),
            ("--client-key", self.client_key, "client_key"),
        ):
            if path:
                try:
                    changes[field] = Path(path).read_bytes()
                except OSError as error:
                    raise KubeconfigError(f"{option}: {path}: {error.strerror}") from error
                if b"-----BEGIN " not in changes[field]:
                    raise KubeconfigError(f"{option}: {path}: holds no PEM block (-----BEGIN ...)")
        return changes

    def transport(self) -> "Transport":
        """Raises KubeconfigError."""
        from worker_agent.kube import exec_transport  # noqa: PLC0415
        from worker_agent.kube.sent_headers import SentHeaders  # noqa: PLC0415

        plain = exec_transport.connect(self.config())
        headers, timeout = self._impersonation(), self._timeout()
        return SentHeaders(plain, headers, timeout) if headers or timeout else plain

    def _impersonation(self) -> list[tuple[str, str]]:
        from urllib.parse import quote  # noqa: PLC0415

        from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415

        if not self.as_user and (self.as_group or self.as_uid or self.as_user_extra):
            raise KubeconfigError("--as-group, --as-uid and --as-user-extra need --as")
        headers = [("Impersonate-User", self.as_user), ("Impersonate-Uid", self.as_uid)]
        headers += [("Impersonate-Group", group) for group in self.as_group or ()]
        for extra in self.as_user_extra or ():
            key, separator, value = extra.partition("=")
            if not separator or not key:
                raise KubeconfigError(f"--as-user-extra {extra}: must be KEY=VALUE")
            headers.append((f"Impersonate-Extra-{quote(key, safe='')}", value))
        return [(name, value) for name, value in headers if value]

    def _timeout(self) -> float | None:
        from worker_agent.api import durations  # noqa: PLC0415
        from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415

        if not self.request_timeout:
            return None
        try:
            text = self.request_timeout
            seconds = durations.parse(f"{text}s" if text.isdigit() else text).total_seconds()
        except ValueError as error:
            raise KubeconfigError(f"--request-timeout: {error}") from None
        return seconds or None

    def run(self, work: "Callable[[Client, str], Awaitable[None]]") -> None:
        """Does ``work`` with a client and the namespace. What goes wrong ends the command with a line: a server that
        refuses or is away with exit code 1, wrong options with 2."""
        from hub.cli import manager_client  # noqa: PLC0415
        from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415

        whole = self.whole()
        try:
            transport, namespace = whole.transport(), whole.config().namespace
        except KubeconfigError as error:
            output.fail(error, 2)

        async def with_namespace(client: "Client") -> None:
            await work(client, namespace)

        manager_client.run_on(transport, with_namespace, USER_AGENT)


def _handed_on(arguments: Iterable[str]) -> dict[str, str]:
    """Options that say where names are looked up, among arguments that are kubectl's to read."""
    found, option = {}, ""
    for argument in arguments:
        if option:
            found[option], option = argument, ""
        else:
            flag, separator, value = argument.partition("=")
            name = {"-n": "namespace", **{f"--{field}": field for field in _LOOKED_UP}}.get(flag, "")
            if name and separator:
                found[name] = value
            else:
                option = name
    return found


_LOOKED_UP: Final = ("namespace", "context", "cluster", "user", "kubeconfig", "server")
_FIELDS: Final = tuple(field.name for field in dataclasses.fields(Connection))
_before: ContextVar[Connection | None] = ContextVar("typed_before", default=None)
