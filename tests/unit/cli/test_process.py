"""What both programs do around their work."""

import asyncio
import errno

from worker_agent.cli import process
from worker_agent.cli.program_log import LogOptions
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
