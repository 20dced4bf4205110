"""Where the programs of a real control plane are: the folder that KUBEBUILDER_ASSETS names, as envtest has it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "KUBEBUILDER_ASSETS"
ADVICE = f"build them with: export {VARIABLE}=$(scripts/build-test-cluster)"


class BinariesError(ValueError):
    """The programs are not there; the text says which and how to get them."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """Paths of the programs. envtest's folders hold no controllers: those are None, and the simulation stands in."""

    etcd: Path
    api_server: Path
    controller_manager: Path | None = None
    scheduler: Path | None = None


def find(environment: Mapping[str, str] = os.environ) -> Binaries:
    """The programs in the folder KUBEBUILDER_ASSETS names. Raises BinariesError."""
    named = environment.get(VARIABLE, "")
    if not named:
        raise BinariesError(f"{VARIABLE} is not set, so there is no real control plane to start; {ADVICE}")
    return in_folder(Path(named))


def in_folder(folder: Path) -> Binaries:
    """The programs in ``folder``. Raises BinariesError when etcd or kube-apiserver is not among them."""
    names = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    found = {name: folder / name for name in names if os.access(folder / name, os.X_OK)}
    missing = [name for name in names[:2] if name not in found]
    if missing:
        raise BinariesError(f"{folder} holds no {' and no '.join(missing)}; {ADVICE}")
    controllers = (found.get("kube-controller-manager"), found.get("kube-scheduler"))
    if None in controllers:
        controllers = (None, None)
    return Binaries(found["etcd"], found["kube-apiserver"], *controllers)
