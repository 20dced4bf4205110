"""What is served and where: one ``Resource`` for each group, version and plural, built in or from a CRD.

The rows are facts of kube-apiserver 1.36 (pkg/registry/*/storage.go and strategy.go).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Resource:
    """One served version of one kind. ``store`` names the collection that all versions of it share; both event groups
    are views of one.

    ``head`` is what stands before ``"metadata"`` in the encoded object; the rest is the same in every version.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    verbs: tuple[str, ...] = ALL_VERBS
    custom: bool = False
    translated: bool = False
    """Whether a stored object may differ from what this version shows (``conversion``)."""
    generation: bool = False
    """Whether metadata.generation counts changes of the specification."""
    unconditional_update: bool = True
    """Whether a PUT may leave out metadata.resourceVersion."""
    create_on_update: bool = False
    status_on_create: bool = False
    """Whether the first write may carry a status although status is a subresource (nodes)."""
    selectable: tuple[str, ...] = ()
    """Fields beside metadata.name and metadata.namespace that field selectors may name."""
    returns_deleted: bool = False
    """Whether DELETE answers with the object instead of a Status."""
    deprecation: str = ""
    scale_paths: tuple[str, str, str | None] = ("spec.replicas", "status.replicas", None)
    """Where the scale subresource finds wished and present replicas, and the selector as text (None: spec.selector)."""

    store: str = field(init=False, compare=False)
    api_version: str = field(init=False, compare=False)
    head: bytes = field(init=False, compare=False)
    has_status: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # Worked out once: every request asks for them, most of them several times.
        shares_events = self.kind == "Event" and self.group == "events.k8s.io"
        store = EVENTS if shares_events else f"{self.group}/{self.plural}"
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        object.__setattr__(self, "store", store)
        object.__setattr__(self, "api_version", api_version)
        object.__setattr__(self, "head", f'{{"kind":"{self.kind}","apiVersion":"{api_version}",'.encode())
        object.__setattr__(self, "has_status", "status" in self.subresources)


EVENTS = "/events"
STATUS = frozenset({"status"})
SCALE = frozenset({"status", "scale"})
ALL = ("all",)
API_EXTENSIONS = ("api-extensions",)
EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
)

_CORE = (
    Resource(
        "",
        "v1",
        "Namespace",
        "namespaces",
        False,
        short_names=("ns",),
        subresources=frozenset({"status", "finalize"}),
        selectable=("status.phase",),
        returns_deleted=True,
        verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    ),
    Resource(
        "",
        "v1",
        "Node",
        "nodes",
        False,
        short_names=("no",),
        subresources=STATUS,
        status_on_create=True,
        selectable=("spec.unschedulable",),
    ),
    Resource(
        "",
        "v1",
        "Pod",
        "pods",
        short_names=("po",),
        categories=ALL,
        generation=True,
        returns_deleted=True,
        subresources=frozenset({"status", "binding", "eviction", "ephemeralcontainers", "resize"}),
        selectable=POD_FIELDS,
    ),
    Resource("", "v1", "Secret", "secrets", selectable=("type",)),
    Resource("", "v1", "ConfigMap", "configmaps", short_names=("cm",)),
    Resource(
        "",
        "v1",
        "Service",
        "services",
        short_names=("svc",),
        categories=ALL,
        subresources=STATUS,
        selectable=("spec.clusterIP", "spec.type"),
        create_on_update=True,
        returns_deleted=True,
    ),
    Resource("", "v1", "ServiceAccount", "serviceaccounts", short_names=("sa",), returns_deleted=True),
    Resource(
        "",
        "v1",
        "Event",
        "events",
        short_names=("ev",),
        create_on_update=True,
        selectable=EVENT_FIELDS,
    ),
    Resource("", "v1", "LimitRange", "limitranges", short_names=("limits",), create_on_update=True),
    Resource(
        "", "v1", "ResourceQuota", "resourcequotas", short_names=("quota",), subresources=STATUS, returns_deleted=True
    ),
    Resource("", "v1", "PodTemplate", "podtemplates", generation=True, returns_deleted=True),
    Resource(
        "",
        "v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        short_names=("pvc",),
        subresources=STATUS,
        returns_deleted=True,
    ),
    Resource(
        "",
        "v1",
        "PersistentVolume",
        "persistentvolumes",
        False,
        short_names=("pv",),
        subresources=STATUS,
        returns_deleted=True,
    ),
    Resource("", "v1", "Endpoints", "endpoints", short_names=("ep",), create_on_update=True),
)

