"""ray.io/v1 RayCluster: a head and groups of workers (spec/jobs 9.6); RayJob and RayService hold one each."""

from collections.abc import Sequence
from typing import ClassVar, Final

from worker_agent.api import companions, frameworks, names
from worker_agent.api.companions import Companion
from worker_agent.api.document import Document, Path, at, get, put
from worker_agent.api.job_kind import Finish, JobKind, TemplateAt, prebuilt_name, with_prebuilt
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.resource_type import RAY_CLUSTERS
from worker_agent.jobs.container_requests import at_least, with_container

GROUPS: Final = ("spec", "workerGroupSpecs")
AUTOSCALER: Final[Document] = {"cpu": "500m", "memory": "512Mi"}
REDIS_CLEANUP: Final = {"cpu": "200m", "memory": "256Mi"}
"""What Ray's clean-up of Redis needs: it runs in a pod shaped like the head."""


class RayKind(JobKind):
    """What the kinds of Ray share: a cluster at some path of the document."""

    native_manager = "ray.io/kuberay-operator"
    elastic_allowed = True
    topology_groups = True

    cluster_path: ClassVar[Path]
    made_cluster: ClassVar[str] = ""
    """Path of the name of the cluster that the operator made, in the status of kinds that hold one."""
    shown_cluster: ClassVar[str]
    """How messages name the cluster's specification."""

    def templates(self, job: Document) -> list[TemplateAt]:
        groups = at(job, (*self.cluster_path, "workerGroupSpecs"), [])
        live = _sizes(cluster) if (cluster := self._autoscaled(job)) is not None else {}
        workers = [
            self._template(name, ("workerGroupSpecs", place), live.get(name, worker_count(group)))
            for place, group in enumerate(groups)
            for name in (group["groupName"],)
        ]
        return [self._template("head", ("headGroupSpec",), 1), *workers]

    def _template(self, name: str, group: Path, count: int) -> TemplateAt:
        shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in group)
        field = f"{self.shown_cluster}{shown}.template.metadata.annotations"
        return TemplateAt(name, (*self.cluster_path, *group, "template"), count, annotations_field=field)

    def pod_labels(self, job: Document) -> dict[str, str]:
        """Those of its cluster, once there is one."""
        name = get(job, self.made_cluster, "") if self.made_cluster else job["metadata"]["name"]
        return {"ray.io/cluster": name} if name else {}

    def companions(self, job: Document) -> Sequence[Companion]:
        """The cluster that Ray's autoscaler changes, where its sizes are not told by the job itself."""
        name = get(job, self.made_cluster, "") if self.made_cluster and _is_autoscaled(job, self.cluster_path) else ""
        return (Companion(RAY_CLUSTERS, job["metadata"].get("namespace", ""), name),) if name else ()

    def _autoscaled(self, job: Document) -> Document | None:
        """That cluster, while the job runs by a Workload of its own: one that a hub sent has the sizes it was given."""
        cluster = companions.of(job, RAY_CLUSTERS.kind)
        if cluster is None or self.is_suspended(job) or at(cluster, ("metadata", "deletionTimestamp")):
            return None
        marks = (at(job, ("metadata", where, names.PREBUILT_WORKLOAD)) for where in ("annotations", "labels"))
        owner = frameworks.controller_of(cluster) or {}
        ours = owner.get("uid") == job["metadata"].get("uid") and not any(marks)
        return cluster if ours else None

    def annotated(self, job: Document) -> Document:
        """The cluster's generation names the slice of its present size."""
        cluster = self._autoscaled(job)
        if cluster is None:
            return job
        path = ("metadata", "annotations", names.RAY_CLUSTER_GENERATION_ANNOTATION)
        generation = str(get(cluster, "metadata.generation", 0))
        document: Document = put(job, path, generation) if at(job, path) != generation else job
        return document

    def pod_template(self, job: Document, spot: TemplateAt) -> Document:
        """The head as Ray makes it: with an autoscaler's container, and large enough to clean Redis up."""
        template = super().pod_template(job, spot)
        if spot.path[-2] != "headGroupSpec":
            return template
        cluster = at(job, self.cluster_path, {})
        if get(cluster, "enableInTreeAutoscaling", False):
            default = {"requests": AUTOSCALER, "limits": AUTOSCALER}
            resources = get(cluster, "autoscalerOptions.resources", default)
            template = with_container(template, {"name": "autoscaler", "resources": resources})
        return at_least(template, REDIS_CLEANUP) if tolerates_head_failure(job, cluster) else template


class RayCluster(RayKind):
    framework = "ray.io/raycluster"
    resource = RAY_CLUSTERS
    cluster_path = ("spec",)
    shown_cluster = "spec"
    unreadable_templates_checked = 1
    pod_counts = ("state", "readyWorkerReplicas", "availableWorkerReplicas")

    def is_active(self, job: Document) -> bool:
        return bool(get(job, "status.state") == "ready")

    def pods_ready(self, job: Document) -> bool:
        return self.is_active(job)

    def finished(self, job: Document) -> Finish | None:
        """A cluster runs until it is deleted."""
        return None

    def remote_patch(self, local: Document, remote: Document, workload: str, policy: JobPolicy) -> Document:
        """An elastic cluster's sizes, and the slice that grants them.

        Growth is left alone while another slice than the one of the present size is looked at: that view is old.
        """
        if not self.is_elastic(local, policy):
            return remote
        wanted, present = _sizes(local), _sizes(remote)
        if wanted == present and prebuilt_name(remote, policy) == workload:
            return remote
        grows = any(present.get(name, 0) < count for name, count in wanted.items())
        if grows and workload != self.workload_name(local, policy):
            return remote
        groups = {group["groupName"]: group for group in at(local, GROUPS, [])}
        resized = [_like(group, groups.get(group["groupName"], group)) for group in at(remote, GROUPS, [])]
        return with_prebuilt(put(remote, GROUPS, resized), workload, policy)


def _is_autoscaled(job: Document, cluster_path: Path) -> bool:
    elastic = at(job, ("metadata", "annotations", names.ELASTIC_JOB_ANNOTATION)) == "true"
    return elastic and bool(at(job, (*cluster_path, "enableInTreeAutoscaling"), False))


def _sizes(cluster: Document) -> dict[str, int]:
    return {group["groupName"]: worker_count(group) for group in at(cluster, GROUPS, [])}


def _like(group: Document, local: Document) -> Document:
    """The group with the size of the one here."""
    sizes = {name: local[name] for name in ("replicas", "numOfHosts") if local.get(name) is not None}
    return {**group, **sizes}


def size_suffix(kind: JobKind, job: Document, policy: JobPolicy) -> str:
    """An elastic job's Workload is named by the job's generation and by that of the cluster its operator made."""
    if not kind.is_elastic(job, policy):
        return ""
    own = str(get(job, "metadata.generation", 0))
    of_cluster = at(job, ("metadata", "annotations", names.RAY_CLUSTER_GENERATION_ANNOTATION), "")
    return f"{own}_{of_cluster}" if of_cluster else own


def worker_count(group: Document) -> int:
    """Pods of a worker group: each replica is made of several hosts where the group says so."""
    replicas: int = get(group, "replicas", 1)
    hosts: int = get(group, "numOfHosts", 1)
    return replicas * max(1, hosts)


def tolerates_head_failure(job: Document, cluster: Document) -> bool:
    """Whether the global control store outlives the head, in Redis."""
    annotated = at(job, ("metadata", "annotations", names.RAY_FAULT_TOLERANCE_ANNOTATION)) == "true"
    return annotated or cluster.get("gcsFaultToleranceOptions") is not None
