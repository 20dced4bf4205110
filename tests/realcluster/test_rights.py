"""All suites run on real clusters with the rights of the manifests alone: nothing is refused, and nothing is idle."""

from collections import Counter

import pytest

from tests.cluster_choice import NEWEST, OLDEST
from tests.realcluster import rights
from tests.realcluster.rights_log import Asked
from tests.realcluster.suite_runs import SuiteRuns
from tests.realcluster.test_suites import SUITES


def asked(runs: SuiteRuns, *sorts: str) -> Counter[Asked]:
    found = Counter[Asked]()
    for sort in sorts:
        of_sort = runs.asked(sort, SUITES)
        if not of_sort:
            pytest.skip(f"not every suite was run on {sort}")
        found += of_sort
    return found


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("release", [OLDEST, NEWEST])
def test_programs_were_refused_nothing(release: str, suite_runs: SuiteRuns) -> None:
    found = asked(suite_runs, release)
    assert sum(found.values()) > 1000
    assert rights.refused(found) == []


@pytest.mark.timeout(3600)
def test_every_right_was_used_or_says_why_not(suite_runs: SuiteRuns) -> None:
    idle = rights.unused(asked(suite_runs, OLDEST, NEWEST))
    for one in idle:
        print(f"{one.role} ({one.place}): {one.verb} {one.resource}: {one.reason or 'NOBODY ASKED'}")
    assert [one for one in idle if not one.reason] == []
