"""Users look at their remote jobs, as part of the hub: the aggregated API of ``job_views``, served on every replica."""

import asyncio
from typing import Final

from hub.app.configuration import ViewService
from hub.app.job_views import GROUP, VERSION, JobViews, Workers
from worker_agent.aggregated.registration import API_SERVICES, KEEP, KEPT, Registration
from worker_agent.api import need
from worker_agent.app.aggregated_service import AggregatedService, ServedApi
from worker_agent.kube.client import Client

SECRET: Final = "fedhub-job-views-cert"

NEEDS = (need.of(API_SERVICES, *KEEP, names=(f"{VERSION}.{GROUP}",), unseen=KEPT),)


class JobViewService:
    """``run`` serves until cancelled. ``serving`` is set while it listens and is registered."""

    def __init__(self, client: Client, namespace: str, served: ViewService, workers: Workers) -> None:
        self._workers = workers
        registration = Registration(
            GROUP, VERSION, namespace, served.service, served.service_port, served.external_host
        )
        api = ServedApi("jobs' pods and logs", served.host, served.port, (registration,), SECRET)
        self._service = AggregatedService(client, namespace, api, JobViews(client, workers).answer)

    @property
    def port(self) -> int:
        return self._service.port

    @property
    def serving(self) -> asyncio.Event:
        return self._service.serving

    async def run(self) -> None:
        """Raises OSError when the port is in use; an API server that is away is waited for."""
        try:
            await self._service.run()
        finally:
            await self._workers.close()
