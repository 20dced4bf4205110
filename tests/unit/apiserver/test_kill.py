"""kill -9 in the middle of writing: nothing that was acknowledged is lost."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import aiohttp

from tests.unit.apiserver.world import CONFIG_MAPS, config_map

START = [sys.executable, "-m", "hub.local.apiserver.serve"]


async def launch(config: Path) -> tuple[asyncio.subprocess.Process, str]:
    process = await asyncio.create_subprocess_exec(*START, str(config), stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    ready = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
    assert "authorisation is off" in ready["note"]
    return process, ready["url"]


async def ended(process: asyncio.subprocess.Process) -> int:
    """Wait for the process and read what is left of its output, so that its pipe is closed."""
    await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode


async def test_acknowledged_writes_survive(tmp_path: Path) -> None:
    config = tmp_path / "server.json"
    content = {"data_dir": str(tmp_path / "data"), "persist": True, "tokens": {"secret": ["bob", []]}}
    config.write_text(json.dumps(content))
    process, url = await launch(config)
    acknowledged: list[str] = []
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer secret"}) as session:

        async def write(writer: int) -> None:
            for number in range(10_000):
                name = f"c{writer}-{number}"
                try:
                    async with session.post(url + CONFIG_MAPS, json=config_map(name), ssl=False) as response:
                        assert response.status == 201
                except aiohttp.ClientError:
                    return
                acknowledged.append(name)
                if len(acknowledged) == 200:
                    process.send_signal(signal.SIGKILL)

        await asyncio.gather(*(write(writer) for writer in range(8)))
        await ended(process)
        again, url = await launch(config)
        async with session.get(url + CONFIG_MAPS, ssl=False) as response:
            kept = {item["metadata"]["name"] for item in (await response.json())["items"]}
        again.send_signal(signal.SIGTERM)
        assert await ended(again) == 0
    assert len(acknowledged) >= 200
    assert set(acknowledged) <= kept
