"""Request scripts: a few requests each, written as data.

A file of ``scripts/`` maps names of scripts to steps. A step is ``{do: METHOD PATH}`` and any of:

``body``    an object (apiVersion and kind are filled in where it has none), or text that is sent as it is
``type``    json | merge | strategic | apply for patches, else a content type
``accept``  the Accept header; ``table`` and ``metadata`` stand for the long ones
``as``      a user to impersonate
``keep``    variables from the answer, ``{rv: metadata.resourceVersion}``; later steps write ``{rv}``
``until``   repeat until the answer has this status code, or has these values (``{status.phase: Active}``)
``quiet``   the answer is not compared (background of a script)

PATH is a whole one, or ``configmaps/a/status?dryRun=All``: then it lies in the script's namespace ``{ns}``. Of names
in cluster-wide places write ``{ns}-name``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "scripts"

Body = dict[str, Any] | list[Any] | str | None

GROUPS = {
    "v1": (
        "configmaps ConfigMap, secrets Secret, pods Pod, services Service, namespaces Namespace!, nodes Node!,"
        " podtemplates PodTemplate, serviceaccounts ServiceAccount, limitranges LimitRange,"
        " resourcequotas ResourceQuota, replicationcontrollers ReplicationController,"
        " persistentvolumeclaims PersistentVolumeClaim, persistentvolumes PersistentVolume!"
    ),
    "batch/v1": "jobs Job, cronjobs CronJob",
    "apps/v1": "deployments Deployment, statefulsets StatefulSet, replicasets ReplicaSet, daemonsets DaemonSet",
    "events.k8s.io/v1": "events Event",
    "coordination.k8s.io/v1": "leases Lease",
    "scheduling.k8s.io/v1": "priorityclasses PriorityClass!",
    "node.k8s.io/v1": "runtimeclasses RuntimeClass!",
    "rbac.authorization.k8s.io/v1": "roles Role, rolebindings RoleBinding, clusterroles ClusterRole!",
    "apiextensions.k8s.io/v1": "customresourcedefinitions CustomResourceDefinition!",
    "apiregistration.k8s.io/v1": "apiservices APIService!",
    "admissionregistration.k8s.io/v1": (
        "validatingwebhookconfigurations ValidatingWebhookConfiguration!,"
        " mutatingwebhookconfigurations MutatingWebhookConfiguration!"
    ),
    "example.com/v1": "widgets Widget, gadgets Gadget!",
    "kueue.x-k8s.io/v1beta2": (
        "workloads Workload, localqueues LocalQueue, clusterqueues ClusterQueue!, resourceflavors ResourceFlavor!,"
        " cohorts Cohort!, admissionchecks AdmissionCheck!, topologies Topology!"
    ),
}
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
ACCEPTS = {
    "table": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "metadata": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
    "metadatalist": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
}
STEP_FIELDS = {"do", "body", "type", "accept", "as", "keep", "until", "quiet"}


@dataclass(frozen=True, slots=True)
class Step:
    """One request, still with its variables; see the module."""

    method: str
    path: str
    body: Body = None
    type: str = ""
    accept: str = ""
    user: str = ""
    keep: dict[str, str] = field(default_factory=dict)
    until: int | dict[str, Any] | None = None
    quiet: bool = False

    @property
    def is_watch(self) -> bool:
        return "watch=" in self.path


@dataclass(frozen=True, slots=True)
class Script:
    """``name`` is unique: file stem, colon, name in the file."""

    name: str
    steps: tuple[Step, ...]


def load_all() -> list[Script]:
    """Every script of the folder, by file and position."""
    return [script for path in sorted(FOLDER.glob("*.yaml")) for script in load(path)]


def load(path: Path) -> Iterator[Script]:
    for name, steps in yaml.safe_load(path.read_text()).items():
        yield Script(f"{path.stem}: {name}", tuple(step(given) for given in steps))


def step(given: dict[str, Any]) -> Step:
    """A step as written in a file. Raises ValueError."""
    unknown = set(given) - STEP_FIELDS
    if unknown:
        raise ValueError(f"{given}: unknown {sorted(unknown)}; a step may have {sorted(STEP_FIELDS)}")
    method, _, short = given["do"].partition(" ")
    resource = short.partition("?")[0].split("/")
    path, kind = _expanded(short, resource)
    body = given.get("body")
    fills = kind and isinstance(body, dict) and method in ("POST", "PUT") and len(resource) <= 2
    if isinstance(body, dict) and (fills or (kind and given.get("type") == "apply")):
        body = {"apiVersion": kind[0], "kind": kind[1], **body}
    type_ = given.get("type", "")
    accept = given.get("accept", "")
    return Step(
        method,
        path,
        body,
        PATCHES.get(type_, type_),
        ACCEPTS.get(accept, accept),
        given.get("as", ""),
        given.get("keep", {}),
        given.get("until"),
        given.get("quiet", False),
    )


def _expanded(short: str, resource: list[str]) -> tuple[str, tuple[str, str] | None]:
    """The whole path of ``configmaps/a``, and its (apiVersion, kind)."""
    if short.startswith("/"):
        return short, None
    api_version, kind = _KINDS[resource[0]]
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    place = root if kind.endswith("!") else f"{root}/namespaces/{{ns}}"
    return f"{place}/{short}", (api_version, kind.rstrip("!"))


_KINDS = {
    pair.split()[0]: (api_version, pair.split()[1])
    for api_version, kinds in GROUPS.items()
    for pair in kinds.split(", ")
}
