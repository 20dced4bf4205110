"""The provisioning controllers, wired: they begin when the cluster serves ProvisioningRequests, whenever that is."""

import asyncio
from collections.abc import Awaitable, Callable

from worker_agent.api import need
from worker_agent.api.resource_type import POD_TEMPLATES, PROVISIONING_REQUEST_CONFIGS, PROVISIONING_REQUESTS
from worker_agent.app import kinds_served
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.controllers.provisioning_checks import ProvisioningChecks
from worker_agent.controllers.provisioning_controller import ProvisioningController
from worker_agent.engine.provisioning.view import ProvisioningRules
from worker_agent.kube.client import Client
from worker_agent.kube.clock import Clock
from worker_agent.kube.informer import Informer, Keep, document

READ_AS_DOCUMENTS = (PROVISIONING_REQUESTS, POD_TEMPLATES)
NEEDS = need.followed(READ_AS_DOCUMENTS)


def work(
    client: Client, known: KnownObjects, applier: Applier, rules: ProvisioningRules, clock: Clock
) -> Callable[[], Awaitable[None]]:
    """What to run while leading. ProvisioningRequestConfigs must be followed by then."""
    checks = ProvisioningChecks(known, applier, clock)

    async def run() -> None:
        await known.informer(PROVISIONING_REQUEST_CONFIGS).synced.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(checks.run(), name="provisioning checks")
            await _until_served(client, checks, clock)
            sources = [Informer(client, kind, document, keep=Keep.DECODED) for kind in READ_AS_DOCUMENTS]
            for source in sources:
                known.follow(source.resource, source)
                group.create_task(source.run(), name=f"informer {source.resource.plural}")
            for source in sources:
                await source.synced.wait()
            controller = ProvisioningController(known, applier, rules, clock)
            checks.tell_served(True)
            group.create_task(controller.run(), name="provisioning")

    return run


async def _until_served(client: Client, checks: ProvisioningChecks, clock: Clock) -> None:
    served = await kinds_served.look(client, PROVISIONING_REQUESTS)
    if served:
        return
    if served is not None:  # Nothing is said of the checks until it is known.
        checks.tell_served(False)
    await kinds_served.until_served(client, PROVISIONING_REQUESTS, clock)
