"""A few of the reviews of ``python -m tests.fuzzed_reviews 10000``, which says more."""

import pytest

from tests.fuzzed_reviews.__main__ import attacked
from tests.fuzzed_reviews.seeds import seeds
from worker_agent.jobs import KINDS
from worker_agent.webhooks.configurations import TIMEOUT_SECONDS

pytestmark = pytest.mark.embedded


def test_every_kind_is_among_the_seeds():
    paths = {seed.path for seed in seeds()}
    for kind in KINDS.values():
        assert any(path.endswith(f"-{kind.resource.kind.lower()}") for path in paths), kind.framework


async def test_fuzzed_reviews_are_all_answered():
    report = await attacked(200, seed=11)
    assert report.wrong == []
    assert len(report.seconds) == 200
    assert max(report.seconds) < TIMEOUT_SECONDS


async def test_unharmed_reviews_are_understood():
    report = await attacked(0, seed=0, unharmed=True)
    assert report.wrong == []
    assert not report.unreadable
    assert set(report.statuses) == {200}
