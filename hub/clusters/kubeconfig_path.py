"""Kubeconfig files on the hub's own disk: which paths may be read (spec section 5.1)."""

import os
from pathlib import Path
from typing import Final

ALLOWED_PREFIX: Final = Path("/etc/multikueue/kubeconfigs")

DEPRECATED_USAGE: Final = (
    "Using locationType=Path without MultiKueueKubeConfigPathValidation feature gate is deprecated and will be removed "
    "in a future release. Enable the MultiKueueKubeConfigPathValidation feature gate and place kubeconfig files under "
    "/etc/multikueue/kubeconfigs/."
)


class RefusedPath(ValueError):
    """The path may not be read, and why."""


def validate(location: str, prefix: Path = ALLOWED_PREFIX) -> None:
    """Raises RefusedPath unless ``location`` is an absolute path that, links resolved, lies inside ``prefix``."""
    if not location:
        raise RefusedPath("kubeconfig path must not be empty")
    refused = f"kubeconfig path is not under the allowed prefix: {location}"
    if not os.path.isabs(location) or ".." in os.path.normpath(location).split(os.sep):
        raise RefusedPath(refused)
    try:
        allowed = prefix.resolve(strict=True)
    except OSError:
        raise RefusedPath(refused) from None
    try:
        resolved = Path(location).resolve(strict=True)
    except OSError as error:
        raise RefusedPath(f"cannot resolve kubeconfig path symlinks: {location}: {error.strerror}") from None
    if not resolved.is_relative_to(allowed):
        raise RefusedPath(refused)
