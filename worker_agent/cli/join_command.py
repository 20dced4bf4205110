"""``fedhub-agent join`` and ``leave``: make this cluster a member of a federation, or end that."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from worker_agent.cli import structured
from worker_agent.cli.structured import Output

if TYPE_CHECKING:
    from worker_agent.kube.client import Client

Kubeconfig = Annotated[
    Path | None,
    typer.Option(help="Kubeconfig of this cluster; without it KUBECONFIG or ~/.kube/config, in a pod its account."),
]
Context = Annotated[str, typer.Option(help="Context of the kubeconfig; empty takes its current one.")]
Namespace = Annotated[str, typer.Option(help="The agent's namespace, where its identity is kept.")]
Format = Annotated[Output, typer.Option("--output", "-o", help="How the answer is printed.")]


def join(  # noqa: PLR0913, PLR0917 - the command's own options
    cluster: Annotated[str, typer.Argument(help="The name under which the hub knows this cluster.")],
    hub: Annotated[
        list[str],
        typer.Option(help="Address of the hub, https://host:port: one for all replicas, or one of each."),
    ],
    ca_pin: Annotated[str, typer.Option(help="Fingerprint of the hub's authority, sha256:...")],
    token: Annotated[
        str,
        typer.Option(
            help="The one-time token; - reads it from standard input.", envvar="FEDHUB_TOKEN", show_envvar=True
        ),
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Give up the identity this cluster has.")] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Namespace = "kueue-system",
    output: Format = Output.TEXT,
) -> None:
    """Exchange the token of `fedhub enroll` for a certificate; the running agent then dials the hub.

    The private key is made here and kept in a Secret of this cluster. Joining twice is fine.

    Example: fedhub-agent join oregon --hub https://hub.example:8444 --ca-pin sha256:1f... --token k3v9...
    """
    from worker_agent.api import timestamps  # noqa: PLC0415 - imports that take long wait until needed
    from worker_agent.kube import authority  # noqa: PLC0415
    from worker_agent.kube.clock import SystemClock  # noqa: PLC0415
    from worker_agent.tunnel import joining, protocol  # noqa: PLC0415

    secret = sys.stdin.readline().strip() if token == "-" else token
    try:
        hubs = tuple(protocol.address(each) for each in hub)
    except ValueError as error:
        _fail(f"--hub {error}", 2)
    if not protocol.is_agent_name(cluster):
        _fail(f"{cluster!r}: a name is made of lower case letters, digits, '-' and '.'", 2)
    try:
        pin = authority.read_pin(ca_pin)
    except ValueError as error:
        _fail(f"--ca-pin: {error}; copy it from what fedhub enroll printed", 2)
    invitation = joining.Invitation(cluster, hubs, secret, pin)

    async def work(client: "Client") -> None:
        joined = await joining.join(client, namespace, invitation, SystemClock().now(), replace=replace)
        identity = joined.identity
        expires = timestamps.rfc3339(identity.expires_at)
        facts = {"cluster": identity.agent, "hubs": list(identity.hubs), "expires": expires, "joined": joined.anew}
        word = "joined" if joined.anew else "is a member already; the token was not used"
        _report(facts, output, f"{identity.agent} {word}; its certificate expires at {expires} and is renewed in time")

    _run(work, kubeconfig, context)


def leave(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Namespace = "kueue-system",
    output: Format = Output.TEXT,
) -> None:
    """Forget the hub: the running agent drops its connections. The hub's side of it is `fedhub unenroll`.

    Example: fedhub-agent leave --context oregon
    """
    from worker_agent.tunnel.identity import IdentityStore  # noqa: PLC0415

    async def work(client: "Client") -> None:
        left = await IdentityStore(client, namespace).delete()
        _report({"left": left}, output, "the identity is deleted" if left else "this cluster was no member")

    _run(work, kubeconfig, context)


def _run(work: Callable[["Client"], Awaitable[None]], kubeconfig: Path | None, context: str) -> None:
    from worker_agent.cli import process  # noqa: PLC0415
    from worker_agent.kube.errors import ApiError  # noqa: PLC0415
    from worker_agent.kube.kubeconfig import KubeconfigError  # noqa: PLC0415
    from worker_agent.tunnel.identity import IdentityError  # noqa: PLC0415
    from worker_agent.tunnel.joining import JoinError  # noqa: PLC0415
    from worker_agent.tunnel.tls import UnusablePair  # noqa: PLC0415

    try:
        process.with_client(work, kubeconfig, context, "fedhub-agent-join")
    except KubeconfigError as error:
        _fail(error, 2)
    except (JoinError, IdentityError, UnusablePair, ApiError, ConnectionError) as error:
        _fail(error)


def _report(facts: dict[str, Any], format_: Output, text: str) -> None:
    if format_.for_people:
        print(text)
    else:
        structured.write(facts, format_)


def _fail(problem: object, code: int = 1) -> NoReturn:
    print(f"error: {problem}", file=sys.stderr)
    raise typer.Exit(code)
