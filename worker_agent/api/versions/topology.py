"""Topology in v1beta1: its levels cannot be changed."""

from typing import Final

from worker_agent.api.resource_type import TOPOLOGIES
from worker_agent.api.schema import IMMUTABLE
from worker_agent.api.topology import LEVEL_RULES
from worker_agent.api.versions.old_version import OldVersion
from worker_agent.api.versions.schema_changes import Change

_RULES: Final = [{"message": rule.message, "rule": rule.rule} for rule in (IMMUTABLE, *LEVEL_RULES[:2])]

OLD_VERSION: Final = OldVersion(
    TOPOLOGIES, changes=(Change("spec.levels", keywords={"x-kubernetes-validations": _RULES}),)
)
