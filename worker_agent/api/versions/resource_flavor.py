"""ResourceFlavor in v1beta1: the same."""

from typing import Final

from worker_agent.api.resource_type import RESOURCE_FLAVORS
from worker_agent.api.versions.old_version import OldVersion

OLD_VERSION: Final = OldVersion(RESOURCE_FLAVORS)
