import asyncio
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from hub.local.apiserver.api_server import ApiServer
from hub.local.apiserver.in_process import InProcessTransport
from hub.local.apiserver.persistence import SqliteLog
from hub.local.apiserver.serve import RunningServer, ServerConfig, start
from hub.local.apiserver.store import Event
from tests.unit.apiserver.plain_schemas import PlainSchemas
from tests.unit.apiserver.world import CONFIG_MAPS, CRDS, PODS, World, config_map, crd, pod
from worker_agent.kube.clock import SystemClock
from worker_agent.kube.transport import Request


@pytest.fixture
def config(tmp_path: Path) -> ServerConfig:
    return ServerConfig(tmp_path, persist=True)


async def running(config: ServerConfig) -> RunningServer:
    return await start(config, schemas=PlainSchemas())


async def ask(server: RunningServer, method: str, url: str, body: object = None) -> tuple[int, dict[str, object]]:
    path, _, query = url.partition("?")
    pairs = tuple(tuple(pair.partition("=")[::2]) for pair in query.split("&") if pair)
    content = b"" if body is None else json.dumps(body).encode()
    response = await server.transport.request(Request(method, path, pairs, {}, content))  # type: ignore[arg-type]
    return response.status, json.loads((await response.read()).splitlines()[0])


async def test_objects_survive_a_restart(config: ServerConfig) -> None:
    first = await running(config)
    await ask(first, "POST", CONFIG_MAPS, config_map("a", {"k": "v"}))
    await ask(first, "POST", CONFIG_MAPS, config_map("b"))
    await ask(first, "DELETE", f"{CONFIG_MAPS}/b")
    _, before = await ask(first, "GET", f"{CONFIG_MAPS}/a")
    await first.stop()
    second = await running(config)
    assert await ask(second, "GET", f"{CONFIG_MAPS}/a") == (200, before)
    assert (await ask(second, "GET", f"{CONFIG_MAPS}/b"))[0] == 404
    await second.stop()


async def test_revisions_go_on_and_old_watches_are_gone(config: ServerConfig) -> None:
    first = await running(config)
    _, made = await ask(first, "POST", CONFIG_MAPS, config_map("a"))
    await first.stop()
    second = await running(config)
    version = made["metadata"]["resourceVersion"]  # type: ignore[index]
    _, event = await ask(second, "GET", f"{CONFIG_MAPS}?watch=1&resourceVersion={version}")
    assert event["object"]["code"] == 410  # type: ignore[index]
    _, later = await ask(second, "POST", CONFIG_MAPS, config_map("b"))
    assert int(later["metadata"]["resourceVersion"]) > int(version)  # type: ignore[index]
    await second.stop()


async def test_server_killed_before_its_first_write_does_not_give_its_revisions_again(config: ServerConfig) -> None:
    first = await running(config)
    await ask(first, "POST", CONFIG_MAPS, config_map("a"))
    await first.stop()
    starts = []
    for _ in range(2):
        log = SqliteLog(config.data_dir / "objects.sqlite")
        starts.append(log.load()[0])
        await log.close()
    assert starts[0] < starts[1]


async def test_custom_kinds_and_selectable_fields_are_back(config: ServerConfig) -> None:
    first = await running(config)
    await ask(first, "POST", CRDS, crd())
    path = "/apis/example.com/v1/namespaces/default/widgets"
    await ask(first, "POST", path, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}})
    await ask(first, "POST", PODS, pod("p", node="n1"))
    await first.stop()
    second = await running(config)
    assert (await ask(second, "GET", f"{path}/w"))[0] == 200
    _, found = await ask(second, "GET", f"{PODS}?fieldSelector=spec.nodeName=n1")
    assert len(found["items"]) == 1  # type: ignore[arg-type]
    await second.stop()


async def test_definitions_of_the_configuration_are_renewed(tmp_path: Path) -> None:
    first = await running(ServerConfig(tmp_path, persist=True, crds=[crd()]))
    await first.stop()
    renewed = crd(additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}])
    second = await running(ServerConfig(tmp_path, persist=True, crds=[renewed, crd("gears", "Gear")]))
    _, kept = await ask(second, "GET", f"{CRDS}/widgets.example.com")
    assert "additionalPrinterColumns" in kept["spec"]["versions"][0]  # type: ignore[index]
    assert (await ask(second, "GET", "/apis/example.com/v1/gears"))[0] == 200
    await second.stop()


