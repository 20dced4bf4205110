"""Suites are dealt out to runs: everything once, the longest first."""

from collections import Counter

import pytest

from tests.cluster_choice import EMBEDDED, NEWEST, SORTS
from tests.realcluster import shares
from tests.realcluster.test_suites import SUITES


@pytest.mark.parametrize("sort", SORTS)
def test_every_file_of_the_suites_is_in_one_run(sort):
    dealt = Counter(file for share in shares.dealt({sort: SUITES}) for file in share.files)
    there = {
        str(path.relative_to(shares.TESTS)) for suite in SUITES for path in shares.TESTS.glob(f"{suite}/**/test_*.py")
    }
    assert dealt == Counter(there)


def test_runs_on_real_clusters_take_about_as_long_as_each_other():
    runs = [share.seconds for share in shares.dealt({NEWEST: ["integration/local"]})]
    assert len(runs) == 3
    assert max(runs) - min(runs) <= max(shares.SECONDS.values())


def test_files_that_share_a_federation_are_in_one_run():
    folder = "integration/local/both_sources"
    together = {f"{folder}/test_dialling_agent.py", f"{folder}/test_logs.py"}
    (share,) = (each for each in shares.dealt({NEWEST: SUITES}) if together & set(each.files))
    assert together <= set(share.files)


def test_the_longest_run_comes_first():
    seconds = [share.seconds for share in shares.dealt({EMBEDDED: SUITES, NEWEST: SUITES})]
    assert seconds == sorted(seconds, reverse=True)


def test_a_run_knows_the_suites_of_its_files():
    for share in shares.dealt({NEWEST: ["integration/agent", "integration/tunnel"]}):
        assert {suite for suite in SUITES for file in share.files if shares.is_of(file, suite)} == set(share.suites)


def test_files_with_clusters_of_their_own_run_apart():
    file = shares.APART[0]
    (share,) = shares.dealt({NEWEST: [file]})
    assert (share.apart, share.files, share.suites) == (True, [file], [file])
