"""``fedhub kueue get|describe|edit|patch|delete``: kubectl's commands, handed to it as they were typed."""

from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from hub.cli.kueue import completion, delete_command, kubectl
from hub.cli.kueue.connection import Connection

_COMMANDS: Final = {
    "get": "Display a resource",
    "describe": "Show details of a resource",
    "edit": "Edit a resource on the server",
    "patch": "Update fields of a resource",
    "delete": "Delete a resource",
}
_TYPES: Final[dict[str, tuple[Any, ...]]] = {
    "workload": (completion.workloads(), "kwl", "kueueworkload", "kueueworkloads"),
    "clusterqueue": (completion.cluster_queues(), "cq"),
    "localqueue": (completion.local_queues(), "lq"),
    "resourceflavor": (completion.resource_flavors, "rf"),
}
_GROUP: Final = "kueue.x-k8s.io"
_AS_TYPED: Final = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def add_to(app: typer.Typer) -> None:
    for command, summary in _COMMANDS.items():
        group = typer.Typer(help=f"{summary}: kubectl's own command and options.", no_args_is_help=True)
        for type_, (complete, *aliases) in _TYPES.items():
            for name in (type_, *aliases):
                if (command, type_) == ("delete", "workload"):
                    group.command(name, hidden=name != type_)(delete_command.workload)
                    continue
                told = f"kubectl {command} {type_}, with its options"
                group.command(name, hidden=name != type_, help=told, context_settings=_AS_TYPED)(
                    _handed_on(command, type_, complete)
                )
        app.add_typer(group, name=command)


def _handed_on(command: str, type_: str, complete: completion.Names) -> Callable[..., None]:
    def handed_on(
        arguments: Annotated[
            list[str] | None, typer.Argument(metavar="ARGUMENTS...", autocompletion=complete, show_default=False)
        ] = None,
    ) -> None:
        # The full name of the type: short ones may be another API's.
        typed = [*Connection().whole().flags(), command, f"{type_}s.{_GROUP}", *(arguments or ())]
        kubectl.become(typed)

    return handed_on
