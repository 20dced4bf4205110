"""The benchmarks of evaluation and regret at a size that proves that they measure what they say."""

import json
import subprocess
import sys

import pytest

from tests.benchmarks import regret

pytestmark = pytest.mark.timeout(600)  # Ray starts in ten seconds; on a machine that is busy otherwise in minutes


def test_inline_and_ray_answer_alike_on_the_mix_that_is_promised():
    command = [sys.executable, "-m", "tests.benchmarks.evaluate", "--clusters", "10", "--queues", "20"]
    command += ["--heads", "20", "--actors", "0,1", "--rounds", "1"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    assert report["answers_identical"]
    assert [case["actors"] for case in report["cases"]] == [0, 1]
    for case in report["cases"]:
        assert case["mix"] == {"FITS": 0.7, "WAITS": 0.2, "FITS_AFTER_PREEMPTION": 0.1}
        assert case["most_victims"] == 20


def test_every_job_starts_and_one_copy_each_is_enough_for_the_informed_hub():
    found = regret.compare(40, 1, 200)
    copies = {name: each["copies_per_job"] for name, each in found.items()}
    assert copies["capacity-aware"] < 1.5
    assert copies["incremental"] >= 3
    assert copies["all-at-once"] >= len(regret.CPUS)
