"""What both programs do around their work."""

import asyncio
import errno
import os

import pytest

from worker_agent.cli import process
from worker_agent.cli.program_log import LogOptions
from worker_agent.kube.kubeconfig import Choice, KubeconfigError
from worker_agent.kube.transport import Transport


class NoTransport:
    async def close(self) -> None:
        pass


async def listens_where_another_does(transport: Transport, stop: asyncio.Event) -> None:
    raise ExceptionGroup("tasks", [OSError(errno.EADDRINUSE, "address already in use")])


def test_address_in_use_is_told_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(process, "connect_program", lambda path, context: NoTransport())
    assert process.main(listens_where_another_does, None, "", LogOptions()) == 1
    assert capsys.readouterr().err == (
        "error: address already in use; free the address or name another in the settings\n"
    )


def program():
    return process.configuration(None, Choice())


class TestWhichCluster:
    """As kubectl finds it; a program in a pod takes the pod's own account before a file in a home."""

    @pytest.fixture(autouse=True)
    def home(self, tmp_path, monkeypatch):
        monkeypatch.delenv("KUBECONFIG", raising=False)
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        return tmp_path

    def write(self, path, name):
        path.parent.mkdir(exist_ok=True)
        cluster = f"{{name: {name}, cluster: {{server: 'https://{name}'}}}}"
        path.write_text(
            f"{{apiVersion: v1, kind: Config, current-context: {name}, clusters: [{cluster}],"
            f" contexts: [{{name: {name}, context: {{cluster: {name}}}}}]}}"
        )
        return path

    @pytest.mark.parametrize("found", [lambda: process.own_configuration(None, ""), program])
    def test_a_file_in_the_home_is_found(self, home, found):
        self.write(home / ".kube" / "config", "at-home")
        assert found().server == "https://at-home"

    def test_several_files_of_the_environment_are_one(self, home, monkeypatch):
        files = [str(self.write(home / name, name)) for name in ("east", "west")]
        monkeypatch.setenv("KUBECONFIG", os.pathsep.join(files))
        assert process.own_configuration(None, "west").server == "https://west"
        assert process.own_configuration(None, "").server == "https://east"

    def test_a_program_in_a_pod_is_the_pods_account(self, home, monkeypatch):
        self.write(home / ".kube" / "config", "at-home")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
        with pytest.raises(KubeconfigError, match="in-cluster configuration"):
            program()

    def test_nothing_at_all_names_every_place(self):
        with pytest.raises(KubeconfigError, match="there is no kubeconfig"):
            process.own_configuration(None, "")

    def test_a_file_of_the_environment_that_is_not_there_is_named(self, home, monkeypatch):
        monkeypatch.setenv("KUBECONFIG", str(home / "none"))
        with pytest.raises(KubeconfigError, match="none: there is no such file"):
            process.own_configuration(None, "")
