"""The Active condition of an AdmissionCheck that names MultiKueue as its controller (spec/multikueue section 4)."""

from collections.abc import Mapping

from hub.engine.condition import Stand
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.meta import Condition
from worker_agent.api.multikueue import MultiKueueConfig
from worker_agent.api.resource_type import MULTIKUEUE_CONFIGS
from worker_agent.engine import check_parameters
from worker_agent.engine.check_parameters import BadReference

__all__ = ["BadReference", "bad_config", "config_name", "judge", "not_found", "resolve"]


def config_name(check: AdmissionCheck) -> str:
    """The name of the MultiKueueConfig the check's parameters point at. Raises BadReference."""
    return check_parameters.config_name(check, MULTIKUEUE_CONFIGS)


def not_found(name: str) -> BadReference:
    return check_parameters.not_found(name, MULTIKUEUE_CONFIGS)


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
