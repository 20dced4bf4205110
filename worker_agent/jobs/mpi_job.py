"""kubeflow.org/v2beta1 MPIJob: a launcher and its workers (spec/jobs 9.3)."""

from typing import Final

from worker_agent.api import names
from worker_agent.api.document import Document, at, get, put
from worker_agent.api.job_policy import JobPolicy
from worker_agent.api.resource_type import MPI_JOBS
from worker_agent.jobs.replica_roles import ReplicaRolesJob

ANNOTATIONS: Final = ("template", "metadata", "annotations")


class MPIJob(ReplicaRolesJob):
    framework = "kubeflow.org/mpijob"
    resource = MPI_JOBS
    native_manager = "kubeflow.org/mpi-operator"
    replica_specs = "mpiReplicaSpecs"
    roles = ("Launcher", "Worker")
    update_repeats_create = True
    topology_groups = True
    unreadable_templates_checked = 0

    def own_defaults(self, job: Document, policy: JobPolicy) -> Document:
        """A launcher that works too is rank 0, so the workers' indexes begin one later."""
        launcher, worker = (at(job, self.role_path(role)) for role in self.roles)
        if not (policy.topology_aware and get(job, "spec.runLauncherAsWorker", False) and launcher and worker):
            return job
        if at(launcher, (*ANNOTATIONS, names.POD_SET_GROUP_NAME_ANNOTATION)):
            return job
        offset = (*self.role_path("Worker"), *ANNOTATIONS, names.POD_INDEX_OFFSET_ANNOTATION)
        document: Document = put(job, offset, "1")
        return document
