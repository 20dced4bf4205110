"""One cluster of a local federation as a process: the embedded API server and its simulated nodes.

Started by the supervisor as ``python -m hub.local.cluster_process CONFIGURATION``; ends on SIGTERM.
"""

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import msgspec

from hub.local.apiserver import kubeconfig_files, serve
from hub.local.apiserver.identity import MASTERS, member
from hub.local.apiserver.serve import ServerConfig
from hub.local.cluster_configuration import Configuration
from hub.local.simulation import cluster as simulation
from worker_agent.kube.client import Client
from worker_agent.kube.clock import SystemClock

SIMULATION = member("system:simulation", (MASTERS,))


async def run(configuration: Configuration) -> None:
    """Serve until SIGTERM; ``<data directory>/kubeconfig`` is there when requests are answered."""
    folder = Path(configuration.data_directory)
    clock = SystemClock()
    running = await serve.start(
        ServerConfig(
            data_dir=folder,
            port=configuration.port,
            name=configuration.name,
            crds=configuration.definitions,
            persist=configuration.persistent,
        ),
        clock,
    )
    kubeconfig_files.write(folder / "kubeconfig", running.kubeconfig())
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    client = Client(running.transport_as(SIMULATION), clock, user_agent="fedhub-simulation")
    shape = configuration.shape
    simulating = asyncio.create_task(simulation.run_simulation(client, shape, clock, parts=configuration.parts))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([simulating, stopping], return_when=asyncio.FIRST_COMPLETED)
        if simulating.done():
            simulating.result()
    finally:
        simulating.cancel()
        stopping.cancel()
        await asyncio.gather(simulating, stopping, return_exceptions=True)
        await running.stop()


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
