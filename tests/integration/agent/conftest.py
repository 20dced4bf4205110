import pytest

from tests.integration.agent.world import world


@pytest.fixture
async def cluster(tmp_path):
    async with world(tmp_path) as made:
        await made.start_agent()
        yield made
