"""``fedhub kueue get|describe|edit|patch|delete``: kubectl's commands, handed to it as they were typed."""

from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from hub.cli.kueue import completion, delete_command, kubectl
from hub.cli.kueue.connection import Connection
from worker_agent.cli.command_group import Group

_TYPES: Final[dict[str, tuple[Any, ...]]] = {
    "workload": (completion.workloads(), "kwl", "kueueworkload", "kueueworkloads"),
    "clusterqueue": (completion.cluster_queues(), "cq"),
    "localqueue": (completion.local_queues(), "lq"),
    "resourceflavor": (completion.resource_flavors, "rf"),
}
_GROUP: Final = "kueue.x-k8s.io"
_AS_TYPED: Final = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def group(command: str) -> typer.Typer:
    """One of kubectl's commands, for each of our types."""
    made = typer.Typer(
        cls=Group, help=f"kubectl {command}, with its options and for queues and workloads.", no_args_is_help=True
    )
    for type_, (complete, *aliases) in _TYPES.items():
        for name in (type_, *aliases):
            if (command, type_) == ("delete", "workload"):
                made.command(name, hidden=name != type_)(delete_command.workload)
                continue
            told = f"kubectl {command} {type_}, with its options"
            made.command(name, hidden=name != type_, help=told, context_settings=_AS_TYPED)(
                _handed_on(command, type_, complete)
            )
    return made


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
