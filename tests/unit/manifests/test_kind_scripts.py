"""``scripts/kind-up`` and ``kind-down`` with stand-ins for docker and kind: whose contexts they take for their own."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.local_federation import KUBECTL

SCRIPTS = Path(__file__).parents[3] / "scripts"
CLUSTERS = ("manager", "oregon", "berlin")
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>"$ASKED"
case "$*" in
    "get clusters") echo manager ;;
    "load docker-image fedhub:0.1.0 --name manager") echo "that is enough" >&2; exit 3 ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Desk:
    """A user's kubeconfig with contexts, by the clusters to which they lead, and programs that note what is asked."""

    folder: Path

    def holds(self, **leads_to: str) -> None:
        contexts = [{"name": name, "context": {"cluster": cluster, "user": "u"}} for name, cluster in leads_to.items()]
        clusters = [{"name": name, "cluster": {"server": "https://127.0.0.1:1"}} for name in {*leads_to.values()}]
        config = {"apiVersion": "v1", "kind": "Config", "contexts": contexts, "clusters": clusters, "users": []}
        (self.folder / "config").write_text(yaml.safe_dump(config))

    def contexts(self) -> set[str]:
        found = yaml.safe_load((self.folder / "config").read_text())
        return {each["name"] for each in found["contexts"] or ()}

    def asked(self) -> list[str]:
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def types(self, script: str) -> "subprocess.CompletedProcess[str]":
        path = [str(self.folder), str(Path(KUBECTL).parent), str(Path(sys.prefix) / "bin"), os.environ["PATH"]]
        environment = {
            "PATH": os.pathsep.join(path),
            "HOME": str(self.folder),
            "KUBECONFIG": str(self.folder / "config"),
            "ASKED": str(self.folder / "asked"),
        }
        command = ["sh", str(SCRIPTS / script)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    for name in ("docker", "kind"):
        program = tmp_path / name
        program.write_text(STAND_IN)
        program.chmod(0o755)
    return Desk(tmp_path)


def test_a_context_of_somebody_elses_is_told_before_anything_is_made(desk: Desk):
    desk.holds(oregon="production")
    done = desk.types("kind-up")
    assert done.returncode == 1
    assert "a context 'oregon' that leads to 'production': rename it" in done.stderr
    assert desk.asked() == []


def test_a_context_that_was_not_renamed_yet_is_renamed_when_it_is_repeated(desk: Desk):
    desk.holds(**{"kind-manager": "kind-manager"})
    done = desk.types("kind-up")
    assert "that is enough" in done.stderr
    assert desk.contexts() == {"manager"}
    assert not [line for line in desk.asked() if line.startswith("kind create")]


def test_only_contexts_of_kind_go_with_their_clusters(desk: Desk):
    desk.holds(manager="kind-manager", oregon="production")
    done = desk.types("kind-down")
    assert done.returncode == 0, done.stderr
    assert desk.contexts() == {"oregon"}
    assert [line for line in desk.asked() if "delete" in line] == [
        f"kind delete cluster --name {name}" for name in CLUSTERS
    ]
