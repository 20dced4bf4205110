"""What etcd holds once a control plane serves our definitions and knows our programs' accounts: made once, and many
control planes begin with it.

Half of what a start costs is writing the same roles and definitions into an empty etcd and reading them back. What
makes a cluster itself is left out, and written anew by each: its namespaces' identities, leases, what it says of its
authorities. Every plane has certificates and keys of its own.
"""

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from hub.local.objects import SYSTEM_NAMESPACE
from hub.local.real import accounts, components, control_plane
from hub.local.real.binaries import Binaries
from hub.local.real.control_plane import ControlPlane, ControlPlaneConfig
from worker_agent.api.document import Document
from worker_agent.kube import kubernetes_transport
from worker_agent.kube.kubeconfig import ClusterConfig
from worker_agent.kube.transport import Request

VARIABLE = "FEDHUB_ETCD_SEED"
"""Names the folder of a seed for every control plane that is started for a local federation or for tests."""

OWN = ("/registry/namespaces/", "/registry/leases/", "/registry/events/", "/registry/configmaps/")
"""Keys of what no two clusters share."""


def given(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder FEDHUB_ETCD_SEED names, if it does."""
    named = environment.get(VARIABLE, "")
    return Path(named) if named else None


async def make(folder: Path, binaries: Binaries, crds: Sequence[Document]) -> None:
    """Fills ``folder``, which is empty or not there, and may be of use to this release alone."""
    without_controllers = replace(binaries, controller_manager=None, scheduler=None)
    config = ControlPlaneConfig(folder / "made", without_controllers, "seed", crds=crds)
    plane = await control_plane.start(config)
    try:
        await _install_accounts(plane)
        api_server = plane.processes[components.API_SERVER]
        api_server.kill()  # before it writes anew what is taken out
        await api_server.wait()
        await _take_out_own(plane)
    finally:
        await plane.stop()
    plane.files.etcd.rename(folder / "etcd")


async def _install_accounts(plane: ControlPlane) -> None:
    client = plane.connect("fedhub-seed")
    try:
        await accounts.install(client, SYSTEM_NAMESPACE)
    finally:
        await client.close()


async def _take_out_own(plane: ControlPlane) -> None:
    etcd = kubernetes_transport.connect(ClusterConfig(plane.etcd))
    try:
        for prefix in OWN:
            end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
            asked = {
                name: base64.b64encode(key.encode()).decode() for name, key in (("key", prefix), ("range_end", end))
            }
            answer = await etcd.request(Request("POST", "/v3/kv/deleterange", (), {}, msgspec.json.encode(asked)))
            told = await answer.read()
            if answer.status != 200:
                raise control_plane.ControlPlaneError(f"etcd does not delete {prefix}: {told.decode(errors='replace')}")
    finally:
        await etcd.close()