async def test_deletion_under_way_is_finished_after_a_restart(config: ServerConfig) -> None:
    first = await running(config)
    _, made = await ask(first, "POST", CONFIG_MAPS, config_map("owner"))
    uid = made["metadata"]["uid"]  # type: ignore[index]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    first.server._stopping = True  # no cleaning before the "crash"
    await ask(first, "POST", CONFIG_MAPS, config_map("leaf", ownerReferences=[reference]))
    await ask(first, "DELETE", f"{CONFIG_MAPS}/owner")
    await first.stop()
    second = await running(config)
    while second.server._cleaning is not None:
        await second.server._cleaning
    assert (await ask(second, "GET", f"{CONFIG_MAPS}/leaf"))[0] == 404
    await second.stop()


class FullDisk:
    """A log that cannot take anything."""

    def append(self, events: object) -> "asyncio.Future[None]":
        failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        failed.set_exception(sqlite3.OperationalError("database or disk is full"))
        return failed

    async def close(self) -> None: ...


async def test_failed_storage_ends_service(world: World) -> None:
    server = ApiServer(world.core, SystemClock(), log=FullDisk())
    transport = InProcessTransport(server)
    body = json.dumps(config_map("a")).encode()
    wrote = await transport.request(Request("POST", CONFIG_MAPS, (), {}, body))
    assert (wrote.status, "disk is full" in (await wrote.read()).decode()) == (500, True)
    after = await transport.request(Request("GET", CONFIG_MAPS))
    assert (after.status, "restart the API server" in (await after.read()).decode()) == (500, True)


class SlowDisk:
    """A log that is done when it is told to be."""

    def __init__(self) -> None:
        self.writing: list[asyncio.Future[None]] = []

    def append(self, events: Sequence[Event]) -> "asyncio.Future[None]":
        self.writing.append(asyncio.get_running_loop().create_future())
        return self.writing[-1]

    def go(self) -> None:
        for done in self.writing:
            done.set_result(None)

    async def close(self) -> None: ...


STREAMED = (("watch", "true"), ("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))


@pytest.mark.parametrize(
    ("again", "path", "query"),
    [("GET", "/a", ()), ("PUT", "/a", ()), ("GET", "", ()), ("GET", "", STREAMED)],
    ids=["get", "put", "list", "streamed list"],
)
async def test_nobody_is_shown_what_is_not_on_disk_yet(
    world: World, again: str, path: str, query: tuple[tuple[str, str], ...]
) -> None:
    disk = SlowDisk()
    transport = InProcessTransport(ApiServer(world.core, SystemClock(), log=disk))
    body = json.dumps(config_map("a")).encode()
    writing = asyncio.create_task(transport.request(Request("POST", CONFIG_MAPS, (), {}, body)))
    await asyncio.sleep(0)
    # A write that changes nothing reads as well.
    reading = asyncio.create_task(transport.request(Request(again, f"{CONFIG_MAPS}{path}", query, {}, body)))
    for _ in range(9):
        await asyncio.sleep(0)
    assert not reading.done()
    disk.go()
    assert [(await each).status for each in (writing, reading)] == [201, 200]


async def test_watches_are_told_of_a_write_whose_writer_went_away(world: World) -> None:
    disk = SlowDisk()
    server = ApiServer(world.core, SystemClock(), log=disk)
    transport = InProcessTransport(server)
    watch = await transport.request(Request("GET", CONFIG_MAPS, (("watch", "true"),)))
    frames = aiter(watch.stream)
    body = json.dumps(config_map("a")).encode()
    writing = asyncio.create_task(transport.request(Request("POST", CONFIG_MAPS, (), {}, body)))
    for _ in range(9):
        await asyncio.sleep(0)
    assert disk.writing
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    disk.go()
    told = json.loads(await asyncio.wait_for(anext(frames), 30))
    assert (told["type"], told["object"]["metadata"]["name"]) == ("ADDED", "a")
    await watch.close()
    await server.stop()


async def test_damaged_file_is_an_error_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "objects.sqlite"
    path.write_bytes(b"this is not a database, not at all" * 100)
    with pytest.raises(sqlite3.DatabaseError):
        SqliteLog(path)
