"""Real Kueue and ours in one federation: jobs are dispatched, run, end and are deleted, each way.

Asked for by FEDHUB_TEST_KUEUE=1: building Kueue takes six CPU minutes, once, and a federation of four control planes a
minute or two.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.local import programs
from tests import cluster_choice
from tests.benchmarks.dispatch_rig import CAPACITY_AWARE, PEER, Rig
from tests.benchmarks.dispatch_run import Contender, Run
from tests.benchmarks.federation_load import Load, watching
from tests.realcluster import kueue
from tests.realcluster.kueue import Kueue

JOBS = 6
MIXED = Contender("mixed", "", CAPACITY_AWARE.programs | PEER.programs)
SECONDS = 240.0
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def peer() -> Kueue:
    if not os.environ.get("FEDHUB_TEST_KUEUE"):
        pytest.skip("FEDHUB_TEST_KUEUE=1 asks for real Kueue beside ours")
    reason = kueue.may_run()
    if reason:
        pytest.skip(reason)
    return kueue.build()


@pytest.fixture
async def rig(tmp_path: Path, peer: Kueue, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Rig]:
    monkeypatch.setenv(cluster_choice.ASSETS, str(cluster_choice.built(cluster_choice.NEWEST)))
    found = Rig(tmp_path, workers=2, room_for_jobs=JOBS, real=True)
    try:
        await found.start(lambda text: None)
        yield found
    finally:
        found.stop()


async def test_our_hub_sends_jobs_to_workers_that_run_kueue(rig: Rig, peer: Kueue) -> None:
    await rig.mix(peer, {name: cluster for name, cluster in rig.roles.items() if name != programs.HUB})
    await _jobs_come_and_go(rig, Load(JOBS, prefix="ours"))


async def test_our_agents_take_jobs_of_a_manager_that_runs_kueue(rig: Rig, peer: Kueue) -> None:
    await rig.mix(peer, {programs.HUB: rig.roles[programs.HUB]})
    await _jobs_come_and_go(rig, Load(JOBS, prefix="theirs", webhooks=False))


async def _jobs_come_and_go(rig: Rig, load: Load) -> None:
    """Every phase is waited for: all run on workers, all are Complete on the manager, nothing is left anywhere."""
    async with watching(rig.federation) as seen:
        figures = await Run(rig.federation, MIXED, SECONDS).measure(seen, load)
    assert figures["failed"] == 0
    assert sum(figures["jobs_by_worker"].values()) == JOBS
    assert figures["to_running"]["writes_per_job"]["copies"] >= 1
