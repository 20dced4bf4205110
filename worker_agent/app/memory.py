"""The collector's manners: what is loaded at the start lives long, and full collections wait for a gap between cycles.

A full collection walks every object; with 100,000 Workloads it takes over a second, in which nothing else runs.
"""

import gc

from worker_agent.app.agent import Agent

COLLECT_SECONDS = 60.0
THRESHOLDS = (100_000, 20, 1_000_000)
"""Young objects are collected as ever; the oldest generation never by itself."""


async def keep(agent: Agent) -> None:
    """Settle once the agent is ready, then collect everything now and then; runs until cancelled."""
    await agent.ready.wait()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    while True:
        await agent.clock.sleep(COLLECT_SECONDS)
        await agent.engine.ask(lambda state, policy, now: gc.collect())
