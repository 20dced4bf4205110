"""Builders: a Workload with quota and one check, its configuration, and what an autoscaler says of its request."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.document import Document
from worker_agent.api.provisioning_request_config import ProvisioningRequestConfig
from worker_agent.api.resource_flavor import ResourceFlavor
from worker_agent.api.timestamps import rfc3339
from worker_agent.engine.provisioning import decision
from worker_agent.engine.provisioning.decision import Decision
from worker_agent.engine.provisioning.view import ProvisioningRules, ProvisioningView

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = rfc3339(NOW - timedelta(hours=1))


def pod_set(name: str = "main", count: int = 2, *, limits: Document | None = None, **requests: str) -> Document:
    resources: Document = {"requests": requests or {"cpu": "1"}}
    if limits:
        resources["limits"] = limits
    return {
        "name": name,
        "count": count,
        "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": resources}]}},
    }


def workload(
    *pod_sets: Document, checks: Iterable[Document] = (), conditions: Iterable[Document] = (), **metadata: Any
) -> Document:
    """A Workload ``w`` with quota in flavor ``f`` for all its pods."""
    sets = pod_sets or (pod_set(),)
    assignments = [{"name": ps["name"], "count": ps["count"], "flavors": {"cpu": "f"}} for ps in sets]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "ns", "uid": "w-uid", "resourceVersion": "1", **metadata},
        "spec": {"podSets": list(sets)},
        "status": {
            "admission": {"clusterQueue": "q", "podSetAssignments": assignments},
            "admissionChecks": list(checks) or [check()],
            "conditions": [condition("QuotaReserved"), *conditions],
        },
    }


def check(state: str = "Pending", message: str = "", **fields: Any) -> Document:
    return {"name": "room", "state": state, "message": message, "lastTransitionTime": EARLIER, **fields}


def condition(type_: str, message: str = "", status: str = "True") -> Document:
    return {"type": type_, "status": status, "reason": "R", "message": message, "lastTransitionTime": EARLIER}


def request(attempt: int = 1, *conditions: Document, uid: str = "w-uid", **spec: Any) -> Document:
    owner = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "w", "uid": uid, "controller": True}
    name = f"w-room-{attempt}"
    pod_sets = [{"podTemplateRef": {"name": f"ppt-{name}-main"}, "count": 2}]
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": name, "namespace": "ns", "uid": f"r-{attempt}", "ownerReferences": [owner]},
        "spec": {"provisioningClassName": "class", "podSets": pod_sets, **spec},
        "status": {"conditions": list(conditions)},
    }


def view(
    found: Document,
    *requests: Document,
    templates: Iterable[Document] = (),
    config: Document | None = None,
    flavors: Iterable[str] = ("f",),
    missing_config: bool = False,
) -> ProvisioningView:
    reference = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "c"}
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": reference}
    configured = {"metadata": {"name": "c"}, "spec": {"provisioningClassName": "class", **(config or {})}}
    present = {template["metadata"]["name"]: template for template in templates}
    return ProvisioningView(
        workload=found,
        checks={"room": msgspec.convert({"metadata": {"name": "room"}, "spec": spec}, AdmissionCheck)},
        configs={} if missing_config else {"c": msgspec.convert(configured, ProvisioningRequestConfig)},
        requests=requests,
        flavors={
            name: msgspec.convert({"metadata": {"name": name}, "spec": {"nodeLabels": {"pool": name}}}, ResourceFlavor)
            for name in flavors
        },
        template=present.get,
    )


def decide(found: ProvisioningView, **rules: bool) -> Decision:
    return decision.decide(found, ProvisioningRules(**rules), NOW)


def entry(decided: Decision) -> Document:
    """The check's entry as the decision writes it; empty when it writes none."""
    for intent in decided.intents:
        fields = getattr(intent, "fields", None)
        if fields:
            written: Document = fields["admissionChecks"][0]
            return written
    return {}


def created(decided: Decision) -> list[Document]:
    """The objects that the orders create."""
    return [c.document for order in decided.orders for c in order.creations if c.document is not None]
