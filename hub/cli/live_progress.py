"""A bar and a line on a person's terminal, kept up to date while jobs run, and gone afterwards."""

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text


class LiveProgress:
    """Begins at once. ``total`` are the jobs there are."""

    def __init__(self, total: int) -> None:
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._progress = Progress(
            TextColumn("{task.completed}/{task.total} finished"), BarColumn(), TimeElapsedColumn(), console=console
        )
        self._task = self._progress.add_task("jobs", total=total)
        self._live = Live(console=console, refresh_per_second=8, transient=True)
        self._live.start()

    def show(self, finished: int, text: str) -> None:
        self._progress.update(self._task, completed=finished)
        self._live.update(Group(self._progress, Text(text)))

    def stop(self) -> None:
        self._live.stop()
