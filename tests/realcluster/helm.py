"""Helm from its Go module, for tests of the charts."""

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

CHECKOUT: Final = Path(__file__).parents[2]
CHARTS: Final = CHECKOUT / "manifests" / "helm"
SCRIPT: Final = CHECKOUT / "scripts" / "build-test-cluster"
NOT_DOWNLOADED: Final = 75
LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The definitions are long."""
Objects = dict[tuple[str, str, str], dict[str, Any]]
"""By kind, namespace and name."""


@cache
def tool(name: str) -> Path:
    """The program, built the first time; skips the test, with the reason, where Go modules cannot be had."""
    done = subprocess.run([sys.executable, str(SCRIPT), "--tool", name], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == NOT_DOWNLOADED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, f"{name} was not built, see above"
    return Path(done.stdout.strip()) / name


def run(*arguments: str, kubeconfig: Path | None = None, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    if kubeconfig is not None:
        environment["KUBECONFIG"] = str(kubeconfig)
    command = [str(tool("helm")), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment, check=False)


@cache
def _text(chart: str, values: str, release: str, namespace: str) -> str:
    done = run("template", release, str(CHARTS / chart), "-n", namespace, "-f", "-", stdin=values)
    assert done.returncode == 0, done.stderr
    return done.stdout


def text(
    chart: str, values: Mapping[str, Any] | None = None, *, release: str = "", namespace: str = "fedhub-system"
) -> str:
    """What ``helm template`` makes of the chart with ``values`` over its own; what it refuses is an AssertionError.

    The release is called as the chart unless told otherwise."""
    return _text(chart, yaml.safe_dump(dict(values or {})), release or chart, namespace)


def rendered(chart: str, values: Mapping[str, Any] | None = None) -> Objects:
    """The objects of ``text``."""
    return objects(text(chart, values))


def objects(manifests: str) -> Objects:
    documents = [found for found in yaml.load_all(manifests, Loader=LOADER) if found]
    return {
        (found["kind"], found["metadata"].get("namespace", ""), found["metadata"]["name"]): found for found in documents
    }
