"""The group class of both command lines, which starts faster than typer's own.

Two things take longer than most commands do. Dozens of commands with twenty options each are made whenever one of them
is called: ``add_deferred`` adds a group that is made when it is entered. And typer makes a pydantic adapter for every
option, typed or not, to bring its value to its type: here values that are of their type already, as texts and defaults
are, stay as they are.

    app = typer.Typer(cls=Group)
    add_deferred(app, "kueue", load, "Queues and workloads of one cluster.")
"""

import sys
from collections.abc import Callable
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperGroup


class Group(TyperGroup):
    """Of commands, and of groups that may be deferred.

    Text that cannot be sent anywhere, as of bytes on the command line that are not UTF-8, is wrong usage. Commands need
    not look for it: names of files may have such bytes, and everything else is encoded before anything is done with it.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (UnicodeEncodeError, BaseExceptionGroup) as error:
            text = _unsayable(error)
            if not text:
                raise
            print(f"error: '{text}' is not UTF-8, and only that can be sent to a cluster", file=sys.stderr)
            raise typer.Exit(2) from error

    def get_params(self, ctx: Any) -> Any:
        return _spared(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        found: Any = super().resolve_command(ctx, args)
        name, command, rest = found
        if isinstance(command, Deferred):
            command = command.whole()
        if command is not None and not isinstance(command, Group):
            of_command = command.get_params
            command.get_params = lambda ctx: _spared(of_command(ctx))
        if command is not None and command.help:
            command.help = flowing(command.help)
        return name, command, rest


class Deferred(TyperGroup):
    """In place of a group, with its name and its help alone: all that a list of commands shows of it."""

    @staticmethod
    def load() -> typer.Typer:
        raise TypeError("is given by add_deferred")

    def whole(self) -> Any:
        return typer.main.get_group(self.load())


def add_deferred(app: typer.Typer, name: str, load: Callable[[], typer.Typer], summary: str) -> None:
    """``load`` imports and returns the group; ``summary`` is what the list of ``app``'s commands says of it."""
    made = type("Deferred", (Deferred,), {"load": staticmethod(load)})
    app.add_typer(typer.Typer(), name=name, cls=made, help=summary)


def flowing(text: str) -> str:
    """Paragraphs without the line breaks of the source, which typer would keep beside those of the terminal."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _unsayable(error: BaseException) -> str:
    """The text with surrogates over which something failed, in characters that can be printed; empty if none did."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(_unsayable, error.exceptions)), "")
    if not isinstance(error, UnicodeEncodeError):
        return ""
    surrogates = any("\ud800" <= each <= "\udfff" for each in error.object[error.start : error.end])
    return error.object.encode("utf-8", "backslashreplace").decode() if surrogates else ""


def _spared(parameters: Any) -> Any:
    for each in parameters:
        # Where a later typer does not look at this attribute, nothing is saved, and nothing is lost.
        each._runtime_param = _Sparing()
    return parameters


class _Sparing:
    """Brings the value of one parameter to its type; typer does it where there is something to do."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        annotation = param.type_descriptor.annotation
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if several and _are_texts(annotation, value):
            return list(value)
        if not several and isinstance(annotation, type) and isinstance(value, annotation):
            return value
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _are_texts(annotation: Any, value: Any) -> bool:
    texts = get_origin(annotation) is list and get_args(annotation) == (str,)
    return texts and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
