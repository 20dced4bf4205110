"""When the quota of a cohort that spans workers is written."""

from types import SimpleNamespace

import msgspec
import pytest

from hub.clusters.remote_clients import RemoteClients
from hub.controllers.cohort_span_controller import CohortSpanController
from hub.controllers.overdrawn_spans import OverdrawnSpans
from tests.builders import cohort, quota
from worker_agent.api.cohort import Cohort
from worker_agent.api.meta import Key
from worker_agent.api.multikueue import MultiKueueConfig
from worker_agent.engine.intents import PatchObject
from worker_agent.kube.clock import SystemClock


class Held(dict):
    """An informer that tells nobody."""

    def add_handler(self, handler):
        pass

    def values(self):
        return iter(super().values())


class Applier:
    def __init__(self):
        self.intents = []

    async def apply(self, intents):
        self.intents += intents


def controller(applier, clients, clusters):
    document = cohort("tenants", {"default": {"cpu": quota(8)}})
    document["metadata"]["annotations"] = {"fedhub.dev/spans": "all"}
    cohorts = Held({Key("", "tenants"): msgspec.convert(document, Cohort, strict=False)})
    config = msgspec.convert({"metadata": {"name": "all"}, "spec": {"clusters": ["east"]}}, MultiKueueConfig)
    known = SimpleNamespace(
        informer=lambda resource: cohorts if resource.plural == "cohorts" else Held(),
        document=lambda resource, key: document,
    )
    empty = {name: Held() for name in ("queues", "checks", "configs", "workloads")}
    objects = SimpleNamespace(
        known=known, clusters=Held({Key("", name): name for name in clusters}), config={"all": config}.get, **empty
    )
    overdrawn = OverdrawnSpans(objects, dict, SystemClock())
    return CohortSpanController(objects, clients, applier, overdrawn, SystemClock())


def clients(*, failed=()):
    made = RemoteClients(None, SystemClock())
    made.never_reached = dict.fromkeys(failed)
    return made


@pytest.mark.parametrize(
    ("clusters", "failed", "writes"),
    [(("east",), (), 0), (("east",), ("east",), 1), ((), (), 1)],
    ids=["not tried yet", "cannot be reached", "does not exist"],
)
async def test_quota_of_before_stands_until_each_worker_was_tried(clusters, failed, writes):
    applier = Applier()
    again = await controller(applier, clients(failed=failed), clusters)._reconcile("tenants")
    assert len([intent for intent in applier.intents if isinstance(intent, PatchObject)]) == writes
    assert (again is None) is bool(writes)
