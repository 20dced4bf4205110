"""The hub's verdict is the worker's decision: a small share of ``python -m tests.property.verdicts``."""

import pytest

from tests.property.verdicts import cases

STATES_OF_A_TEST = 15


@pytest.mark.parametrize("first", range(0, 90, STATES_OF_A_TEST))
def test_the_hub_says_what_the_worker_then_decides(first):
    found = [case for seed in range(first, first + STATES_OF_A_TEST) for case in cases(seed)]
    assert found
    assert [case for case in found if case.differs] == []


def test_all_three_verdicts_are_among_the_cases():
    found = {case.decided[0] for seed in range(60) for case in cases(seed)}
    assert found == {"FITS", "AFTER_PREEMPTION", "WAITS"}
