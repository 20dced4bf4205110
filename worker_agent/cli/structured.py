"""Results as data: what ``--output`` takes beside the text for people."""

import sys
from enum import StrEnum
from typing import Any


class Output(StrEnum):
    TEXT = "text"
    WIDE = "wide"
    """The text with nothing left out."""
    JSON = "json"
    YAML = "yaml"

    @property
    def for_people(self) -> bool:
        return self in (Output.TEXT, Output.WIDE)


def write(value: Any, output: Output) -> None:
    """``value`` (plain data or Structs) on standard output, as JSON or YAML."""
    import msgspec  # noqa: PLC0415 - imports that take long wait until they are needed

    if output is Output.JSON:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")
        return
    import yaml  # noqa: PLC0415

    sys.stdout.write(yaml.safe_dump(msgspec.to_builtins(value), sort_keys=False, allow_unicode=True, width=120))
