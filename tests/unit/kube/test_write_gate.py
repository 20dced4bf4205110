"""Writes under way end before the program does; none begins meanwhile."""

import asyncio

from worker_agent.kube.write_gate import WriteGate


async def write(gate, answer, done):
    async with gate.passing():
        await answer.wait()
        done.append(1)


async def test_closing_waits_for_writes_under_way():
    gate, answer, done = WriteGate(), asyncio.Event(), []
    async with asyncio.TaskGroup() as group:
        group.create_task(write(gate, answer, done))
        await asyncio.sleep(0)
        closing = group.create_task(gate.close(30))
        await asyncio.sleep(0)
        assert not closing.done()
        answer.set()
    assert closing.result()
    assert done == [1]


async def test_what_takes_too_long_is_not_waited_for():
    gate = WriteGate()
    task = asyncio.create_task(write(gate, asyncio.Event(), []))
    await asyncio.sleep(0)
    assert not await gate.close(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_no_write_begins_while_it_is_closed_and_later_ones_pass():
    gate, answer, done = WriteGate(), asyncio.Event(), []
    answer.set()
    assert await gate.close(1)
    held = asyncio.create_task(write(gate, answer, done))
    await asyncio.sleep(0)
    gate.open()
    await write(gate, answer, done)
    assert done == [1]
    held.cancel()
    await asyncio.gather(held, return_exceptions=True)
    assert done == [1]
