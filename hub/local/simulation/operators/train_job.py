"""trainer.kubeflow.org/v1alpha1 TrainJob: a JobSet made of its runtime."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from hub.local.simulation.operators.plan import Children, Kind, Plan, child, condition, is_finished, with_conditions
from worker_agent.api.document import Document, get
from worker_agent.api.resource_type import CLUSTER_TRAINING_RUNTIMES, JOB_SETS, TRAIN_JOBS, TRAINING_RUNTIMES
from worker_agent.jobs import train_runtime

Runtime = Callable[[str, str, str], Document | None]
"""A runtime by kind, namespace and name."""


def decide(job: Document, children: Children, now: datetime, runtime: Runtime) -> Plan:
    job_sets = children[JOB_SETS]
    if is_finished(job, "Complete", "Failed"):
        return Plan()
    reference = get(job, "spec.runtimeRef", {})
    kind = reference.get("kind", CLUSTER_TRAINING_RUNTIMES.kind)
    found = runtime(kind, job["metadata"]["namespace"], reference.get("name", ""))
    if found is None:
        return Plan(look_again=1.0)
    suspended = get(job, "spec.suspend", False)
    told = {"Suspended": (suspended, "Suspended" if suspended else "Resumed", "")}
    if suspended:
        gone = [(JOB_SETS, each) for each in job_sets if not each["metadata"].get("deletionTimestamp")]
        return Plan(delete=gone, status={"conditions": with_conditions(job, told, now), "jobsStatus": []})
    if not job_sets:
        spec = {**get(found, "spec.template.spec", {}), "suspend": False}
        spec["replicatedJobs"] = train_runtime.replicated_jobs(job, found)
        return Plan(create=[(JOB_SETS, child(job, JOB_SETS, job["metadata"]["name"], spec=spec))])
    if condition(job_sets[0], "Completed") == "True":
        told["Complete"] = (True, "JobsCompleted", "jobset completed successfully")
    if condition(job_sets[0], "Failed") == "True":
        told["Failed"] = (True, "JobsFailed", "jobset failed due to one or more job failures")
    statuses = get(job_sets[0], "status.replicatedJobsStatus", [])
    return Plan(status={"conditions": with_conditions(job, told, now), "jobsStatus": statuses})


def operator(runtime: Runtime) -> Kind:
    return Kind(TRAIN_JOBS, (JOB_SETS,), partial(decide, runtime=runtime))


RUNTIMES: Final = (CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES)
