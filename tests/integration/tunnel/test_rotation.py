"""Certificates change while jobs are dispatched: no request fails, no watch ends in error, contact is never lost."""

from datetime import timedelta

from tests.integration.federation.world import CLOCK, finish_job, job, runs_on, until
from tests.integration.tunnel.world import SYSTEM, DialledFederation, dialled
from worker_agent.api.resource_type import JOBS
from worker_agent.tunnel.identity import Identity, IdentityStore

VALIDITY = timedelta(seconds=45)
RENEWED_AT = 1 / 10
"""The share of its life at which a certificate is renewed here: the rest is left to a busy machine to do it in."""
ROTATIONS = 3
PAUSE_SECONDS = 0.5
"""Between one job and the next: some are always on their way, which is all the load that the rotations need."""


async def certificate(world: DialledFederation) -> bytes:
    identity = await IdentityStore(world.workers["east"].client, SYSTEM).load()
    assert identity is not None
    return identity.certificate


async def complete(world: DialledFederation, name: str) -> bool:
    found = await world.manager.get(JOBS, name)
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)


async def test_rotation_under_load_fails_no_dispatch(caplog, monkeypatch):
    when = Identity.renewal_at
    monkeypatch.setattr(Identity, "renewal_at", lambda identity: when(identity, RENEWED_AT))
    async with dialled(validity=VALIDITY, east=4) as world:
        await until(lambda: world.is_active("east"), "the worker is Active")
        door, contact = world.hub.door, world.hub.clients.entries["east"]
        seen = {await certificate(world)}
        jobs = 0
        while len(seen) <= ROTATIONS or jobs < 10:
            name = f"train-{jobs}"
            await world.manager.create(job(name))
            await until(lambda name=name: runs_on(world, name), f"{name} runs")
            await finish_job(world.workers["east"], name)
            await until(lambda name=name: complete(world, name), f"{name} is complete")
            seen.add(await certificate(world))
            jobs += 1
            await CLOCK.sleep(PAUSE_SECONDS)
        registry = world.hub.metrics.registry
        requests = registry.get_sample_value("fedhub_tunnel_requests_total", {"agent": "east", "code": "200"})
        failed = registry.get_sample_value("fedhub_tunnel_requests_total", {"agent": "east", "code": "failed"})
        print(f"{jobs} jobs, {len(seen) - 1} rotations, {requests:.0f} requests answered, {failed or 0:.0f} failed")
        assert not failed
        assert door.meeting("east") == 1
        assert contact.contact.connected
        assert "contact lost" not in caplog.text


async def test_an_agent_that_was_away_too_long_is_told_to_join_again(caplog):
    async with dialled(validity=timedelta(seconds=2), east=4) as world:
        await world.stop("east")
        identity = await IdentityStore(world.workers["east"].client, SYSTEM).load()
        await until(lambda: world.hub.agent.clock.now() > identity.expires_at, "the certificate expires")
        world.start_worker("east")
        await until(lambda: "join again" in caplog.text, "the agent says what to do")
        await until(lambda: not world.services["east"].linked, "it is not let in")
