"""What a Job costs in writes until it runs, on virtual time: on the manager and on the cluster that runs it."""

import asyncio
from collections import Counter

import pytest
from prometheus_client.exposition import generate_latest

from tests.faults.players import RUN_SECONDS
from tests.integration.federation.virtual_world import MANAGER, VirtualWorld, play
from tests.integration.federation.world import federation, job, node, queues
from worker_agent.api.document import get as value_at
from worker_agent.kube.faults import Fault, FaultPlan

pytestmark = pytest.mark.embedded  # over servers in this process alone, whatever sort of cluster was asked for
WORKERS = ("w1", "w2")
JOBS = 30
LONG_SECONDS = 3600
OF_JOBS = {"batch/jobs": "Job", "kueue.x-k8s.io/workloads": "Workload"}
SLOW = FaultPlan({Fault.DELAY: 1.0}, longest_delay=20.0)
"""Starts of jobs then lag minutes behind their admission."""


def world() -> VirtualWorld:
    clusters = {MANAGER: [*queues(cpu=JOBS, checks=["mk"]), *federation(*WORKERS)]}
    clusters |= {name: [*queues(cpu=JOBS), node(cpu=JOBS)] for name in WORKERS}
    return VirtualWorld(clusters, {"wait_for_pods_ready": {}})


async def submit(made: VirtualWorld, seconds: int = LONG_SECONDS) -> None:
    for number in range(JOBS):
        document = job(f"job-{number}")
        document["spec"]["template"]["metadata"] = {"annotations": {RUN_SECONDS: str(seconds)}}
        await made.create(MANAGER, document)


def ready(made: VirtualWorld, cluster: str) -> list[str]:
    """Since when the pods of Workloads are ready that say so."""
    told = [value_at(each, "status.conditions", []) for each in made.objects(cluster, "kueue.x-k8s.io/workloads")]
    named = [each for found in told for each in found if each["type"] == "PodsReady"]
    return [each["lastTransitionTime"] for each in named if each["status"] == "True"]


def writes(made: VirtualWorld, *clusters: str) -> Counter[str]:
    """How often objects of each kind were written."""
    found = [
        OF_JOBS[event.store] for _, cluster, event in made.commits if event.store in OF_JOBS and cluster in clusters
    ]
    return Counter(found)


@pytest.mark.parametrize(("pace", "seconds"), [(FaultPlan({}), 5), (SLOW, 1200)], ids=["quick", "slow"])
def test_a_job_costs_the_manager_six_writes_until_it_runs_however_long_its_start_takes(
    pace: FaultPlan, seconds: int
) -> None:
    async def story(made: VirtualWorld) -> None:
        made.lines[MANAGER].faults.use(pace)
        await submit(made)
        await asyncio.sleep(seconds)
        assert len(ready(made, MANAGER)) == JOBS
        # Its user creates the Job; it is started, and told of its pods.
        assert writes(made, MANAGER) == {"Job": JOBS * 3, "Workload": JOBS * 4}

    play(world(), story)


def test_a_copy_of_a_job_that_ends_soon_is_written_three_times_until_it_runs_and_once_at_its_end() -> None:
    async def story(made: VirtualWorld) -> None:
        await submit(made, seconds=10)
        await asyncio.sleep(5)
        assert len(ready(made, MANAGER)) == JOBS
        assert not [told for name in WORKERS for told in ready(made, name)]
        assert writes(made, *WORKERS)["Workload"] == JOBS * 3  # created, admitted, owned
        await asyncio.sleep(20)
        assert writes(made, *WORKERS)["Workload"] == JOBS * 5  # ended, deleted

    play(world(), story)


def test_a_copy_of_a_job_that_goes_on_tells_since_when_its_pods_are_ready() -> None:
    async def story(made: VirtualWorld) -> None:
        await submit(made)
        await asyncio.sleep(5)
        home = sorted(ready(made, MANAGER))
        await asyncio.sleep(310)
        there = sorted(told for name in WORKERS for told in ready(made, name))
        assert len(there) == JOBS
        assert there[-1] <= home[-1]

    play(world(), story)


def test_copies_that_end_soon_are_counted_by_how_long_their_pods_took_to_be_ready() -> None:
    """They never say that their pods were ready, which saves a write; their worker's metrics tell it nevertheless."""

    async def story(made: VirtualWorld) -> None:
        await submit(made, seconds=20)
        await asyncio.sleep(60)
        assert not [each for name in WORKERS for each in ready(made, name)]
        for metric in ("kueue_ready_wait_time_seconds", "kueue_admitted_until_ready_wait_time_seconds"):
            scrapes = [generate_latest(made.agents[name].metrics.registry).decode() for name in WORKERS]
            counts = [
                line.rsplit(" ", 1)[1] for text in scrapes for line in text.splitlines() if f"{metric}_count" in line
            ]
            assert sum(map(float, counts)) == JOBS

    play(world(), story)
