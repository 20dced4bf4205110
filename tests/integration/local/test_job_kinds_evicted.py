"""Kueue's published examples of every kind that is suspended: evicted while it runs, restored exactly, and run again.

With ``-s`` a table says for each how far it came.
"""

import json

import pytest
import yaml

from hub.engine.remote_objects import lean
from hub.local.spec import FederationSpec, NodeGroup
from tests.kueue_examples import (
    AUTOSCALED,
    CAPACITY,
    ENDING,
    FOLDER,
    SERVING,
    as_if,
    ended_well,
    is_served,
    kind_of,
    made,
    needs_examples,
    queues,
    until,
)
from tests.local_federation import Kubectl, cluster, running

pytestmark = [
    pytest.mark.embedded,
    needs_examples,
]

SUSPENDED = [each for each in (*ENDING, *SERVING) if not each.startswith(("pods-kueue/", "serving-workloads/"))]
WITH_TEMPLATES_MADE = ("jobs/ray-job-sample.yaml", AUTOSCALED, "jobs/sample-sparkapplication.yaml")
"""Kinds whose start writes a template that the user left out; a stop empties it, as in Kueue, and leaves it there."""
STEPS = ("admitted", "started", "evicted and restored", "started again", "finished or ready")
reached = {}


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    nodes = NodeGroup(name="node", count=2, capacity=CAPACITY)
    spec = FederationSpec(job_kinds=True, workers=[cluster("single", nodes)])
    with running(spec, tmp_path_factory.mktemp("evicted")) as federation:
        found = Kubectl(federation, "single")
        found("apply", "-f", "-", stdin=yaml.safe_dump_all(queues()))
        found.wait("clusterqueue/cluster-queue", "condition=Active")
        yield found
        for example, steps in reached.items():
            print(f"\n{example:45}", *(f"{step}: {'yes' if step in steps else 'NO'};" for step in STEPS), end="")
        print()


def workload_of(kubectl, job):
    """The name of the Workload that the job controls."""
    uid = job["metadata"]["uid"]
    for each in json.loads(kubectl("get", "workloads", "-n", "default", "-o", "json"))["items"]:
        if any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences", ())):
            return f"workload/{each['metadata']['name']}"
    return ""


def is_within(part, whole):
    """Everything that ``part`` says stands in ``whole``."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(is_within(value, whole.get(name)) for name, value in part.items())
    return part == whole


def runs(job):
    return not kind_of(job).is_suspended(job)


@pytest.mark.parametrize("example", SUSPENDED)
def test_example_is_restored_and_runs_again(kubectl, example):
    path = str(FOLDER / example)
    before = json.loads(kubectl("create", "-f", path, "-n", "default", "--dry-run=server", "-o", "json"))
    (before,) = [each for each in before.get("items", [before]) if each["kind"] not in ("Service", "ConfigMap")]
    steps = reached.setdefault(example, set())
    with made(kubectl, example) as (name,):
        job = until(kubectl, name, runs)
        steps |= {"admitted", "started"}
        workload = workload_of(kubectl, job)
        kubectl("patch", workload, "-n", "default", "--type=merge", "-p", '{"spec":{"active":false}}')
        kubectl.wait(workload, "condition=QuotaReserved=false", "-n", "default")
        job = until(kubectl, name, lambda job: not runs(job))
        wanted, found = lean(as_if(before, job)["spec"]), lean(job["spec"])
        assert is_within(wanted, found) if example in WITH_TEMPLATES_MADE else found == wanted
        steps.add("evicted and restored")
        kubectl("patch", workload, "-n", "default", "--type=merge", "-p", '{"spec":{"active":true}}')
        until(kubectl, name, runs)
        steps.add("started again")
        until(kubectl, name, ended_well if example in ENDING else is_served)
        steps.add("finished or ready")
