"""``fedhub logs``, ``pods`` and ``events``: wrong use, and what is printed of what was found."""

import asyncio
import dataclasses
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import typer
from typer.testing import CliRunner

from hub.app.job_following import JobOnManager, PodThere, Sight
from hub.app.remote_pods import LogQuery
from hub.cli import app, follow_commands
from hub.cli.follow_commands import ListFormat
from hub.cli.log_output import LogPrinter, Selection
from hub.engine.job_place import Place
from worker_agent.api.document import Document
from worker_agent.kube.errors import ApiError, ServerError
from worker_agent.kube.transport import Response


class Pods:
    """Every container writes its name and two lines."""

    async def log(self, workload: Document, pod: str, query: LogQuery) -> Response:
        async def stream() -> AsyncIterator[bytes]:
            yield f"{query.container} of {pod}\nha".encode()
            yield b"lf\nlast"

        return Response(200, {}, stream())


def there(name: str, *containers: str, cluster: str = "east", annotations: Document | None = None) -> PodThere:
    metadata = {"name": name, "namespace": "ns", "uid": name, "annotations": annotations or {}}
    pod = {"metadata": metadata, "spec": {"containers": [{"name": each} for each in containers or ("c",)]}}
    return PodThere(cluster, pod, {"metadata": {"name": "w"}}, Pods())  # type: ignore[arg-type]


def printed(capsysbinary, pods: list[PodThere], selection: Selection, *, prefix: bool = False, **query: bool) -> str:
    asyncio.run(LogPrinter(prefix=prefix).print(pods, selection, LogQuery(**query)))
    return capsysbinary.readouterr().out.decode()


def test_first_of_several_pods_is_taken(capsysbinary):
    assert printed(capsysbinary, [there("a"), there("b")], Selection()) == "c of a\nhalf\nlast"


def test_every_line_is_prefixed(capsysbinary):
    told = printed(capsysbinary, [there("a"), there("b")], Selection(all_pods=True), prefix=True).splitlines()
    assert told[:2] == ["[pod/a/c] c of a", "[pod/a/c] half"]
    assert "[pod/b/c] c of b" in "\n".join(told)


@pytest.mark.parametrize(
    ("selection", "annotations", "container"),
    [
        (Selection(), {}, "c"),
        (Selection(container="d"), {}, "d"),
        (Selection(), {"kubectl.kubernetes.io/default-container": "d"}, "d"),
        (Selection(), {"kubectl.kubernetes.io/default-container": "gone"}, "c"),
    ],
)
def test_container_of_a_pod(capsysbinary, selection, annotations, container):
    told = printed(capsysbinary, [there("a", "c", "d", annotations=annotations)], selection)
    assert told.startswith(f"{container} of a")


def test_more_logs_than_may_be_followed_is_wrong_use(capsysbinary):
    pods = [there(str(number)) for number in range(6)]
    with pytest.raises(typer.Exit) as ended:
        printed(capsysbinary, pods, Selection(all_pods=True), follow=True)
    assert ended.value.exit_code == 2
    assert b"--max-log-requests 6" in capsysbinary.readouterr().err


def test_pod_that_the_job_has_not_is_said(capsysbinary):
    with pytest.raises(ApiError, match="the job has no pod z; it has a, b"):
        printed(capsysbinary, [there("a"), there("b")], Selection(pod="z"))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["logs", "train"], "must be KIND/NAME"),
        (["logs", "job/train", "-n", "ns", "--since", "x"], "--since: 'x' is no duration"),
        (["logs", "job/train", "-n", "ns", "--since", "10ms"], "must be at least 1s"),
        (["logs", "job/train", "-n", "ns", "-f", "-p"], "--previous: what has ended is not followed"),
        (["logs", "job/..", "-n", "ns"], "KIND/NAME: '..' is no name"),
        (["logs", "job/a%2fb", "-n", "ns"], "KIND/NAME: 'a%2fb' is no name"),
        (["pods", "job/train", "-n", ".."], "--namespace: '..' is no name"),
        (["pods", "job/train", "-n", "ns", "--worker", "east"], "--worker east: must be CLUSTER=CONTEXT"),
    ],
)
def test_wrong_use_is_said(arguments, problem):
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, problem in done.output) == (2, True), done.output


READER_LEAVES = """
import sys
from hub.cli import app
from worker_agent.cli import process

def written(*_):
    while True:
        sys.stdout.buffer.write(b"line")
        sys.stdout.buffer.flush()

process.with_client = written
app(["logs", "job/train", "-n", "ns"])
"""


def test_reader_who_has_seen_enough_ends_it_in_silence():
    with subprocess.Popen([sys.executable, "-c", READER_LEAVES], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.read(4)
        run.stdout.close()
        told = run.stderr.read()
        assert (run.wait(60), told) == (0, b"")


def test_structured_output_says_where_each_object_is(capsys):
    follow_commands._tell_pods([("east", there("a").pod)], ListFormat.JSON)
    assert '"fedhub.dev/cluster": "east"' in capsys.readouterr().out


def test_names_can_be_used_again(capsys):
    follow_commands._tell_pods([("east", there("a").pod)], ListFormat.NAME)
    assert capsys.readouterr().out == "pod/a\n"


class Broken(Pods):
    async def log(self, workload: Document, pod: str, query: LogQuery) -> Response:
        async def stream() -> AsyncIterator[bytes]:
            yield b"one\ntw"
            raise ConnectionError("another agent took its place")

        return Response(200, {}, stream())


def test_a_log_that_breaks_off_says_so(capfd):
    pod = dataclasses.replace(there("p"), source=Broken())  # type: ignore[arg-type]
    with pytest.raises(typer.Exit) as ended:
        asyncio.run(LogPrinter().print([pod], Selection(), LogQuery(follow=True)))
    found = capfd.readouterr()
    assert (ended.value.exit_code, found.out) == (1, "one\ntw\n")
    assert "cluster east: the log of pod p broke off: another agent took its place; the container goes on" in found.err


class Away:
    async def events(self, workload: Document) -> list[Document]:
        raise ServerError(503, "ServiceUnavailable", "cluster east cannot be reached: its agent is not connected")


class Here:
    async def events(self, workload: Document) -> list[Document]:
        return [{"metadata": {"uid": "e"}, "reason": "CreatedWorkload"}]


def test_events_name_the_worker_that_is_away(monkeypatch):
    following = JobOnManager(None)  # type: ignore[arg-type]
    monkeypatch.setattr(following, "source", lambda cluster: Away() if cluster == "east" else Here())
    sight = Sight({"metadata": {"name": "w"}}, Place("east"))
    found = asyncio.run(following.events([sight]))
    assert [(cluster, event["reason"]) for cluster, event in found] == [("", "CreatedWorkload")]
    assert following.unread == {"east": "cluster east cannot be reached: its agent is not connected"}
