"""What the commands do not load: a person waits for ``--help``, a shell for its completion."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SLOW = {
    *("aiohttp", "asyncio", "cryptography", "h2", "jsonschema_rs", "kubernetes", "msgspec", "numpy"),
    *("prometheus_client", "psutil", "pydantic", "pydantic_settings", "ray", "tenacity", "yaml", "zstandard"),
}
"""Packages that take a tenth of a second or more, or are the beginning of what does."""
REPORT = (
    "import atexit, sys; from {module} import main;"
    "atexit.register(lambda: print('LOADED', *sorted({{name.partition('.')[0] for name in sys.modules}})));"
    "sys.argv[0] = 'fedhub'; main()"
)


def loaded(module: str, *arguments: str, **environment: str) -> set[str]:
    command = [sys.executable, "-c", REPORT.format(module=module), *arguments]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize("module", ["hub.cli", "worker_agent.cli"])
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_nothing_slow(module, option):
    assert loaded(module, option) & SLOW == set()


def test_kueue_help_loads_no_library_of_the_engine_and_no_connection():
    assert loaded("hub.cli", "kueue", "list", "--help") & (SLOW - {"msgspec", "asyncio"}) == set()


def test_completion_of_commands_loads_nothing_slow():
    typed = {"_FEDHUB_COMPLETE": "complete_bash", "COMP_WORDS": "fedhub clu", "COMP_CWORD": "1"}
    assert loaded("hub.cli", **typed) & (SLOW | {"rich"}) == set()


def test_what_asks_a_server_loads_what_that_takes_and_no_more(tmp_path):
    """The kubeconfig is there and empty: the command ends before it asks."""
    code = REPORT.format(module="hub.cli").replace("main()", "\ntry: main()\nexcept SystemExit: pass")
    command = [sys.executable, "-c", code, "kueue", "list", "clusterqueue", "--kubeconfig", str(tmp_path / "none")]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=100, check=False
    )
    assert "cannot be read" in done.stderr
    names = set(done.stdout.rpartition("LOADED")[2].split())
    assert names & {"numpy", "ray", "pydantic", "cryptography", "rich", "prometheus_client", "psutil"} == set()