_GROUPS = (
    Resource(
        "batch",
        "v1",
        "Job",
        "jobs",
        categories=ALL,
        subresources=STATUS,
        generation=True,
        selectable=("status.successful",),
    ),
    Resource(
        "batch", "v1", "CronJob", "cronjobs", short_names=("cj",), categories=ALL, subresources=STATUS, generation=True
    ),
    Resource(
        "apps",
        "v1",
        "Deployment",
        "deployments",
        short_names=("deploy",),
        categories=ALL,
        subresources=SCALE,
        generation=True,
    ),
    Resource(
        "apps",
        "v1",
        "StatefulSet",
        "statefulsets",
        short_names=("sts",),
        categories=ALL,
        subresources=SCALE,
        generation=True,
    ),
    Resource(
        "apps",
        "v1",
        "ReplicaSet",
        "replicasets",
        short_names=("rs",),
        categories=ALL,
        subresources=SCALE,
        generation=True,
        selectable=("status.replicas",),
    ),
    Resource(
        "apps",
        "v1",
        "DaemonSet",
        "daemonsets",
        short_names=("ds",),
        categories=ALL,
        subresources=STATUS,
        generation=True,
    ),
    Resource("apps", "v1", "ControllerRevision", "controllerrevisions"),
    Resource(
        "events.k8s.io",
        "v1",
        "Event",
        "events",
        short_names=("ev",),
        create_on_update=True,
        selectable=(
            *(f.replace("involvedObject", "regarding") for f in EVENT_FIELDS[:7]),
            "reason",
            "reportingController",
            "type",
        ),
    ),
    Resource("coordination.k8s.io", "v1", "Lease", "leases", create_on_update=True, unconditional_update=False),
    Resource(
        "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False, short_names=("pc",), generation=True
    ),
    Resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", False, unconditional_update=False),
    *(
        Resource("rbac.authorization.k8s.io", "v1", kind, kind.lower() + "s", not kind.startswith("Cluster"))
        for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    ),
    *(
        Resource(
            "admissionregistration.k8s.io",
            "v1",
            kind,
            kind.lower() + "s",
            False,
            categories=API_EXTENSIONS,
            generation=True,
            unconditional_update=False,
        )
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    ),
    Resource(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        False,
        short_names=("crd", "crds"),
        categories=API_EXTENSIONS,
        subresources=STATUS,
        generation=True,
        unconditional_update=False,
    ),
    Resource(
        "apiregistration.k8s.io",
        "v1",
        "APIService",
        "apiservices",
        False,
        categories=API_EXTENSIONS,
        subresources=STATUS,
        unconditional_update=False,
    ),
    Resource(
        "storage.k8s.io", "v1", "StorageClass", "storageclasses", False, short_names=("sc",), returns_deleted=True
    ),
    Resource(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        short_names=("pdb",),
        subresources=STATUS,
        generation=True,
        unconditional_update=False,
    ),
    Resource("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", False, verbs=("create",)),
    Resource("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", False, verbs=("create",)),
    Resource(
        "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False, verbs=("create",)
    ),
    Resource(
        "authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", False, verbs=("create",)
    ),
    Resource("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", False, verbs=("create",)),
    Resource("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=("create",)),
)

BUILT_IN: tuple[Resource, ...] = _CORE + _GROUPS

NAMESPACES = "/namespaces"
PODS = "/pods"
CRDS = "apiextensions.k8s.io/customresourcedefinitions"
SERVICES = "/services"
APISERVICES = "apiregistration.k8s.io/apiservices"
MUTATING = "admissionregistration.k8s.io/mutatingwebhookconfigurations"
VALIDATING = "admissionregistration.k8s.io/validatingwebhookconfigurations"


class ResourceTable:
    """Everything served at this moment. Order of insertion is the order of discovery."""

    def __init__(self, resources: Iterable[Resource] = BUILT_IN) -> None:
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_store: dict[str, list[Resource]] = {}
        self.generation = 0
        """Counts changes, so that discovery and OpenAPI documents can be cached."""
        for resource in resources:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        resource = replace(
            resource,
            singular=resource.singular or resource.kind.lower(),
            list_kind=resource.list_kind or resource.kind + "List",
        )
        self._by_path[resource.group, resource.version, resource.plural] = resource
        self._by_store.setdefault(resource.store, []).append(resource)
        self.generation += 1

    def remove_store(self, store: str) -> None:
        for resource in self._by_store.pop(store, ()):
            del self._by_path[resource.group, resource.version, resource.plural]
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_path.get((group, version, plural))

    def of_store(self, store: str) -> tuple[Resource, ...]:
        """The served versions of one collection."""
        return tuple(self._by_store.get(store, ()))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """By an owner reference's words; any served version of the group will do."""
        group, _, version = api_version.rpartition("/")
        found = None
        for resource in self._by_path.values():
            if resource.group == group and resource.kind == kind:
                if resource.version == version:
                    return resource
                found = found or resource
        return found

    def stores(self) -> tuple[str, ...]:
        return tuple(self._by_store)

    def is_built_in(self, group: str, version: str) -> bool:
        """Whether a group version is one of the server's own."""
        return any(found.group == group and found.version == version and not found.custom for found in self)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_path.values())
