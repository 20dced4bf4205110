"""Agents of other versions than their hub: told so, and still given work."""

from collections.abc import Awaitable, Callable

import pytest

from tests.integration.federation.test_cluster_administration import active
from tests.integration.federation.test_explain import verdicts, what_if
from tests.integration.federation.world import Federation, job, running, runs_on, until
from worker_agent.api import names, program_version
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS


async def said(world: Federation, name: str) -> tuple[str, str, str] | None:
    """Status, reason and message of what the hub says of the version there."""
    found = await world.manager.get(MULTIKUEUE_CLUSTERS, name) or {}
    for each in (found.get("status") or {}).get("conditions") or ():
        if each["type"] == names.VERSION_SUPPORTED:
            return each["status"], each["reason"], each["message"]
    return None


def saying(world: Federation, name: str, reason: str) -> Callable[[], Awaitable[bool]]:
    async def told() -> bool:
        found = await said(world, name)
        return found is not None and found[1] == reason

    return told


async def test_agent_outside_of_the_window_is_named_gets_work_as_with_kueue_and_is_well_once_upgraded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(program_version, "VERSION", "9.0.0")
    async with running(east=4) as world:
        await until(saying(world, "east", "AgentTooNew"), "the hub says that the agent is too new")
        told = await said(world, "east")
        assert told is not None
        assert told[0] == "False"
        assert told[2].startswith("Agent 9.0.0 is too new for hub 0.1.0")
        assert await active(world, "east"), "it is in contact all the same"
        assert verdicts(await what_if(world, job("asked", cpu=1))) == {"east": "UNKNOWN"}
        await world.manager.create(job("train", cpu=1))
        await until(lambda: runs_on(world, "train"), "the job runs")

        monkeypatch.setattr(program_version, "VERSION", "0.2.0")
        await world.crash("east")
        await until(saying(world, "east", "WithinWindow"), "the upgraded agent is well")
        assert verdicts(await what_if(world, job("asked", cpu=1))) == {"east": "FITS"}


async def test_agent_inside_the_window_is_not_worth_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_version, "VERSION", "0.1.9")
    async with running(east=4) as world:
        await world.manager.create(job("train", cpu=1))
        await until(lambda: runs_on(world, "train"), "the job runs")
        assert await said(world, "east") is None
