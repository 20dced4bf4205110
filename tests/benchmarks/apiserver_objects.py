"""The objects and requests of the API server benchmark: Jobs and Workloads as users of queues write them, as bytes.

Requests are built before the clock starts, so that the load generator only sends and counts.
"""

import json
from collections.abc import Iterator

JOBS = "/apis/batch/v1/namespaces/default/jobs"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
JSON = "application/json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
AGENT = "benchmark/v1"

_TEMPLATE = {
    "metadata": {"labels": {"app": "train", "team": "vision"}},
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "worker",
                "image": "registry.example.com/vision/train:2026.11",
                "command": ["python", "-m", "vision.train", "--epochs", "40", "--checkpoint", "/data/checkpoint"],
                "env": [
                    {"name": "MASTER_PORT", "value": "29500"},
                    {"name": "NCCL_DEBUG", "value": "WARN"},
                    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
                "resources": {
                    "requests": {"cpu": "4", "memory": "16Gi"},
                    "limits": {"memory": "16Gi", "nvidia.com/gpu": "1"},
                },
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }
        ],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "vision-data"}}],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {"cloud.example.com/accelerator": "a100"},
    },
}


def job(name: str) -> dict[str, object]:
    """A suspended Job for a queue: 1.2 kB as sent, 2.5 kB as kept."""
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": {"kueue.x-k8s.io/queue-name": "team-a", "app": "train"},
        "annotations": {"example.com/owner": "vision-team", "example.com/run": f"run-{name}"},
    }
    spec = {"suspend": True, "parallelism": 4, "completions": 4, "template": _TEMPLATE}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def workload(name: str) -> dict[str, object]:
    """The Workload a controller makes of such a Job: 1.3 kB as sent, 2.5 kB as kept."""
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": {"kueue.x-k8s.io/job-uid": "4a1cbb1e-7ac3-4b5c-9d2b-0a6d8a4e5f11"},
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
    }
    spec = {
        "queueName": "team-a",
        "priority": 100,
        "active": True,
        "podSets": [{"name": "main", "count": 4, "template": _TEMPLATE}],
    }
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": metadata, "spec": spec}


def admission(name: str) -> dict[str, object]:
    """The status an admission writes by server-side apply."""
    conditions = [
        {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": f"{kind} in ClusterQueue team-a",
            "lastTransitionTime": "2026-11-29T12:00:00Z",
            "observedGeneration": 1,
        }
        for kind in ("QuotaReserved", "Admitted")
    ]
    assignment = {
        "name": "main",
        "flavors": {"cpu": "on-demand", "memory": "on-demand", "nvidia.com/gpu": "a100"},
        "resourceUsage": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "4"},
        "count": 4,
    }
    status = {
        "conditions": conditions,
        "admission": {"clusterQueue": "team-a", "podSetAssignments": [assignment]},
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default"},
        "status": status,
    }


def request(method: str, path: str, body: object = None, media: str = JSON) -> bytes:
    """One HTTP/1.1 request as it travels."""
    content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    head = [f"{method} {path} HTTP/1.1", "Host: benchmark", f"User-Agent: {AGENT}", "Accept: application/json"]
    head.append("Authorization: Bearer benchmark")
    if body is not None:
        head += [f"Content-Type: {media}", f"Content-Length: {len(content)}"]
    return "\r\n".join([*head, "", ""]).encode() + content


def writes(kind: str, connection: int, count: int, prefix: str = "") -> Iterator[bytes]:
    """The requests of one client, in order. ``kind`` is one of ``WRITES``."""
    for number in range(count):
        name = f"{prefix}{kind}-{connection}-{number}"
        yield from _WRITES[kind](name, number)


def _cycle(name: str, number: int) -> Iterator[bytes]:
    """What one job costs an API server: the Job, its Workload, the admission, the Job's start and its status."""
    yield request("POST", JOBS, job(name))
    yield request("POST", WORKLOADS, workload(name))
    yield request("PATCH", f"{WORKLOADS}/{name}/status?fieldManager=kueue-admission&force=true", admission(name), APPLY)
    yield request("PATCH", f"{JOBS}/{name}", {"spec": {"suspend": False}}, MERGE)
    yield request("PATCH", f"{JOBS}/{name}/status", {"status": {"active": 4, "ready": 0}}, MERGE)


def _jobs(name: str, number: int) -> Iterator[bytes]:
    yield request("POST", JOBS, job(name))


def _workloads(name: str, number: int) -> Iterator[bytes]:
    yield request("POST", WORKLOADS, workload(name))


def _config_maps(name: str, number: int) -> Iterator[bytes]:
    content = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "x" * 200}}
    yield request("POST", "/api/v1/namespaces/default/configmaps", content)


_WRITES = {"cycle": _cycle, "job": _jobs, "workload": _workloads, "configmap": _config_maps}
WRITES = tuple(_WRITES)
