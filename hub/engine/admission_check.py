"""The Active condition of an AdmissionCheck that names MultiKueue as its controller (spec/multikueue section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hub.engine.condition import Stand
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.meta import Condition
from worker_agent.api.multikueue import MultiKueueConfig

GROUP: Final = "kueue.x-k8s.io"
CONFIG_KIND: Final = "MultiKueueConfig"


@dataclass(frozen=True, slots=True)
class BadReference(Exception):
    """The check's parameters lead to no MultiKueueConfig; ``message`` says why, in the words users search for."""

    message: str

    def __str__(self) -> str:
        return self.message


def config_name(check: AdmissionCheck) -> str:
    """The name of the MultiKueueConfig the check's parameters point at.

    Raises BadReference for missing parameters, an empty name, a foreign group or a foreign kind, tested in this order.
    """
    parameters = check.spec.parameters
    if parameters is None:
        raise BadReference("missing parameters reference")
    if not parameters.name:
        raise BadReference("empty name: bad parameters reference")
    if parameters.api_group != GROUP:
        raise BadReference(f'wrong group "{parameters.api_group}", expecting "{GROUP}": bad parameters reference')
    if parameters.kind != CONFIG_KIND:
        raise BadReference(f'wrong kind "{parameters.kind}", expecting "{CONFIG_KIND}": bad parameters reference')
    return parameters.name


def not_found(name: str) -> BadReference:
    return BadReference(f'multikueueconfigs.{GROUP} "{name}" not found')


def resolve(check: AdmissionCheck, configs: Mapping[str, MultiKueueConfig]) -> MultiKueueConfig:
    """The check's configuration; BadReference when its parameters are wrong or name none that exists."""
    name = config_name(check)
    if name not in configs:
        raise not_found(name)
    return configs[name]


def bad_config(error: Exception | str) -> Stand:
    return Stand("False", "BadConfig", f"Cannot load the AdmissionChecks parameters: {error}")


def judge(config: MultiKueueConfig, active: Mapping[str, Condition | None]) -> Stand:
    """The condition for a check whose configuration could be read.

    ``active`` holds the Active condition of every MultiKueueCluster that exists (None: not set yet).
    """
    listed = config.spec.clusters
    missing = [name for name in listed if name not in active]
    inactive = [name for name in listed if name in active and not _is_true(active[name])]
    unusable = len(missing) + len(inactive)
    if not unusable:
        return Stand("True", "Active", "The admission check is active")
    parts = []
    if missing:
        parts.append(f"Missing clusters: [{' '.join(missing)}]")
    if inactive:
        parts.append(f"Inactive clusters: [{' '.join(inactive)}]")
    if unusable < len(listed):
        return Stand("True", "SomeActiveClusters", ", ".join(parts))
    return Stand("False", "NoUsableClusters", ", ".join(parts))


def _is_true(condition: Condition | None) -> bool:
    return condition is not None and condition.is_true
