"""A cluster on virtual time whose jobs are run by the test: it says what a Job controller would report."""

import asyncio
import json

from tests.integration.agent.virtual import Cluster
from worker_agent.api.document import Document
from worker_agent.api.resource_type import ADMISSION_CHECKS, CLUSTER_QUEUES, JOBS, WORKLOADS
from worker_agent.kube.client import PatchType

CHECK = {"name": "ext", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": ""}


class CaseCluster(Cluster):
    async def report(self, job: str, **status: object) -> None:
        await self.client.patch(
            JOBS, job, "default", {"status": status}, patch_type=PatchType.MERGE, subresource="status"
        )

    async def check(self, job: str, state: str) -> None:
        """What the controller of check ``ext`` says of the job's Workload."""
        workload = await self.workload(job)
        await self.client.patch(
            WORKLOADS,
            workload["metadata"]["name"],
            "default",
            {"status": {"admissionChecks": [{**CHECK, "state": state}]}},
            patch_type=PatchType.MERGE,
            subresource="status",
        )

    async def make_check(self) -> None:
        document = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "AdmissionCheck",
            "metadata": {"name": "ext"},
            "spec": {"controllerName": "example.com/ext"},
        }
        await self.client.create(ADMISSION_CHECKS, document)
        active = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
        status = {"conditions": [active | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        await self.client.patch(
            ADMISSION_CHECKS, "ext", "", {"status": status}, patch_type=PatchType.MERGE, subresource="status"
        )

    async def conditions(self, job: str) -> dict[str, str]:
        """Type -> status of the job's Workload."""
        found = (await self.workload(job)).get("status", {}).get("conditions", [])
        return {condition["type"]: condition["status"] for condition in found}

    async def until(self, job: str, patience: float = 30.0, **wanted: str) -> None:
        """Until the Workload's conditions have these values; absent counts as False."""
        found: dict[str, str] = {}
        try:
            async with asyncio.timeout(patience):
                while True:
                    found = await self.conditions(job)
                    if all(found.get(type_, "False") == on for type_, on in wanted.items()):
                        return
                    self.check_agent()
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{job}: {found} instead of {wanted}") from None

    async def cpu_reserved(self) -> str:
        queue: Document = json.loads(await self.client.get(CLUSTER_QUEUES, "cluster-queue"))
        return str(queue["status"]["flavorsReservation"][0]["resources"][0]["total"])
