"""Logs of simulated containers: made up of what their statuses tell, the same whenever they are read."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.apiserver.world import PODS, START, World
from worker_agent.api.timestamps import rfc3339
from worker_agent.kube.transport import Request

STARTED = "container c of pod default/p started (simulated)"


def at(seconds: int) -> str:
    return rfc3339(START + timedelta(seconds=seconds))


def running(started: int) -> dict[str, Any]:
    return {"running": {"startedAt": at(started)}}


def terminated(started: int, finished: int, code: int = 0) -> dict[str, Any]:
    return {"terminated": {"startedAt": at(started), "finishedAt": at(finished), "exitCode": code}}


def pod(world: World, state: dict[str, Any], last: dict[str, Any] | None = None, *containers: str) -> None:
    """A pod on a node whose container c is in ``state``; ``containers`` are there beside it."""
    listed = [{"name": name, "image": "i"} for name in ("c", *containers)]
    metadata = {"name": "p", "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n", "containers": listed}}
    if world.get(f"{PODS}/p").status == 404:
        world.post(PODS, body)
    show(world, state, last)


def show(world: World, state: dict[str, Any], last: dict[str, Any] | None = None) -> None:
    statuses = [{"name": "c", "state": state, "lastState": last or {}}]
    world.patch(f"{PODS}/p/status", {"status": {"containerStatuses": statuses}})


def answer(world: World, **query: str):
    return world.send(Request("GET", f"{PODS}/p/log", tuple(query.items())))


def lines(world: World, **query: str) -> list[str]:
    found = answer(world, **query)
    assert (found.status, found.content_type) == (200, "text/plain")
    return found.body.decode().splitlines()


def later(world: World, seconds: int) -> None:
    world.now = START + timedelta(seconds=seconds)


def test_a_line_when_it_started_and_one_a_second(world: World) -> None:
    pod(world, running(0))
    later(world, 2)
    assert lines(world) == [STARTED, "second 1", "second 2"]


def test_a_line_when_it_ended(world: World) -> None:
    pod(world, terminated(0, 1, 3))
    later(world, 60)
    assert lines(world) == [STARTED, "second 1", "container c ended with exit code 3"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"tailLines": "1"}, ["second 2"]),
        ({"tailLines": "0"}, []),
        ({"sinceSeconds": "1"}, ["second 1", "second 2"]),
        ({"sinceSeconds": "9" * 15}, [STARTED, "second 1", "second 2"]),
        ({"sinceTime": at(2)}, ["second 2"]),
        ({"timestamps": "true", "tailLines": "1"}, [f"{at(2)} second 2"]),
        ({"limitBytes": "9"}, ["container"]),
    ],
)
def test_a_part_of_it(world: World, query: dict[str, str], expected: list[str]) -> None:
    pod(world, running(0))
    later(world, 2)
    assert lines(world, **query) == expected


def test_previous_is_the_life_before(world: World) -> None:
    pod(world, running(20), terminated(0, 1, 1))
    later(world, 21)
    assert lines(world, previous="true")[-1] == "container c ended with exit code 1"
    assert lines(world) == [STARTED, "second 1"]


def test_followed_log_goes_on_where_it_was_until_the_container_ends(world: World) -> None:
    pod(world, running(0))
    found = answer(world, follow="true")
    assert found.log is not None
    assert found.body.decode().splitlines() == [STARTED]
    later(world, 2)
    assert found.log.read(world.now).decode().splitlines() == ["second 1", "second 2"]
    assert found.log.seconds_to_next(world.now) == 1.0
    assert found.log.read(world.now) == b""
    show(world, terminated(0, 3))
    later(world, 9)
    assert found.log.read(world.now).decode().splitlines() == ["second 3", "container c ended with exit code 0"]
    assert found.log.over


def test_followed_log_ends_with_its_pod(world: World) -> None:
    pod(world, running(0))
    found = answer(world, follow="true")
    assert found.log is not None
    world.send(Request("DELETE", f"{PODS}/p", (("gracePeriodSeconds", "0"),)))
    assert found.log.read(world.now) == b""
    assert found.log.over


def test_log_of_days_is_cut_to_its_last_hour(world: World) -> None:
    pod(world, running(0))
    later(world, 200_000)
    found = lines(world)
    assert (found[0], found[-1]) == ("second 196400", "second 200000")


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({}, "a container name must be specified for pod p, choose one of: [c d]"),
        ({"container": "e"}, "container e is not valid for pod p"),
        ({"container": "d"}, 'container "d" in pod "p" is waiting to start: ContainerCreating'),
        ({"container": "c", "previous": "true"}, 'previous terminated container "c" in pod "p" not found'),
        ({"container": "c", "tailLines": "x"}, "tailLines: Invalid value: 'x': must be an integer"),
    ],
)
def test_what_is_not_there_is_said(world: World, query: dict[str, str], problem: str) -> None:
    pod(world, running(0), None, "d")
    reply = world.get(f"{PODS}/p/log?{'&'.join(f'{name}={value}' for name, value in query.items())}")
    assert (reply.status, reply.message) == (400, problem)
