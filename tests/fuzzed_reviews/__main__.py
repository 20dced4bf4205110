"""``python -m tests.fuzzed_reviews 10000 [--seed N]``: so many fuzzed reviews for an agent that serves every kind.

Prints JSON and ends with 1 where an answer was of no use or took longer than the webhooks' timeout, where memory grew
by more than ``MOST_GROWTH``, or where more than ``MOST_BLOCKS`` of it stayed behind with each review.
"""

import argparse
import asyncio
import json
import logging
import sys

from tests import api_servers
from tests.fuzzed_reviews import attack
from tests.fuzzed_reviews.attack import Report
from worker_agent.api.frameworks import FRAMEWORKS
from worker_agent.app import configuration
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.kube.clock import SystemClock
from worker_agent.settings import AgentSettings

MOST_GROWTH = 64 * 1024 * 1024
"""Bytes; half of it is seen, as the pieces that are kept come to lie apart."""
MOST_BLOCKS = 4.0


async def attacked(count: int, seed: int, *, unharmed: bool = False) -> Report:
    """An agent on an empty API server, attacked; or asked the real reviews themselves."""
    settings = AgentSettings(
        leader_election={"leader_elect": False},
        webhook={"port": 0, "host": "127.0.0.1", "url": "https://127.0.0.1:0"},
        integrations={"frameworks": list(FRAMEWORKS)},
        feature_gates={"SparkApplicationIntegration": True},
    )
    async with api_servers.in_memory(1) as (server,):
        agent = Agent(configuration.resolve(settings), Surroundings(server.transport, SystemClock()))
        stop = asyncio.Event()
        running = asyncio.create_task(agent.run(stop))
        try:
            await agent.ready.wait()
            assert agent.webhooks is not None
            url = f"https://127.0.0.1:{agent.webhooks.port}"
            if unharmed:
                whole = list(attack.unharmed())
                return await attack.run(url, whole, len(whole))
            return await attack.run(url, attack.drawn(count, seed), count)
        finally:
            stop.set()
            await running


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.CRITICAL)
    report = asyncio.run(attacked(arguments.count, arguments.seed))
    print(json.dumps(report.summary(), indent=1))
    grew = report.memory_growth > MOST_GROWTH or report.blocks_per_review > MOST_BLOCKS
    return 1 if report.wrong or grew else 0


if __name__ == "__main__":
    sys.exit(main())
