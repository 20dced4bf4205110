"""pytest-asyncio asks for the current event loop before its first test, which makes one that nobody closes. Where the
collector then finds it, an unrelated test fails with a ResourceWarning. So there is one, closed at the end."""

import asyncio
import os
from collections.abc import Iterator

import hypothesis
import pytest

from tests import cluster_choice

EMBEDDED_ALONE = ("embedded", "looptime")
"""Markers of tests that no other sort of cluster can serve."""

_LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(_LOOP)

# The same examples in every run, so that a green commit stays green; HYPOTHESIS_PROFILE=explore draws new ones.
hypothesis.settings.register_profile("repeatable", derandomize=True)
hypothesis.settings.register_profile("explore", print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(scope="session", autouse=True)
def _close_first_loop() -> Iterator[None]:
    yield
    _LOOP.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cluster", choices=cluster_choice.SORTS, help="Sort of cluster the integration suites run on.")
    parser.addoption("--on-every-cluster", action="store_true", help="Only what runs on real control planes as well.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What runs on virtual time, or looks into the embedded server, is none of a real cluster's tests."""
    if cluster_choice.chosen() == cluster_choice.EMBEDDED and not config.getoption("--on-every-cluster"):
        return
    left = [item for item in items if any(item.get_closest_marker(name) for name in EMBEDDED_ALONE)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "embedded: needs the embedded server, whatever --cluster says.")
    if sort := config.getoption("--cluster"):
        os.environ[cluster_choice.VARIABLE] = sort
