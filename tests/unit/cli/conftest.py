"""Commands set up the log of the whole process: tests after them shall not find it changed."""

import logging

import pytest

from worker_agent.cli import program_log


@pytest.fixture(autouse=True)
def _log_as_before():
    before = {name: logging.getLogger(name).level for name in ("", *program_log.OURS)}
    handlers = logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)
