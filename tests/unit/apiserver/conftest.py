import pytest

from tests.unit.apiserver.world import World


@pytest.fixture
def world() -> World:
    return World()
