"""What the project promises today of the recorded behaviour: nothing fails, skips have a named reason."""

from pathlib import Path

import pytest

from tests.conformance import runner, webhooks

SHARED = Path(__file__).parents[2].parent / "shared"

PROMISED = {
    "fuzz/f1-quota.jsonl": (),
    "fuzz/f2-fungibility.jsonl": (),
    "fuzz/f3-classical.jsonl": (),
    "fuzz/f4-hierarchical.jsonl": (),
    "fuzz/f5-fairsharing.jsonl": (),
    "conformance/scheduler": ("topology", "tas", "customsetup"),
    "conformance/preemption": ("topology", "tas"),
    "conformance/flavorassigner": ("topology", "tas"),
    "conformance/queue": (),
    "conformance/core/core.*.jsonl": ("customsetup", "dra"),
    "conformance/webhooks": (),
    "conformance/cache/TestAvailable.jsonl": (),
    "conformance/cache/TestCohortLendable.jsonl": (),
    "conformance/cache/TestCohortCycles.jsonl": (),
    "conformance/cache/TestDeleteCohortUpdatesAncestorSubtreeQuota.jsonl": (),
    "conformance/cache/TestClusterQueueUsage.jsonl": (),
    "conformance/cache/TestLocalQueueUsage.jsonl": (),
    "conformance/cache/TestClusterQueueReadiness.jsonl": (),
    "conformance/multikueue": (),
    "conformance/jobs/job.*.jsonl": ("elastic", "topology"),
}
"""Path below ``shared`` -> words of which a reason for skipping must contain one."""


def recorded(name: str) -> list[Path]:
    if not SHARED.is_dir():
        pytest.skip(f"recorded behaviour is not here: {SHARED}")
    return sorted(SHARED.glob(name)) if "*" in name else [SHARED / name]


@pytest.mark.parametrize(("name", "reasons"), PROMISED.items())
def test_nothing_fails(name: str, reasons: tuple[str, ...]) -> None:
    tally = runner.run(recorded(name))
    assert tally.passed
    assert tally.failed == {}
    assert [reason for reason in tally.skipped if not any(word in reason.lower() for word in reasons)] == []


def test_webhooks_use_the_recorded_words() -> None:
    cases = [case for path in runner.files(recorded("conformance/webhooks")) for case in runner.cases(path)]
    assert {case["name"]: webhooks.run(case, details=True) for case in cases} == {case["name"]: [] for case in cases}
