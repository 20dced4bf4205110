"""The hub as a program: ``run_hub`` from settings and a connection until it is told to stop."""

import asyncio
from pathlib import Path

from hub.app import configuration
from hub.app.hub import Hub
from hub.settings import HubSettings
from worker_agent.app import program, visibility_service
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.cli import process
from worker_agent.cli.program_log import LogOptions
from worker_agent.kube.clock import Clock, SystemClock
from worker_agent.kube.transport import Transport


async def run_hub(settings: HubSettings, transport: Transport, stop: asyncio.Event, clock: Clock | None = None) -> None:
    """Work until ``stop`` is set. Raises ConfigurationError and FeatureGateError for settings that cannot be served."""
    agent_configuration, federation = configuration.resolve(settings)
    surroundings = Surroundings(transport, clock or SystemClock(), user_agent="fedhub-hub", identity=program.identity())
    agent = Agent(agent_configuration, surroundings)
    Hub(agent, federation)
    visibility_service.attach(agent)
    await program.serve(agent, stop)


def main(settings: HubSettings, kubeconfig: Path | None, context: str, log: LogOptions) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code."""
    return process.main(lambda transport, stop: run_hub(settings, transport, stop), kubeconfig, context, log)
