"""The image's steps, replayed where there is no builder: in empty folders, on a read-only machine, run as nobody.

The stages' base image is stood in for by a Python of this machine that everybody may read. Downloads what
requirements.lock names (some 200 MB, minutes): only with FEDHUB_TEST_IMAGE=1 in the environment.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import dockerfile
from tests.realcluster import kueue, pod_root

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not os.environ.get("FEDHUB_TEST_IMAGE"), reason="replays the image only with FEDHUB_TEST_IMAGE=1"
    ),
    pytest.mark.skipif(bool(kueue.may_run()), reason=f"folders in their place: {kueue.may_run()}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a program as another user"),
]
BUILD, LAST = dockerfile.stages()
NOBODY = LAST.all("USER")[0].text.split(":")[0]
AGENT = dockerfile.CHECKOUT / "manifests" / "base" / "agent"


def readable_python() -> str:
    """A Python 3.11 or newer outside of home folders; empty where there is none."""
    for name in ("/usr/local/bin/python3", "/usr/bin/python3"):
        asked = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"
        if os.access(name, os.X_OK) and subprocess.run([name, "-c", asked], check=False).returncode == 0:
            return name
    return ""


class Machine:
    """Folders in place of a container's: ``/src`` and ``/opt`` while it is built, ``/opt/fedhub`` when it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("src", "opt", "root", "bin", "tmp", "config"):
            (folder / name).mkdir(mode=0o755)
        (folder / "tmp").chmod(0o1777)
        (folder / "bin" / "python").symlink_to(readable_python())
        shutil.copy(AGENT / "config.yaml", folder / "config")

    def build(self) -> None:
        for step in BUILD.instructions:
            if step.word == "COPY":
                *sources, target = step.arguments
                for source in sources:
                    self._copy(source, self.folder / "src" / target)
            elif step.word == "RUN":
                mounts = {f"/{name}": (self.folder / name, True) for name in ("src", "opt", "tmp")}
                mounts["/usr/local/bin"] = (self.folder / "bin", False)
                done = self._run(mounts, ["sh", "-euc", f"cd /src; {step.text}"], {})
                assert done.returncode == 0, done.stdout[-3000:]

    def run(self, *program: str, variables: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """As the last stage says: its environment, its user, a root that cannot be written."""
        mounts = {
            "/opt": (self.folder / "opt", False),
            "/tmp": (self.folder / "tmp", True),
            "/usr/local/bin": (self.folder / "bin", False),
            "/etc/fedhub": (self.folder / "config", False),
        }
        said = dict(pair.split("=", 1) for each in LAST.all("ENV") for pair in each.arguments)
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *program]
        return self._run(mounts, as_nobody, {**said, **(variables or {})}, keep_capabilities=True)

    def _run(
        self,
        mounts: dict[str, tuple[Path, bool]],
        program: list[str],
        variables: dict[str, str],
        keep_capabilities: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        passed = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment = {**passed, "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/tmp"}
        argv = pod_root.command(self.folder / "root", mounts, program, keep_capabilities=keep_capabilities)
        return subprocess.run(
            argv,
            cwd=dockerfile.CHECKOUT,
            env={**environment, "PYTHONPATH": str(dockerfile.CHECKOUT), **_for_the_program(variables)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def _copy(self, source: str, target: Path) -> None:
        found = dockerfile.CHECKOUT / source
        if found.is_dir():
            shutil.copytree(found, target, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(found, target)


def _for_the_program(variables: dict[str, str]) -> dict[str, str]:
    """The launcher needs the modules of the checkout, the program must do without them: ``pod_root`` sees to that."""
    return {pod_root.VARIABLES: json.dumps(variables)}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    if not readable_python():
        pytest.skip("no Python 3.11 with ensurepip outside of home folders")
    folder = tmp_path_factory.mktemp("image")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    made = Machine(folder)
    made.build()
    return made


@pytest.mark.parametrize("program", ["fedhub", "fedhub-agent"])
def test_programs_answer(machine: Machine, program: str):
    done = machine.run(program, "--help")
    assert done.returncode == 0, done.stdout
    assert f"Usage: {program}" in done.stdout


def test_the_agent_reads_its_settings_and_asks_for_a_cluster(machine: Machine):
    done = machine.run("fedhub-agent", "run", "--config=/etc/fedhub/config.yaml")
    assert done.returncode == 2
    assert "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set" in done.stdout


def test_nothing_of_the_builder_is_left(machine: Machine):
    done = machine.run("/opt/fedhub/bin/python", "-c", "import pip")
    assert done.returncode == 1
    assert "No module named 'pip'" in done.stdout


def test_packages_lie_where_the_programs_are(machine: Machine):
    done = machine.run("/opt/fedhub/bin/python", "-c", "import hub, ray; print(hub.__file__, ray.__file__)")
    assert all(path.startswith("/opt/fedhub/") for path in done.stdout.split()), done.stdout


def test_a_builder_makes_it():
    """Where this machine has one that works; elsewhere the replay above has to do."""
    for builder in ("docker", "podman", "buildah"):
        if (
            shutil.which(builder)
            and subprocess.run([builder, "info"], capture_output=True, check=False).returncode == 0
        ):
            break
    else:
        pytest.skip("no builder that works here (docker, podman, buildah)")
    command = [builder, "build", "--tag", "fedhub-test:0", str(dockerfile.CHECKOUT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
