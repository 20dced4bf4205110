"""What a hub says of a topology request is what the worker says, without a look at its nodes."""

import random
from collections import Counter

import msgspec
import pytest

from hub.engine import judging
from hub.engine.evaluation import Outlook, Request
from hub.engine.views import Views
from tests.property.tas.clusters import HOST, NOW, RACK, TopologyWorld, reserved
from worker_agent.api.document import Document
from worker_agent.api.workload import Workload
from worker_agent.engine import simulate
from worker_agent.engine.policy import DEFAULT
from worker_agent.engine.tas import leaf_report

WORLDS = 60


def worker_says(world: TopologyWorld, document: Document) -> simulate.Verdict:
    workload = msgspec.json.decode(msgspec.json.encode(document), type=Workload)
    return simulate.would_admit(world.worker, workload, DEFAULT, NOW)


def hub_says(world: TopologyWorld, document: Document) -> Outlook:
    views = Views(DEFAULT)
    views._views["w"] = world.view
    request = Request("ns", document["metadata"]["name"], "batch/job", ("w",), msgspec.json.encode(document))
    (found,) = judging.evaluate(request, views, DEFAULT, NOW)
    # A hub also says what no wait will change: no node is large enough.
    return Outlook.WAITS if found.reason == "TooLargeForNodes" else Outlook(found.outlook)


def fill(world: TopologyWorld) -> None:
    """Admit some workloads on both sides."""
    for number in range(world.chance.randrange(5)):
        document = world.workload(f"old-{number}")
        verdict = worker_says(world, document)
        if verdict.kind is simulate.Outlook.FITS:
            world.tell(reserved(document, verdict.assignment))


@pytest.mark.parametrize("levels", [("example.com/block", RACK, HOST), ("example.com/block", RACK)])
@pytest.mark.parametrize("seed", range(WORLDS))
def test_a_hubs_verdict_is_the_workers(seed, levels):
    world = TopologyWorld(random.Random(seed), levels)
    fill(world)
    for number in range(6):
        document = world.workload(f"new-{number}")
        said = worker_says(world, document)
        assert hub_says(world, document).name == said.kind.name, said.message


def by_label(document: Document, affine: bool) -> None:
    """The pods want fast disks, by a selector or by what the label must not be."""
    spec = document["spec"]["podSets"][0]["template"]["spec"]
    if not affine:
        spec["nodeSelector"] = {"example.com/disk": "fast"}
        return
    expression = {"key": "example.com/disk", "operator": "NotIn", "values": ["slow"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize("told", [True, False], ids=["labels told", "labels not told"])
def test_where_labels_of_nodes_matter_a_hub_never_promises_more_than_the_worker(capsys, monkeypatch, told):
    if not told:
        monkeypatch.setattr(leaf_report, "MOST_VALUES", 0)
    shares: Counter[str] = Counter()
    for seed in range(WORLDS):
        world = TopologyWorld(random.Random(seed))
        fill(world)
        for number in range(6):
            document = world.workload(f"new-{number}")
            by_label(document, affine=number % 2 == 0)
            fits = worker_says(world, document).kind is simulate.Outlook.FITS
            promised = hub_says(world, document) is Outlook.FITS
            assert fits or not promised
            shares["fit"] += fits
            shares["wait"] += fits and not promised
    with capsys.disabled():
        words = "told" if told else "not told"
        print(f"\nnode labels {words}: {shares['wait']} of {shares['fit']} that fit are told to wait")
    assert shares["fit"] > 0
    assert not (told and shares["wait"])
