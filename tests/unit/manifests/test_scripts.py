"""Shell scripts by shellcheck."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SHELL = sorted(
    path for path in (*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run") if path.read_bytes().startswith(b"#!/bin/sh")
)


@pytest.mark.parametrize("script", SHELL, ids=lambda path: path.name)
def test_shellcheck_is_content(script):
    found = shutil.which("shellcheck", path=str(Path(sys.prefix) / "bin")) or shutil.which("shellcheck")
    assert found is not None, "scripts/install test brings shellcheck"
    done = subprocess.run([found, "--severity=warning", str(script)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
