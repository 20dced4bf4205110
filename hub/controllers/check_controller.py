"""Keeps the Active condition of MultiKueue's AdmissionChecks (spec section 4)."""

from hub.controllers.federation_objects import FederationObjects
from hub.engine import admission_check, condition, group_loading
from hub.engine.condition import Stand
from worker_agent.api import names, need
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.api.resource_type import ADMISSION_CHECKS
from worker_agent.controllers.applier import Applier
from worker_agent.engine.intents import MULTIKUEUE_MANAGER, ApplyStatus, SetCondition
from worker_agent.kube.clock import Clock
from worker_agent.kube.controller import Controller
from worker_agent.kube.informer import Event

NEEDS = (need.of(ADMISSION_CHECKS, "patch", subresource="status"),)


class CheckController:
    """Reconciles a check when it, its configuration, or the state of one of the clusters changes."""

    def __init__(self, objects: FederationObjects, applier: Applier, clock: Clock) -> None:
        self._objects = objects
        self._applier = applier
        self.controller: Controller[str] = Controller("multikueue-admission-check", self._reconcile, clock=clock)
        objects.checks.add_handler(self._check_changed)
        objects.configs.add_handler(self._config_changed)
        objects.clusters.add_handler(self._cluster_changed)

    async def run(self) -> None:
        await self.controller.run()

    def _check_changed(self, event: Event[AdmissionCheck]) -> None:
        if event.new is not None and group_loading.is_multikueue(event.new):
            self.controller.enqueue(event.key.name)

    def _config_changed(self, event: Event[MultiKueueConfig]) -> None:
        if event.old is None or event.new is None or event.old.spec.clusters != event.new.spec.clusters:
            self._enqueue_config(event.key.name)

    def _cluster_changed(self, event: Event[MultiKueueCluster]) -> None:
        if event.old is None or event.new is None or _stand(event.old) != _stand(event.new):
            for config in self._objects.configs_with_cluster(event.key.name):
                self._enqueue_config(config)

    def _enqueue_config(self, config: str) -> None:
        for name in self._objects.checks_with_config(config):
            self.controller.enqueue(name)

    async def _reconcile(self, name: str) -> None:
        check = self._objects.admission_check(name)
        if check is None or not group_loading.is_multikueue(check):
            return
        stand = self._judge(check)
        if not stand.differs_from(condition.find(check.status.conditions, names.ACTIVE)):
            return
        change = ApplyStatus(
            resource=ADMISSION_CHECKS,
            key=Key("", name),
            field_manager=MULTIKUEUE_MANAGER,
            conditions=(SetCondition(names.ACTIVE, stand.status, stand.reason, stand.message),),
            strict=False,
        )
        await self._applier.apply([change])

    def _judge(self, check: AdmissionCheck) -> Stand:
        try:
            config_name = admission_check.config_name(check)
            config = self._objects.config(config_name)
            if config is None:
                raise admission_check.not_found(config_name)
        except admission_check.BadReference as error:
            return admission_check.bad_config(error)
        active = {
            cluster.metadata.name: condition.find(cluster.status.conditions, names.ACTIVE)
            for cluster in self._objects.clusters.values()
        }
        return admission_check.judge(config, active)


def _stand(cluster: MultiKueueCluster) -> tuple[str, str, str] | None:
    active = condition.find(cluster.status.conditions, names.ACTIVE)
    return (active.status, active.reason, active.message) if active is not None else None
