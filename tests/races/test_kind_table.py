"""The table of kinds, for one of them; ``python -m tests.kind_table`` measures all."""

import logging

import pytest

from tests.faults import virtual_loop
from tests.kind_table import lines, stages

DECLARATIONS = ("JobSet", "MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
MOST_LINES = 40


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(300)
def test_a_job_comes_through_every_stage():
    found = virtual_loop.run(stages.here("Job")) | virtual_loop.run(stages.there("Job"))
    assert found == dict.fromkeys(stages.STAGES, "yes")


@pytest.mark.parametrize("kind", DECLARATIONS)
def test_kinds_that_are_alike_are_declarations(kind):
    assert lines.by_kind()[kind].file <= MOST_LINES
