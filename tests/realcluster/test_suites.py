"""The integration suites on every sort of cluster; each run is a pytest of its own, and a cell of the table."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import cluster_choice
from tests.cluster_choice import SORTS
from tests.realcluster import table

ROOT = Path(__file__).parents[2]
SUITES = ("integration/agent", "integration/federation", "integration/local")
PATIENCE = "600"
"""Seconds for one test: real control planes start within it."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("suite", SUITES)
def test_suite(suite, sort, tmp_path):
    if sort != cluster_choice.EMBEDDED:
        cluster_choice.built(sort)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", f"tests/{suite}", "--cluster", sort, "-o", f"timeout={PATIENCE}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, f"--junitxml={report}"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    table.put(suite, sort, counted(report))
    assert done.returncode == 0, done.stdout


def counted(report: Path) -> str:
    """``12 passed``, with what failed or was skipped before it."""
    if not report.exists():
        return "did not run"
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    number = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
    failed = number["failures"] + number["errors"]
    passed = number["tests"] - failed - number["skipped"]
    told = [f"{failed} failed"] if failed else []
    told += [f"{number['skipped']} skipped"] if number["skipped"] else []
    return ", ".join([*told, f"{passed} passed"])
