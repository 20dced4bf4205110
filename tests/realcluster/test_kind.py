"""The kind clusters as far as no Docker allows: their configurations by kind's own loader, and what it would start.

A stand-in answers for docker until the nodes shall have started: kind has read and checked the configuration by then.
Kind runs the nodes side by side and ends with the first that fails, so the stand-in lets none fail before all were run.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.realcluster import helm

CONFIGS = helm.CHECKOUT / "kind-configs"
NAMES = ("manager", "oregon", "berlin")
DOCKER = """#!/bin/sh
case "$1" in
    info) echo '{"CgroupVersion":"2","MemoryLimit":true,"PidsLimit":true,"CPUShares":true,"SecurityOptions":[]}' ;;
    network) echo kind ;;
    run) echo "$*" >>"$ASKED" ;;
    logs)
        tries=0
        while [ "$(grep -c . "$ASKED")" -lt "$NODES" ] && [ "$tries" -lt 200 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
        exit 1
        ;;
esac
"""
pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True, slots=True)
class Machine:
    """A folder with a docker that only notes what it shall run."""

    folder: Path

    def create(self, config: Path) -> tuple[str, list[str]]:
        """What ``kind create cluster`` said, and the nodes that it asked docker for."""
        asked = self.folder / "asked"
        asked.unlink(missing_ok=True)
        environment = {
            "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "KUBECONFIG": str(self.folder / "kubeconfig"),
            "ASKED": str(asked),
            "NODES": str(len(yaml.safe_load(config.read_text())["nodes"])),
        }
        command = [str(helm.tool("kind")), "create", "cluster", "--config", str(config)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        run = asked.read_text() if asked.exists() else ""
        return done.stderr, re.findall(r"--name (\S+)", run)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    docker = tmp_path / "docker"
    docker.write_text(DOCKER)
    docker.chmod(0o755)
    return Machine(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_kind_takes_the_configuration(machine: Machine, name: str):
    wanted = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    said, nodes = machine.create(CONFIGS / f"{name}.yaml")
    assert f"{name}-control-plane" in nodes, said
    assert len(nodes) == len(wanted["nodes"])


def test_kind_would_refuse_a_mistake(machine: Machine, tmp_path: Path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((CONFIGS / "oregon.yaml").read_text().replace("role: worker", "role: walker"))
    said, nodes = machine.create(wrong)
    assert '"walker" is not a valid node role' in said
    assert nodes == []
