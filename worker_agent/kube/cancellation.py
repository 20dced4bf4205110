"""Whose cancellation a CancelledError is: a connection that closes under a request may raise one in our task too."""

import asyncio


def is_ours() -> bool:
    """Whether the task that asks is being cancelled itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
