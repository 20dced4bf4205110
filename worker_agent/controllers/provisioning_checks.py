"""The Active condition of the AdmissionChecks that ask an autoscaler for room."""

from worker_agent.api import need
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.meta import Key
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_type import ADMISSION_CHECKS, PROVISIONING_REQUEST_CONFIGS
from worker_agent.controllers.applier import Applier
from worker_agent.controllers.known_objects import KnownObjects
from worker_agent.engine.provisioning import check_activity
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event, Informer

NEEDS = (need.of(ADMISSION_CHECKS, "patch", subresource="status"),)


class ProvisioningChecks:
    """Says of every such check whether it can work; nothing before ``tell_served`` was called."""

    def __init__(self, known: KnownObjects, applier: Applier, clock: Clock) -> None:
        self._applier = applier
        self._checks: Informer[AdmissionCheck] = known.informer(ADMISSION_CHECKS)
        self._configs: Informer[ProvisioningRequestConfig] = known.informer(PROVISIONING_REQUEST_CONFIGS)
        self._served: bool | None = None
        self.controller: Controller[str] = Controller("provisioning checks", self._reconcile, clock=clock)
        self._checks.add_handler(self._check_changed)
        self._configs.add_handler(self._config_changed)

    async def run(self) -> None:
        await self.controller.run()

    def tell_served(self, served: bool) -> None:
        """Whether the cluster knows ProvisioningRequests."""
        self._served = served
        self._enqueue_all()

    def _enqueue_all(self) -> None:
        for check in self._checks.values():
            self.controller.enqueue(check.metadata.name)

    def _check_changed(self, event: Event[AdmissionCheck]) -> None:
        if event.new is not None and check_activity.is_ours(event.new):
            self.controller.enqueue(event.key.name)

    def _config_changed(self, event: Event[ProvisioningRequestConfig]) -> None:
        if event.old is None or event.new is None:
            self._enqueue_all()

    async def _reconcile(self, name: str) -> None:
        check = self._checks.get(Key("", name))
        if check is None or self._served is None or not check_activity.is_ours(check):
            return
        configs = {config.metadata.name: config for config in self._configs.values()}
        wanted = check_activity.condition(check, configs, served=self._served)
        await self._applier.apply(check_activity.written(check, wanted))
