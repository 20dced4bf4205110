"""The benchmark of the engine judges what it measured by the targets of the modules in use."""

import pytest

from tests.benchmarks import engine
from worker_agent.api.document import Document


def result(
    work: str = "p2", modules: str = "plain", total: float = 0.4, p99: float = 0.25, agree: bool = True
) -> Document:
    ratios = {"total": total, "p99": p99}
    return {"work": work, "modules": modules, "calibrated_ratio": ratios, "counts_agree": agree}


def test_plain_modules_meet_their_target():
    assert engine.judged(result())["target_met"]


def test_compiled_modules_have_a_stricter_target_for_the_slowest_cycles():
    missed = engine.judged(result(modules="compiled"))["missed"]

    assert missed == ["p2: p99 is 0.250 of the reference's, at most 0.2 is the target for compiled modules"]


def test_only_p2_has_a_target_for_its_slowest_cycles():
    assert engine.judged(result(work="p1", p99=5.0))["target_met"]


@pytest.mark.parametrize("work", engine.REFERENCE)
def test_every_work_has_a_target_for_its_total(work: str):
    assert not engine.judged(result(work=work, total=0.51))["target_met"]


def test_counts_that_differ_are_a_miss():
    assert "differ" in engine.judged(result(agree=False))["missed"][0]


def test_the_verdict_says_what_was_in_use():
    assert engine.verdict([engine.judged(result())]) == "plain modules in use: all targets met"
