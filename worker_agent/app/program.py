"""The agent as a program: ``run_agent`` from settings and a connection until it is told to stop."""

import asyncio
import contextlib
import os
import signal
import socket
import uuid
from typing import IO, Final

from prometheus_client import GCCollector, PlatformCollector, ProcessCollector

from worker_agent import log_context
from worker_agent.app import configuration, hub_tunnel, memory, queue_dump, visibility_service
from worker_agent.app.agent import Agent, Surroundings
from worker_agent.app.health import HealthServer
from worker_agent.app.metrics_server import MetricsServer, WriteCounts
from worker_agent.controllers.recording import NO_RECORDER, FileRecorder
from worker_agent.kube.clock import Clock, SystemClock
from worker_agent.kube.transport import Transport
from worker_agent.settings import AgentSettings

_LIFE_DIGITS: Final = 12


async def run_agent(
    settings: AgentSettings,
    transport: Transport,
    stop: asyncio.Event,
    clock: Clock | None = None,
    record: IO[bytes] | None = None,
) -> None:
    """Work until ``stop`` is set; what reaches the engine is written to ``record``, which is closed at the end.

    Raises ConfigurationError and FeatureGateError for settings that cannot be served.
    """
    recorder = FileRecorder(record, settings.feature_gates, configuration.engine_stanzas(settings)) if record else None
    surroundings = Surroundings(
        transport, clock or SystemClock(), identity=identity(), recorder=recorder or NO_RECORDER
    )
    try:
        agent = Agent(configuration.resolve(settings), surroundings)
        hub_tunnel.attach(agent)
        visibility_service.attach(agent)
        await serve(agent, stop)
    finally:
        if recorder is not None:
            recorder.close()


async def serve(agent: Agent, stop: asyncio.Event) -> None:
    """Run an agent with its probes; the hub serves its own agent the same way. SIGUSR2 writes its queues to the log."""
    log_context.ROLE.set(lambda: agent.metrics.role)
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, lambda: queue_dump.write(agent.engine.view))
    health = agent.configuration.settings.health
    probes = HealthServer(
        health.health_probe_bind_address,
        liveness=health.liveness_endpoint_name,
        readiness=health.readiness_endpoint_name,
        ready=lambda: f"waiting for {agent.missing}" if agent.missing else "",
        role=lambda: agent.metrics.role,
    )
    counts = WriteCounts(agent.client.writes, agent.metrics.written)
    exporter = MetricsServer(agent.configuration.settings, agent.metrics.registry, agent.client, counts.update)
    agent.add_always(exporter.renew)
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=agent.metrics.registry)
    agent.add_always(lambda: memory.keep(agent))
    await probes.start()
    try:
        await exporter.start()
        await agent.run(stop)
    finally:
        await exporter.stop()
        await probes.stop()


def identity() -> str:
    """This replica's name: the pod's, made unique for each life of the program.

    A pod of the same name may run elsewhere while this one is cut off, and a container always has the same pid.
    """
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4().hex[:_LIFE_DIGITS]}"
