"""The demo as its user runs it: a program that ends by itself, or is interrupted, and leaves nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import yaml

from hub.local import spec
from tests import cluster_choice

FEDHUB = [sys.executable, "-m", "hub.cli"]
PATIENCE_SECONDS = 280 if cluster_choice.chosen() == cluster_choice.EMBEDDED else 500
"""Below pytest's own limit, which is longer where clusters are real."""


def start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    # A shell has what it starts in the background ignore interrupts, and so has whoever is started from there.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sort = ["--real"] if cluster_choice.use() else []
    return subprocess.Popen(
        [*FEDHUB, "demo", *sort, "--state", str(tmp_path / "state"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


def leftovers(tmp_path: Path) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(tmp_path) in argument for argument in process.info["cmdline"] or ()):
            found.append(" ".join(process.info["cmdline"]))
    return found


def with_one_worker(folder: Path) -> Path:
    """The demo's manifests for its manager and oregon, where all of its jobs fit."""
    shutil.copytree(spec.shipped(), folder)
    described = yaml.safe_load((folder / "federation.yaml").read_text())
    described["workers"] = [worker for worker in described["workers"] if worker["name"] == "oregon"]
    (folder / "federation.yaml").write_text(yaml.safe_dump(described))
    return folder


def test_every_job_finishes_where_it_fits(tmp_path):
    with start(tmp_path, "--jobs", "12", "-o", "json") as demo:
        shown, notes = demo.communicate(timeout=PATIENCE_SECONDS)
    assert demo.returncode == 0, notes
    rows = json.loads(shown)
    assert len(rows) == 12
    assert {row["stage"] for row in rows} == {"finished"}
    assert len({row["cluster"] for row in rows}) >= 2
    assert {row["cluster"] for row in rows if row["job"].startswith(("finetune", "fat"))} == {"oregon"}
    assert all(row["why"].startswith(f"{row['cluster']}: ") for row in rows)
    assert leftovers(tmp_path) == []


@pytest.mark.embedded
def test_interrupt_stops_everything(tmp_path):
    """On embedded servers alone: what an interrupt does is done to processes of ours. That those of real clusters end
    with them is seen where a demo ends by itself, for both end by the same call."""
    with start(tmp_path, "--jobs", "30", "--manifests", str(with_one_worker(tmp_path / "manifests"))) as demo:
        for line in demo.stderr:
            if "queued" in line:
                break
        demo.send_signal(signal.SIGINT)
        _, notes = demo.communicate(timeout=PATIENCE_SECONDS)
    assert demo.returncode == 130
    assert "everything that was started is stopped" in notes
    assert "Traceback" not in notes
    assert leftovers(tmp_path) == []
