"""Groups of options that many commands share: a dataclass of options, which a command takes as one parameter.

    @flag_groups.expanded
    def stop(name: str, connection: Connection) -> None: ...

gives ``stop`` every option of ``Connection``, and calls it with what was typed.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

G = TypeVar("G", bound="FlagGroup")


class FlagGroup:
    """Base of such dataclasses; every field is annotated with its ``typer.Option`` and has a default."""

    @classmethod
    @functools.cache  # dozens of commands share a group, and reading hints takes a millisecond
    def parameters(cls) -> list[inspect.Parameter]:
        hints = get_type_hints(cls, include_extras=True)
        return [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name]
            )
            for field in dataclasses.fields(cls)  # type: ignore[arg-type]
        ]

    @classmethod
    def take(cls: type[G], typed: dict[str, Any]) -> G:
        """Takes its own options out of what was typed."""
        names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: typed.pop(name) for name in names if name in typed})


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its groups in place of the groups."""
    hints = get_type_hints(command, include_extras=True)
    own: list[inspect.Parameter] = []
    groups: dict[str, type[FlagGroup]] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if isinstance(kind, type) and issubclass(kind, FlagGroup):
            groups[parameter.name] = kind
        else:
            own.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
    added = [parameter for group in groups.values() for parameter in group.parameters()]

    @functools.wraps(command)
    def called(**typed: Any) -> None:
        taken = {name: group.take(typed) for name, group in groups.items()}
        command(**typed, **taken)

    # Typer asks both for the parameters: the signature, and the annotations of what it was given.
    called.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
    del called.__wrapped__
    return called


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
