"""jobset.x-k8s.io/v1alpha2 JobSet: a Job for each replica of each replicated job."""

from collections.abc import Sequence
from datetime import datetime

from hub.local.simulation.operators.plan import (
    Children,
    Kind,
    Plan,
    child,
    condition,
    is_finished,
    settled,
    with_conditions,
)
from worker_agent.api.document import Document, get
from worker_agent.api.resource_type import JOB_SETS, JOBS
from worker_agent.jobs.batch_job import pod_count

PREFIX = "jobset.sigs.k8s.io"


def decide(job_set: Document, children: Children, now: datetime) -> Plan:
    jobs = children[JOBS]
    if is_finished(job_set, "Completed", "Failed") or get(job_set, "spec.managedBy", "").startswith("kueue"):
        return Plan()
    if get(job_set, "spec.suspend", False):
        told = {"Suspended": (True, "SuspendedJobs", "jobset is suspended")}
        status = {**_counts(job_set, []), "conditions": with_conditions(job_set, told, now)}
        return Plan(delete=settled({}, jobs, JOBS)[1], status=status)
    missing, extra = settled(_wanted(job_set), jobs, JOBS)
    total = sum(get(each, "replicas", 1) for each in get(job_set, "spec.replicatedJobs", []))
    told = {"Suspended": (False, "ResumeJobs", "jobset is resumed")}
    if any(condition(each, "Failed") == "True" for each in jobs):
        told["Failed"] = (True, "FailedJobs", "jobset failed due to one or more job failures")
    elif total == sum(condition(each, "Complete") == "True" for each in jobs):
        told["Completed"] = (True, "AllJobsCompleted", "jobset completed successfully")
    status = {**_counts(job_set, jobs), "conditions": with_conditions(job_set, told, now)}
    return Plan(create=missing, delete=extra, status=status)


def _wanted(job_set: Document) -> dict[str, Document]:
    name = job_set["metadata"]["name"]
    found: dict[str, Document] = {}
    for each in get(job_set, "spec.replicatedJobs", []):
        replicas = get(each, "replicas", 1)
        for index in range(replicas):
            job_name = f"{name}-{each['name']}-{index}"
            labels = {
                f"{PREFIX}/jobset-name": name,
                f"{PREFIX}/replicatedjob-name": each["name"],
                f"{PREFIX}/replicatedjob-replicas": str(replicas),
                f"{PREFIX}/job-index": str(index),
            }
            found[job_name] = _job(job_set, job_name, each["template"], labels)
    return found


def _job(job_set: Document, name: str, template: Document, labels: dict[str, str]) -> Document:
    spec = template.get("spec") or {}
    metadata = template.get("metadata") or {}
    pods = spec.get("template") or {}
    pod_metadata = pods.get("metadata") or {}
    pods = {**pods, "spec": {"restartPolicy": "OnFailure", **(pods.get("spec") or {})}}
    pods = {**pods, "metadata": {**pod_metadata, "labels": {**(pod_metadata.get("labels") or {}), **labels}}}
    indexed = {"completionMode": spec.get("completionMode", "Indexed"), "suspend": False, "template": pods}
    return child(
        job_set,
        JOBS,
        name,
        labels={**(metadata.get("labels") or {}), **labels},
        annotations=dict(metadata.get("annotations") or {}),
        spec={**spec, **indexed},
    )


def _counts(job_set: Document, jobs: Sequence[Document]) -> Document:
    statuses = []
    for each in get(job_set, "spec.replicatedJobs", []):
        mine = [job for job in jobs if job["metadata"]["labels"].get(f"{PREFIX}/replicatedjob-name") == each["name"]]
        wanted = pod_count(each["template"])
        ready = [get(job, "status.ready", 0) + get(job, "status.succeeded", 0) for job in mine]
        statuses.append(
            {
                "name": each["name"],
                "active": sum(get(job, "status.active", 0) > 0 for job in mine),
                "ready": sum(
                    count >= wanted and condition(job, "Complete") != "True"
                    for count, job in zip(ready, mine, strict=True)
                ),
                "succeeded": sum(condition(job, "Complete") == "True" for job in mine),
                "failed": sum(condition(job, "Failed") == "True" for job in mine),
                "suspended": 0,
            }
        )
    return {"restarts": get(job_set, "status.restarts", 0), "replicatedJobsStatus": statuses}


OPERATOR = Kind(JOB_SETS, (JOBS,), decide)
