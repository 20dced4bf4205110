"""The files of this tier that start clusters of their own, each a row of the table: ``scripts/test installation``."""

import pytest

from tests.cluster_choice import NEWEST
from tests.realcluster import table
from tests.realcluster.shares import APART
from tests.realcluster.suite_runs import SuiteRuns


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sort", [NEWEST])
@pytest.mark.parametrize("suite", APART)
def test_file(suite: str, sort: str, suite_runs: SuiteRuns) -> None:
    table.judge(suite, sort, suite_runs.outcome(suite, sort))
