"""One file per check: ``NAME``, what it ``READS``, and ``check(snapshot) -> findings``. The folder is the list."""

from types import ModuleType
from typing import Final

from hub.app.doctor.checks import (
    api_services,
    clocks,
    clusters,
    credentials,
    definitions,
    finalizers,
    other_managers,
    programs,
    queues,
    rights,
    versions,
    webhooks,
)

CHECKS: Final[tuple[ModuleType, ...]] = (
    programs,
    definitions,
    webhooks,
    rights,
    api_services,
    other_managers,
    credentials,
    clusters,
    versions,
    clocks,
    queues,
    finalizers,
)
"""From what the rest hangs on to the rest."""
