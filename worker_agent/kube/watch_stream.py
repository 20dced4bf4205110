"""The open answer to a watch, as batches of lines."""

from worker_agent.kube import errors
from worker_agent.kube.pieces import PatientReader
from worker_agent.kube.transport import Response

Batch = list[bytes]
"""Lines of a watch that came together."""


class WatchStream:
    """Iterates over batches of whole lines. ServerSilent is raised when nothing came for ``silence`` seconds,
    ConnectionError when the stream is cut. Whoever has it closes it."""

    def __init__(self, response: Response, silence: float) -> None:
        self._response = response
        self._silence = silence
        self._reader = PatientReader(response.stream, silence)
        self._rest = b""
        self._put_back: Batch = []

    def __aiter__(self) -> "WatchStream":
        return self

    async def __anext__(self) -> Batch:
        if self._put_back:
            batch, self._put_back = self._put_back, []
            return batch
        try:
            while (piece := await self._reader.next()) is not None:
                *lines, self._rest = (self._rest + piece).split(b"\n")
                if lines:
                    return [line for line in lines if line]
        except TimeoutError as error:
            raise errors.ServerSilent(f"watch: the stream was silent for {self._silence:g} s") from error
        # What is left was cut off and is dropped: the next watch sends it whole.
        raise StopAsyncIteration

    def go_on(self, first: Batch, silence: float) -> None:
        """The next batch is ``first``, where there is something in it; those after it are waited for that long."""
        self._put_back = first
        self._silence = silence
        self._reader.wait(silence)

    async def aclose(self) -> None:
        self._reader.close()
        await self._response.close()
