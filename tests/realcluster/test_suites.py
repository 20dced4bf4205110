"""The integration suites on every sort of cluster, each a cell of the table."""

import pytest

from tests.cluster_choice import NEWEST, SORTS
from tests.realcluster import table
from tests.realcluster.shares import APART
from tests.realcluster.suite_runs import FLAKY, SuiteRuns

SUITES = ("integration/agent", "integration/federation", "integration/tunnel", "integration/local", "integration/kueue")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("suite", SUITES)
def test_suite(suite: str, sort: str, suite_runs: SuiteRuns) -> None:
    judge(suite, sort, suite_runs)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sort", [NEWEST])
@pytest.mark.parametrize("suite", APART)
def test_file(suite: str, sort: str, suite_runs: SuiteRuns) -> None:
    judge(suite, sort, suite_runs)


def judge(suite: str, sort: str, suite_runs: SuiteRuns) -> None:
    """Puts the outcome into the table; AssertionError with what pytest printed where it is not well."""
    outcome = suite_runs.outcome(suite, sort)
    table.put(suite, sort, outcome.cell())
    for name in outcome.having(FLAKY):
        table.flaky(sort, name, outcome.output)
    assert outcome.ok, outcome.output
