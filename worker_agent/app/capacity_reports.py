"""What an agent reports of its cluster's room, wired: it begins when ClusterCapacity is served, whenever that is."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from worker_agent.api import need
from worker_agent.api.resource_type import CLUSTER_CAPACITIES
from worker_agent.app import kinds_served
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.capacity_publisher import CapacityPublisher
from worker_agent.controllers.engine_thread import Engine
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.informer import Informer, Keep, document

NEEDS = need.followed([CLUSTER_CAPACITIES])


def work(
    client: Client,
    known: KnownObjects,
    engine: Engine,
    applier: Applier,
    frameworks: Sequence[str],
    clock: Clock,
) -> Callable[[], Awaitable[None]]:
    """What to run while leading. ``frameworks``: the integrations that are served."""

    async def run() -> None:
        await kinds_served.until_served(client, CLUSTER_CAPACITIES, clock)
        source = Informer(client, CLUSTER_CAPACITIES, document, keep=Keep.DECODED)
        known.follow(CLUSTER_CAPACITIES, source)
        async with asyncio.TaskGroup() as group:
            group.create_task(source.run(), name="informer clustercapacities")
            await source.synced.wait()
            await CapacityPublisher(known, engine, applier, clock, frameworks).run()

    return run
