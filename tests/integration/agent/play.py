"""Short names for what tests do to an agent on virtual time whose pods are simulated by hand."""

import asyncio
import json

from tests.integration.agent.virtual import Cluster
from worker_agent.api.resource_type import (
    CLUSTER_QUEUES,
    EVENTS,
    JOBS,
    WORKLOADS,
)
from worker_agent.kube.client import PatchType

KUEUE = "kueue.x-k8s.io/v1beta2"


class Play:
    """Short names for what the tests do to a cluster."""

    def __init__(self, cluster):
        self.cluster = cluster

    async def patch(self, resource, name, namespace, body, subresource=""):
        await self.cluster.client.patch(
            resource, name, namespace, body, patch_type=PatchType.MERGE, subresource=subresource, field_manager="user"
        )

    async def patch_workload(self, job, body):
        await self.patch(WORKLOADS, (await self.cluster.workload(job))["metadata"]["name"], "default", body)

    async def pods(self, job, active, ready, succeeded=0):
        """What the Job controller would report."""
        status = {"active": active, "ready": ready, "succeeded": succeeded, "startTime": "2026-01-01T00:00:00Z"}
        status |= {"uncountedTerminatedPods": {}}
        await self.patch(JOBS, job, "default", {"status": status}, "status")

    async def get(self, resource, name, namespace=""):
        return json.loads(await self.cluster.client.get(resource, name, namespace))

    async def names(self, resource, namespace="default"):
        items = (await self.cluster.client.list(resource, namespace)).items
        return [json.loads(raw)["metadata"]["name"] for raw in items]

    async def told(self, reason):
        items = (await self.cluster.client.list(EVENTS, "default")).items
        return [event["note"] for event in map(json.loads, items) if event["reason"] == reason]

    async def queue_condition(self, resource, name, namespace, reason):
        async with asyncio.timeout(60):
            while True:
                status = (await self.get(resource, name, namespace)).get("status") or {}
                found = [c for c in status.get("conditions") or () if c["reason"] == reason]
                if found:
                    return found[0]
                await asyncio.sleep(0.5)

    async def usage(self, resource):
        """Of the ClusterQueue's first flavor."""
        await asyncio.sleep(3)
        [flavor] = (await self.get(CLUSTER_QUEUES, "cluster-queue"))["status"]["flavorsReservation"]
        return next(found["total"] for found in flavor["resources"] if found["name"] == resource)

    async def condition_now(self, job, type_):
        await asyncio.sleep(3)
        conditions = (await self.cluster.workload(job)).get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"], c["message"]) for c in conditions if c["type"] == type_), None)


def playing(**settings):
    """An agent with these settings on an empty cluster whose pods are simulated by hand."""
    return Cluster(**settings)


def stanza(document):
    return {"apiVersion": KUEUE, **document}


def pod_with(**spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {"template": {"spec": {"restartPolicy": "Never", "containers": [container], **spec}}}
