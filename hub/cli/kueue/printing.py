"""How objects are printed: kubectl's output formats and tables, and the line that says what was done.

Templates (``go-template``, ``jsonpath``) are printed by kubectl itself (``kubectl_templates``).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from hub.cli import output
from hub.cli.flag_groups import FlagGroup
from worker_agent.api.document import Document

PANEL: Final = "Output"
PLAIN: Final = ("json", "yaml", "kyaml", "name")
BY_KUBECTL: Final = (
    "go-template",
    "go-template-file",
    "template",
    "templatefile",
    "jsonpath",
    "jsonpath-as-json",
    "jsonpath-file",
)
_WIDTH: Final = 6
_GAP: Final = 3
"""Least width of a column with the space behind it, and that space: kubectl's."""


class DryRun(StrEnum):
    """``--dry-run``."""

    NONE = "none"
    SERVER = "server"
    CLIENT = "client"

    def told(self, operation: str) -> str:
        return operation if self is DryRun.NONE else f"{operation} ({self.value} dry run)"


DryRunOption = Annotated[
    DryRun,
    typer.Option(
        "--dry-run",
        metavar="none|server|client",
        help="client: only print what would be sent; server: the server checks it and keeps nothing.",
    ),
]


@dataclass(frozen=True, slots=True)
class Printing(FlagGroup):
    """kubectl's print flags."""

    format: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FORMAT",
            help=f"One of: {', '.join((*PLAIN, *BY_KUBECTL))}; templates as FORMAT=TEMPLATE or with --template.",
            rich_help_panel=PANEL,
            show_default=False,
            autocompletion=lambda: [*PLAIN, *BY_KUBECTL],
        ),
    ] = ""
    template: Annotated[
        str, typer.Option("--template", help="Template, or its file.", rich_help_panel=PANEL, show_default=False)
    ] = ""
    show_managed_fields: Annotated[
        bool, typer.Option("--show-managed-fields", help="Keep managedFields.", rich_help_panel=PANEL)
    ] = False
    allow_missing_template_keys: Annotated[
        bool,
        typer.Option(
            "--allow-missing-template-keys/--no-allow-missing-template-keys",
            help="Templates print nothing for what is not there.",
            rich_help_panel=PANEL,
        ),
    ] = True

    def check(self, *, wide: bool = False) -> None:
        """Ends the command where the format is none."""
        name, _, _ = self.format.partition("=")
        known = (*PLAIN, *BY_KUBECTL, *(("wide",) if wide else ()))
        if self.format and name not in known:
            output.fail(f'--output: unable to match a printer suitable for "{self.format}"; it takes {known}', 2)

    @property
    def specified(self) -> bool:
        return bool(self.format or self.template)

    def one(self, document: Document, operation: str = "") -> None:
        """Prints an object, or in words what was done with it."""
        if not self.specified:
            print(_named(document) + (f" {operation}" if operation else ""))
        else:
            self._print(document)

    def many(self, kind: str, api_version: str, documents: list[Document]) -> None:
        """Prints a list of objects in the format asked for."""
        if self.format == "name":
            for document in documents:
                print(_named(document))
            return
        items = [self._shown(each) for each in documents]
        self._print({"apiVersion": api_version, "items": items, "kind": f"{kind}List", "metadata": {}})

    def _print(self, document: Document) -> None:
        shown = self._shown(document)
        if self.format == "name":
            print(_named(document))
        elif self.format == "json":
            import json  # noqa: PLC0415 - indented as kubectl does

            print(json.dumps(shown, indent=4, sort_keys=True, ensure_ascii=False))
        elif self.format == "yaml":
            import yaml  # noqa: PLC0415

            sys.stdout.write(yaml.safe_dump(shown, allow_unicode=True, width=float("inf")))
        elif self.format == "kyaml":
            from hub.cli.kueue import kyaml  # noqa: PLC0415

            sys.stdout.write(kyaml.text(shown))
        else:
            from hub.cli.kueue import kubectl_templates  # noqa: PLC0415

            kubectl_templates.show(shown, self)

    def _shown(self, document: Document) -> Document:
        metadata = document.get("metadata") or {}
        if self.show_managed_fields or "managedFields" not in metadata:
            return document
        kept = {name: value for name, value in metadata.items() if name != "managedFields"}
        return {**document, "metadata": kept}


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows; ``namespaces``, one for each row, make a first column where they are given."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    namespaces: Sequence[str] | None = None

    def show(self, *, headings: bool = True) -> None:
        """As kubectl prints it: columns as wide as their longest cell, three spaces between."""
        lines = [[name.upper() for name in self.columns]] if headings else []
        lines += [list(row) for row in self.rows]
        if self.namespaces is not None:
            first = [*(["NAMESPACE"] if headings else []), *self.namespaces]
            lines = [[namespace, *line] for namespace, line in zip(first, lines, strict=True)]
        widths = [max(_WIDTH, _GAP + max(map(len, column))) for column in zip(*lines, strict=True)]
        for line in lines:
            padded = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)]
            print("".join([*padded, line[-1]]))


def _named(document: Document) -> str:
    group, _, _ = str(document.get("apiVersion", "")).rpartition("/")
    kind = str(document.get("kind", "")).lower()
    name: Any = document["metadata"]["name"]
    return f"{kind}.{group}/{name}" if group else f"{kind}/{name}"
