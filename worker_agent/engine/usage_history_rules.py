"""How the usage of LocalQueues is remembered: the ``admissionFairSharing`` stanza, resolved (spec/engine 12.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from worker_agent.api import durations


@dataclass(frozen=True, slots=True)
class UsageRules:
    """Durations in seconds. A resource without weight weighs 1."""

    half_life: float = 0.0
    sampling_interval: float = 300.0
    weights: Mapping[str, float] = field(default_factory=dict)

    def alpha(self, elapsed: float) -> float:
        """How much of what is remembered fades in ``elapsed`` seconds: half of it in the half-life."""
        return 0.0 if self.half_life == 0 else float(1.0 - 0.5 ** (max(0.0, elapsed) / self.half_life))


def read_usage_rules(stanza: Mapping[str, Any] | None) -> UsageRules | None:
    """Durations as seconds or as Go prints them (``5m0s``); raises ValueError for anything else."""
    if stanza is None:
        return None
    weights = {name: float(weight) for name, weight in (stanza.get("resourceWeights") or {}).items()}
    return UsageRules(
        _seconds(stanza.get("usageHalfLifeTime", 0.0)), _seconds(stanza.get("usageSamplingInterval", 300.0)), weights
    )


def _seconds(duration: Any) -> float:
    return float(duration) if isinstance(duration, int | float) else durations.parse(str(duration)).total_seconds()
