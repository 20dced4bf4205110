"""Rules that the Dockerfile keeps; with hadolint at hand its own are asked too."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import dockerfile

STAGES = dockerfile.stages()
LAST = STAGES[-1]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name or "last")
def test_images_are_pinned(stage):
    assert re.search(r":\d+\.\d+\.\d+|@sha256:[0-9a-f]{64}", stage.image)


def test_what_is_installed_is_pinned():
    words = [word for stage in STAGES for run in stage.all("RUN") for word in run.arguments]
    packages = [word for word in words if re.fullmatch(r"[a-z][a-z0-9-]*(==.*)?", word) and "==" in word]
    assert packages
    assert all(re.fullmatch(r"[a-z0-9-]+==\d+(\.\d+)+", each) for each in packages)


def test_pip_keeps_no_cache():
    runs = [part for stage in STAGES for run in stage.all("RUN") for part in run.text.split("&&")]
    asked = [part for part in runs if re.search(r" (install|wheel) ", part)]
    assert asked
    assert all("--no-cache-dir" in part for part in asked)


def test_it_runs_as_nobody_in_particular():
    [user] = LAST.all("USER")
    assert all(int(number) > 0 for number in user.text.split(":"))


def test_nothing_is_added_from_elsewhere():
    assert not [each for stage in STAGES for each in stage.all("ADD")]


def test_folders_are_absolute():
    assert all(each.text.startswith("/") for stage in STAGES for each in stage.all("WORKDIR"))


def test_the_last_stage_runs_nothing():
    assert not LAST.all("RUN")
    assert {each.arguments[0] for each in LAST.all("COPY")} == {"--from=build"}


def test_the_command_is_a_list():
    [command] = LAST.all("CMD")
    assert json.loads(command.text)[0] == "fedhub"


def test_all_that_is_copied_is_let_through():
    ignored = (dockerfile.CHECKOUT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    copied = {name for each in STAGES[0].all("COPY") for name in each.arguments[:-1]}
    assert copied == allowed
    assert "*" in ignored


def test_hadolint_is_content():
    found = shutil.which("hadolint", path=str(Path(sys.prefix) / "bin")) or shutil.which("hadolint")
    if found is None:
        pytest.skip("hadolint is not installed; the other tests of this file hold its rules that matter here")
    done = subprocess.run([found, str(dockerfile.PATH)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
