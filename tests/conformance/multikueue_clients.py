"""multikueue/TestUpdateConfig: one reconcile of a MultiKueueCluster, with connections that only pretend."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from hub.clusters import credentials, kubeconfig_path
from hub.clusters.credentials import Credential, CredentialSources
from hub.clusters.kubeconfig_safety import ClientSettings
from hub.clusters.remote_clients import ConnectionFailed, Entry, Outcome, RemoteClients
from hub.engine import condition
from hub.engine.contact import Contact
from tests.conformance.case import Document
from tests.conformance.comparison import differences, multiset
from tests.conformance.multikueue_world import Cluster, error_differs, gates_of
from worker_agent.api import names, timestamps
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.kube.clock import LoopClock


async def _reconciled(case: Document) -> list[str]:
    world = Cluster.of(case["before"]["objects"])
    calls: list[str] = []
    clients: RemoteClients[_Link] = RemoteClients(_connect, LoopClock(timestamps.ZERO))
    for name, state in case["before"]["remoteClients"].items():
        contact = Contact(None if state["connected"] else timestamps.ZERO, state["failedConnAttempts"])
        clients.entries[name] = Entry(contact, _credential(state), _Link(calls))
    cluster = world.typed("MultiKueueCluster", case["reconcile"], MultiKueueCluster)
    if cluster is None:
        await clients.forget(case["reconcile"])
        return _judge_clients(case, clients, calls) + error_differs(case["expect"]["error"], None)
    outcome = await clients.reconcile(cluster, _sources(case, world))
    lines = _judge_clients(case, clients, calls) + error_differs(case["expect"]["error"], outcome.error or None)
    if outcome.error and outcome.error != case["expect"]["error"]:
        lines.append(f"error: expected {case['expect']['error']}, got {outcome.error}")
    lines += _judge_cluster(case, outcome)
    warned = credentials.uses_path(cluster) and not gates_of(case)["MultiKueueKubeConfigPathValidation"]
    events = [_DEPRECATION | {"key": f"/{case['reconcile']}"}] if warned else []
    return lines + multiset(case["expect"]["events"], events, "event")


def remote_clients(case: Document) -> list[str]:
    """TestUpdateConfig: one reconcile of a MultiKueueCluster."""
    # With a loop of its own made here, the one that pytest-asyncio has set for the thread stays as it is.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(_reconciled(case))


_DEPRECATION = {"message": kubeconfig_path.DEPRECATED_USAGE, "reason": "DeprecatedPathUsage", "type": "Warning"}


@dataclass
class _Link:
    closed: list[str]

    async def close(self) -> None:
        self.closed.append("closed")


async def _connect(cluster: str, credential: Credential, patience: float, lost: Callable[[], None]) -> _Link:
    """The recorded test's stand-in for a client: what it does is written in the kubeconfig."""
    content = (credential.kubeconfig or b"").decode()
    for word, failure in (("invalid", "invalid kubeconfig"), ("nowatch", "client cannot watch")):
        if word in content:
            raise ConnectionFailed(failure)
    return _Link([])


def _credential(state: Document) -> Credential:
    if state["restConfig"] is not None:
        settings = ClientSettings(state["restConfig"]["host"], state["restConfig"]["bearerToken"])
        return Credential(settings=settings)
    return Credential(kubeconfig=(state["kubeconfig"] or "").encode())


def _sources(case: Document, world: Cluster) -> CredentialSources:
    gates = gates_of(case)
    entries = [*case["expect"]["remoteClients"].values()]
    file = next((state["kubeconfig"] for state in entries if state["kubeconfig"]), "")
    covered = case["kubeConfigPathPrefixCoversFile"]
    validated = gates["MultiKueueKubeConfigPathValidation"] and not covered
    return CredentialSources(
        namespace="ns",
        secret=lambda key: world.objects.get(("Secret", key)),
        profile=lambda key: world.objects.get(("ClusterProfile", key)),
        read_file=lambda path: file.encode(),
        path_prefix=kubeconfig_path.ALLOWED_PREFIX if validated else None,
        profiles_enabled=gates["MultiKueueClusterProfile"],
        access_providers={"accessProvider1": _provide} if case["clusterProfileAccessProvider"] else {},
    )


def _provide(profile: Document) -> ClientSettings:
    token_file = "/token" if profile["metadata"]["name"] == "invalid" else ""
    return ClientSettings("https://10.10.10.10", bearer_token_file=token_file)


def _judge_clients(case: Document, clients: RemoteClients[_Link], calls: list[str]) -> list[str]:
    got = {
        name: {
            "connected": entry.contact.connected,
            "failedConnAttempts": entry.contact.failures,
            "kubeconfig": (entry.credential.kubeconfig or b"").decode() or None,
            "restConfig": None
            if entry.credential.settings is None
            else {"host": entry.credential.settings.host, "bearerToken": entry.credential.settings.bearer_token},
        }
        for name, entry in clients.entries.items()
    }
    lines = differences(case["expect"]["remoteClients"], got, zeros_absent=True)
    wanted = case["expect"]["watchCancelCalls"]
    return lines if wanted == len(calls) else [*lines, f"watches stopped: expected {wanted}, got {len(calls)}"]


def _judge_cluster(case: Document, outcome: Outcome) -> list[str]:
    expected = next(o for o in case["expect"]["objects"] if o["metadata"]["name"] == case["reconcile"])
    wanted = condition.find(msgspec.convert(expected, MultiKueueCluster).status.conditions, names.ACTIVE)
    stand = outcome.stand
    assert wanted is not None
    if stand is None:
        return ["condition: none"]
    message = stand.message.split(", next connection attempt")[0]
    got = (stand.status, stand.reason, message)
    lines = []
    if got != (wanted.status, wanted.reason, wanted.message):
        lines.append(f"condition: expected {wanted}, got {got}")
    if abs((outcome.requeue or 0) - case["expect"]["requeueAfterSeconds"]) >= 1:
        lines.append(f"requeue: expected {case['expect']['requeueAfterSeconds']}, got {outcome.requeue}")
    return lines
