"""The integration suites on every sort of cluster, each a cell of the table."""

import pytest

from tests.cluster_choice import SORTS
from tests.realcluster import table
from tests.realcluster.suite_runs import SuiteRuns

SUITES = ("integration/agent", "integration/federation", "integration/tunnel", "integration/local", "integration/kueue")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("suite", SUITES)
def test_suite(suite: str, sort: str, suite_runs: SuiteRuns) -> None:
    table.judge(suite, sort, suite_runs.outcome(suite, sort))
