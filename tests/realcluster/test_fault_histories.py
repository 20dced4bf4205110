"""A small share of the fault histories on real control planes; ``scripts/test faults --real`` runs more."""

import pytest

from tests.cluster_choice import NEWEST
from tests.faults import script, served


@pytest.mark.timeout(600)
@pytest.mark.parametrize("sort", [NEWEST])
def test_no_history_breaks_a_promise(sort: str) -> None:
    (outcome,) = served.outcomes([script.write(2)], sort)
    assert not outcome.violations, str(outcome)
