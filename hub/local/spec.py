"""What a local federation consists of: its clusters, their simulated nodes, and the manifests each starts with.

Read from ``federation.yaml`` in a folder of manifests; ``manager/`` and ``workers/<name>/`` beside it hold the objects
that are applied to each cluster, ``jobs/`` the jobs of the demo.
"""

from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel


class SpecError(ValueError):
    """The description of a local federation is wrong; the text names the file, the field and what is allowed."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class NodeGroup(_Part):
    """``count`` equal nodes, up to ``maxCount`` with an autoscaler; ``capacity`` in Kubernetes quantities."""

    name: str
    count: Annotated[int, Field(ge=0, le=5000)]
    max_count: Annotated[int | None, Field(ge=0, le=5000)] = None
    capacity: dict[str, str]
    labels: dict[str, str] = {}
    taints: list[dict[str, str]] = []


class Autoscaler(_Part):
    """Answers ProvisioningRequests of its cluster by adding nodes to the node groups; all times in seconds."""

    accept_seconds: Annotated[float, Field(ge=0)] = 2
    provision_seconds: Annotated[float, Field(ge=0)] = 10
    booking_seconds: Annotated[float, Field(ge=0)] = 600
    idle_seconds: Annotated[float, Field(ge=0)] = 60
    give_up_seconds: Annotated[float, Field(ge=0)] = 600
    refuse_attempts: Annotated[int, Field(ge=0)] = 0


class Cluster(_Part):
    """One cluster; ``labels`` go on its MultiKueueCluster (region, zone). ``autoscaler`` is absent in most."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$")]
    labels: dict[str, str] = {}
    node_groups: list[NodeGroup] = []
    source: Literal["kubeConfig", "agent"] = "kubeConfig"
    """How the hub reaches a worker: by its kubeconfig, or through the connection that its agent dials."""
    autoscaler: Autoscaler | None = None


class FederationSpec(_Part):
    """A manager and its workers; without a manager each worker stands alone, a cluster with an agent.

    ``jobKinds``: every job kind is served, its operator played, its integration enabled; else only Jobs are.
    """

    job_kinds: bool = False
    manager: Cluster | None = None
    workers: Annotated[list[Cluster], Field(min_length=1, max_length=64)]

    @property
    def clusters(self) -> list[Cluster]:
        return [*([self.manager] if self.manager else []), *self.workers]


def shipped() -> Path:
    """The folder of the demo's manifests: beside the package in a checkout, inside it when installed."""
    checkout = Path(__file__).parents[2] / "manifests" / "demo"
    return checkout if checkout.is_dir() else Path(str(resources.files("hub"))) / "manifests" / "demo"


def load(folder: Path) -> FederationSpec:
    """The federation described in ``folder``. Raises SpecError."""
    path = folder / "federation.yaml"
    try:
        return FederationSpec.model_validate(yaml.safe_load(path.read_text()))
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}; a federation folder holds federation.yaml") from None
    except yaml.YAMLError as error:
        raise SpecError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise SpecError(f"{path}: {problems}") from None


def documents(folder: Path) -> list[dict[str, Any]]:
    """All objects in the YAML files of ``folder``, by file name and position. A missing folder holds none."""
    return [
        document
        for path in sorted(folder.glob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text())
        if document is not None
    ]
