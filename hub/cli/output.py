"""How commands speak: results on standard output, progress and errors on standard error.

Every command begins here, so what takes long to import waits until it is needed: nothing is drawn for a program.
"""

import os.path
import shutil
import sys
import textwrap
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

NARROWEST_TEXT: Final = 30
"""Columns that sentences get on the narrowest terminal."""
CELL_PADDING: Final = 2
"""What rich puts between two columns."""


class Format(StrEnum):
    """What ``--output`` takes; without it a table is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def terminal() -> "Console | None":
    """Standard output where a person looks at it; None where it goes to a file or a program."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console  # noqa: PLC0415

    return Console(soft_wrap=False)


def say(text: str) -> None:
    """One line of progress."""
    print(text, file=sys.stderr, flush=True)


def fail(problem: object, code: int = 1) -> NoReturn:
    """Ends the command: ``problem`` on standard error, ``code`` as exit status (2: wrong usage or settings)."""
    print(f"error: {problem}", file=sys.stderr)
    raise typer.Exit(code)


def structured(value: Any, format_: Format) -> None:
    """Prints plain data as JSON or YAML."""
    if format_ is Format.JSON:
        import msgspec  # noqa: PLC0415

        sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
    else:
        import yaml  # noqa: PLC0415

        sys.stdout.write(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))


def table(columns: list[str], rows: list[list[str]]) -> None:
    """A table as kubectl prints one: upper case headings, no lines. A terminal cuts the last column to its width."""
    widths = [max(len(line[index]) for line in [columns, *rows]) for index in range(len(columns))]
    screen = terminal()
    if screen is None:
        for line in [[column.upper() for column in columns], *rows]:
            padded = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)]
            print("   ".join([*padded, line[-1]]).rstrip())
        return
    _draw(screen, columns, rows, widths)


def _draw(screen: "Console", columns: list[str], rows: list[list[str]], widths: list[int]) -> None:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    # The other columns are whole at any width: what a terminal has no room for is taken from the last one.
    room = max(len(columns[-1]), screen.width - sum(widths[:-1]) - CELL_PADDING * len(columns))
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column, width in zip(columns[:-1], widths, strict=False):
        shown.add_column(column.upper(), no_wrap=True, min_width=width)
    shown.add_column(columns[-1].upper(), no_wrap=True, max_width=room)
    for row in rows:
        last = row[-1] if len(row[-1]) <= room else row[-1][: room - 1] + "…"
        shown.add_row(*(Text(cell) for cell in (*row[:-1], last)))
    screen.print(shown)


def entries(columns: list[str], rows: Iterable[tuple[list[str], list[str]]]) -> None:
    """A table whose last column holds sentences: one below the other, on a terminal broken at its width."""
    headings = [column.upper() for column in columns]
    shown = [(headings[:-1], headings[-1:]), *rows]
    widths = [max(len(cells[index]) for cells, _ in shown) for index in range(len(columns) - 1)]
    screen = terminal()
    for cells, texts in shown:
        start = "".join(cell.ljust(width + 3) for cell, width in zip(cells, widths, strict=True))
        room = sys.maxsize if screen is None else max(NARROWEST_TEXT, screen.width - len(start))
        lines = [line for text in texts for line in textwrap.wrap(text, room, subsequent_indent="  ")]
        for number, line in enumerate(lines):
            print((start if number == 0 else " " * len(start)) + line)


def hint(command: str, state: Path) -> str:
    """``command`` as this user can type it: the program by the path it was called by, the state folder if not usual."""
    program = Path(os.path.normpath(sys.argv[0])) if Path(sys.argv[0]).stem == "fedhub" else Path("fedhub")
    called = program.name if shutil.which(program.name) == str(program) else _relative(program)
    return f"{called} {command}" + ("" if state == Path(".fedhub").resolve() else f" --state {_relative(state)}")


def _relative(path: Path) -> str:
    """From the working directory where that is shorter to read."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else str(path)
