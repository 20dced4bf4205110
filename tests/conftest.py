"""pytest-asyncio asks for the current event loop before its first test, which makes one that nobody closes; where the
collector then finds it, an unrelated test fails with a ResourceWarning. So there is one, and it is closed at the end."""

import asyncio
from collections.abc import Iterator

import pytest

_LOOP = asyncio.new_event_loop()
asyncio.set_event_loop(_LOOP)


@pytest.fixture(scope="session", autouse=True)
def _close_first_loop() -> Iterator[None]:
    yield
    _LOOP.close()
