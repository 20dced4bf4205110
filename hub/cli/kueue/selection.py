"""The options by which lists are narrowed, and the lists they lead to."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from hub.cli import output
from hub.cli.flag_groups import FlagGroup
from worker_agent.api.document import Document

if TYPE_CHECKING:
    from hub.cli.kueue.printing import Printing
    from worker_agent.api.resource_type import ResourceType
    from worker_agent.kube.client import Client

PANEL: Final = "Selection"
CHUNK_VARIABLE: Final = "KUEUECTL_LIST_REQUEST_LIMIT"
"""kueuectl's own way to say --chunk-size."""
_CHUNK: Final = 100

AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Of every namespace.", rich_help_panel=PANEL)
]


@dataclass(frozen=True, slots=True)
class Selection(FlagGroup):
    """Which objects, how many at a time, and whether a table has headings."""

    selector: Annotated[
        str,
        typer.Option(
            "--selector", "-l", help="Labels, such as team=a,tier!=b.", rich_help_panel=PANEL, show_default=False
        ),
    ] = ""
    field_selector: Annotated[
        str,
        typer.Option(
            "--field-selector",
            help="Fields, such as metadata.name=x; servers know few of them.",
            rich_help_panel=PANEL,
            show_default=False,
        ),
    ] = ""
    chunk_size: Annotated[
        int,
        typer.Option(
            "--chunk-size",
            min=-1,
            help=f"Objects for one request; 0 takes all at once; -1 is {_CHUNK}, or what {CHUNK_VARIABLE} says.",
            rich_help_panel=PANEL,
        ),
    ] = -1
    no_headers: Annotated[bool, typer.Option("--no-headers", help="A table without headings.")] = False

    def page_size(self) -> int:
        if self.chunk_size >= 0:
            return self.chunk_size
        text = os.environ.get(CHUNK_VARIABLE, "")
        if text and not text.isdecimal():
            output.fail(f"{CHUNK_VARIABLE}={text}: invalid list request limit; it is a number", 2)
        return int(text) if text else _CHUNK

    async def read(
        self, client: "Client", resource: "ResourceType", namespace: str = "", *, labels: str = ""
    ) -> list[Document]:
        """The objects; ``labels`` are wanted besides. Raises ApiError, ConnectionError."""
        page = await client.list(
            resource,
            namespace,
            label_selector=",".join(filter(None, (self.selector, labels))),
            field_selector=self.field_selector,
            page_size=self.page_size(),
        )
        return [msgspec.json.decode(item) for item in page.items]


def none_found(namespace: str) -> None:
    """What is said in place of an empty table; empty: in no namespace."""
    output.say(f"No resources found in {namespace} namespace." if namespace else "No resources found")


def told_without_table(printing: "Printing", resource: "ResourceType", found: "list[Document]", namespace: str) -> bool:
    """Whether all is said: nothing was found, or the objects were printed in the form that was asked for."""
    if not found:
        none_found(namespace)
    elif printing.specified:
        printing.many(resource.kind, resource.api_version, found)
    return not found or printing.specified
