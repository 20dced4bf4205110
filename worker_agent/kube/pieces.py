"""A stream's pieces, each waited for no longer than a stream may be silent."""

import asyncio
from collections.abc import AsyncIterator, Awaitable


class PatientReader:
    """``next`` gives a piece, or None at the end; TimeoutError where it is waited for longer than ``seconds``.

    The reader's own time between two pieces does not count. One timer serves all of them: on a busy stream nearly every
    wait ends long before, and to set and to take back a timer for each costs more than the piece.
    """

    def __init__(self, stream: AsyncIterator[bytes], seconds: float) -> None:
        self._stream = aiter(stream)
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._waits: asyncio.Task[object] | None = None
        self._since = 0.0
        self._over = False

    async def next(self) -> bytes | None:
        task = self._waits = asyncio.current_task()
        assert task is not None
        self._since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._ring)
        cancelled_before = task.cancelling()
        try:
            piece: Awaitable[bytes] = anext(self._stream)
            return await piece
        except StopAsyncIteration:
            return None
        except asyncio.CancelledError:
            if self._over and task.uncancel() <= cancelled_before:
                raise TimeoutError from None
            raise
        finally:
            self._waits = None

    def wait(self, seconds: float) -> None:
        """From now on pieces are waited for that long. Not while one is waited for."""
        self._seconds = seconds
        self.close()
        self._timer = None

    def close(self) -> None:
        """No piece is wanted any more; whoever made the stream closes it."""
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        if self._waits is None:
            return  # the next wait sets it again
        left = self._since + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._ring)
        else:
            self._over = True
            self._waits.cancel()
