"""One cluster of a local federation as a process: a real control plane and its simulated nodes.

The counterpart of ``hub.local.cluster_process``, with the same configuration and the same promise: started as
``python -m hub.local.real.cluster_process CONFIGURATION``, it writes ``<data directory>/kubeconfig`` when requests are
answered, after one for each of the programs' accounts beside it, and ends on SIGTERM. Pods run as their annotations say
on both; Jobs are run by the real controllers here.
"""

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import msgspec

from hub.local.apiserver import kubeconfig_files
from hub.local.cluster_configuration import Configuration
from hub.local.objects import SYSTEM_NAMESPACE
from hub.local.real import accounts, binaries, control_plane, seed
from hub.local.real.control_plane import ControlPlaneConfig
from hub.local.simulation import cluster as simulation
from hub.local.simulation.cluster import Part
from worker_agent.kube.clock import SystemClock


class ComponentEnded(RuntimeError):
    """A component of the control plane ended by itself; the text names it."""


async def run(configuration: Configuration) -> None:
    """Serve until SIGTERM. Raises ComponentEnded when a component goes, and what stops the simulation."""
    folder = Path(configuration.data_directory)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    programs = binaries.find()
    plane = await control_plane.start(
        ControlPlaneConfig(
            folder=folder,
            binaries=programs,
            name=configuration.name,
            port=configuration.port,
            crds=configuration.definitions,
            audit=configuration.audit,
            seed=seed.given(),
            audited_groups=[accounts.group(SYSTEM_NAMESPACE)] if configuration.audit_programs else (),
        )
    )
    client = plane.connect("fedhub-simulation")
    clock = SystemClock()
    shape = configuration.shape
    played = simulation.MACHINES if programs.controller_manager else simulation.ALL_PARTS
    if configuration.job_kinds:
        played |= {Part.OPERATORS} if programs.controller_manager else simulation.JOB_KINDS
    tasks = [
        asyncio.create_task(simulation.run_simulation(client, shape, clock, parts=played)),
        asyncio.create_task(_watch(plane)),
        asyncio.create_task(stop.wait()),
    ]
    await accounts.install(client, SYSTEM_NAMESPACE, seeded=plane.config.seed is not None)
    for account in accounts.ACCOUNTS:
        own = await accounts.kubeconfig(client, plane.kubeconfig, SYSTEM_NAMESPACE, account)
        kubeconfig_files.write(folder / f"{account}.kubeconfig", own)
    kubeconfig_files.write(folder / "kubeconfig", plane.kubeconfig)
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await client.close()
        await plane.stop()


async def _watch(plane: control_plane.ControlPlane) -> None:
    raise ComponentEnded(f"{await plane.ended()} ended by itself; see its log in {plane.config.folder}")


def main() -> None:
    wordy = os.environ.get("FEDHUB_LOG_LEVEL") == "debug"
    logging.basicConfig(
        level=logging.DEBUG if wordy else logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    logging.getLogger("fedhub.simulation.completions").setLevel(logging.INFO)
    path = Path(sys.argv[1])
    asyncio.run(run(msgspec.json.decode(path.read_bytes(), type=Configuration)))


if __name__ == "__main__":
    main()
