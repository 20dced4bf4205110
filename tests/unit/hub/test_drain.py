"""What a drain would move, and whom it would hurt."""

from datetime import UTC, datetime, timedelta

import msgspec

from hub.engine import drain
from hub.engine.drain import Federation
from worker_agent.api.admission_check import AdmissionCheck
from worker_agent.api.multikueue import MultiKueueCluster, MultiKueueConfig
from worker_agent.api.workload import Workload

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def cluster(name: str, *, active: bool = True, **annotations: str) -> MultiKueueCluster:
    condition = {"type": "Active", "status": "True" if active else "False", "reason": "x", "message": ""}
    metadata = {"name": name, "annotations": {f"fedhub.dev/{key}": value for key, value in annotations.items()}}
    return msgspec.convert({"metadata": metadata, "status": {"conditions": [condition]}}, MultiKueueCluster)


def federation(*clusters: MultiKueueCluster) -> Federation:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}
    check = {
        "metadata": {"name": "mk"},
        "spec": {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters},
    }
    config = {"metadata": {"name": "all"}, "spec": {"clusters": [each.metadata.name for each in clusters]}}
    return Federation(
        {each.metadata.name: each for each in clusters},
        {"mk": msgspec.convert(check, AdmissionCheck)},
        {"all": msgspec.convert(config, MultiKueueConfig)},
    )


def workload(name: str, *, on: str = "", nominated: tuple[str, ...] = (), minutes=10, state="Ready", found=""):
    since = (NOW - timedelta(minutes=minutes)).isoformat()
    admitted = {"type": "Admitted", "status": "True", "reason": "x", "message": "", "lastTransitionTime": since}
    status = {
        "clusterName": on or None,
        "nominatedClusterNames": list(nominated) or None,
        "admissionChecks": [{"name": "mk", "state": state, "message": "", "lastTransitionTime": since}],
        "conditions": [*([admitted] if on else []), {**admitted, "type": "fedhub.dev/Dispatched", "message": found}],
    }
    spec = {"podSets": [{"name": "main", "count": 4, "template": {}}]}
    document = {"metadata": {"name": name, "namespace": "ns"}, "spec": spec, "status": status}
    return msgspec.json.decode(msgspec.json.encode(document), type=Workload)


def held(*workloads: Workload, clusters: tuple[MultiKueueCluster, ...] = (cluster("east"), cluster("west"))):
    return drain.residents("east", workloads, federation(*clusters), NOW)


def test_work_that_is_lost_is_counted_from_its_start():
    (found,) = held(workload("x", on="east"))
    assert (found.runs, found.pods, found.lost_pod_seconds, found.elsewhere) == (True, 4, 2400, ("west",))


def test_waiting_copies_lose_nothing():
    (found,) = held(workload("x", nominated=("east",), state="Pending"))
    assert (found.runs, found.lost_pod_seconds, found.stranded) == (False, 0, False)


def test_only_what_is_there_is_moved_most_lost_first():
    found = held(
        workload("waits", nominated=("east",), state="Pending"),
        workload("young", on="east", minutes=1),
        workload("old", on="east"),
        workload("elsewhere", on="west"),
        workload("nominated-elsewhere", nominated=("west",), state="Pending"),
        workload("leaving", on="east", state="Retry"),
    )
    assert [each.key.name for each in found] == ["old", "young", "waits"]


def test_closed_clusters_take_nobody_in():
    closed = (
        cluster("east"),
        cluster("cordoned", cordoned="true"),
        cluster("away", active=False),
        cluster("lost", **{"declared-lost": "2026-01-01T00:00:00Z"}),
    )
    (found,) = held(workload("x", on="east"), clusters=closed)
    assert found.stranded


def test_clusters_that_were_found_impossible_take_nobody_in():
    three = (cluster("east"), cluster("north-west"), cluster("west"))
    said = "east: fits now in a; north-west: impossible: insufficient quota; west: waits for quota"
    (found,) = held(workload("x", on="east", found=said), clusters=three)
    assert found.elsewhere == ("west",)


def test_who_fits_nowhere_else_is_stranded():
    (found,) = held(workload("x", on="east", found="west: impossible: insufficient quota; east: fits now in a"))
    assert found.stranded
