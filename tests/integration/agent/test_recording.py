"""What a live agent recorded, with preemption and a restart, comes out the same when it is played again."""

import asyncio
import io
import json

import pytest

from tests.integration.agent.virtual import Cluster
from worker_agent.api.resource_type import WORKLOAD_PRIORITY_CLASSES
from worker_agent.app import configuration
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.controllers.recording import FileRecorder
from worker_agent.engine.story import CycleTale
from worker_agent.engine.story_recording import Recording

pytestmark = pytest.mark.looptime


class RecordedCluster(Cluster):
    """``recordings`` holds one stream per start of the agent."""

    def start_agent(self) -> None:
        self.recordings = [*getattr(self, "recordings", []), io.BytesIO()]
        recorder = FileRecorder(self.recordings[-1], {}, {})
        surroundings = Surroundings(self.agent_faults, self.clock, threaded=False, webhooks=False, recorder=recorder)
        agent = Agent(configuration.resolve(self.settings), surroundings)
        self._agent = asyncio.create_task(agent.run(asyncio.Event()))


def played(stream):
    head, *lines = (json.loads(line) for line in stream.getvalue().splitlines())
    recording = Recording(head, enumerate(lines, start=2))
    return recording, [chapter for chapter in recording.play() if isinstance(chapter, CycleTale)]


async def test_recordings_of_an_agent_come_out_the_same():
    async with RecordedCluster() as cluster:
        cluster.simulate()
        cluster.start_agent()
        await cluster.queue("4", preemption={"withinClusterQueue": "LowerPriority"})
        for name, value in (("low", 1), ("high", 100)):
            document = {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
            await cluster.client.create(WORKLOAD_PRIORITY_CLASSES, document)
        await asyncio.sleep(2)
        for number in range(4):
            await cluster.submit(f"low{number}", "2", 20, {"kueue.x-k8s.io/priority-class": "low"})
        await asyncio.sleep(5)
        await cluster.submit("high", "4", 5, {"kueue.x-k8s.io/priority-class": "high"})
        await asyncio.sleep(3)
        await cluster.kill_agent()
        cluster.start_agent()
        await cluster.until_all_complete()
    recorded = [played(stream) for stream in cluster.recordings]
    assert [recording.differing for recording, _ in recorded] == ["", ""]
    results = {head.result for _, tales in recorded for tale in tales for head in tale.heads}
    assert {"Admitted", "Preempting"} <= results
