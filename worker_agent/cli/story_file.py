"""Files that ``replay`` plays: which of the three forms one has, and what is said of a file that has none."""

from pathlib import Path
from typing import Any, Final

import msgspec

from worker_agent.engine.story_objects import StoryError
from worker_agent.engine.story_recording import Recording
from worker_agent.engine.story_script import Script
from worker_agent.engine.story_timeline import Timeline

Story = Script | Recording | Timeline

NONE: Final = (
    "is neither a recording nor a scenario ({why}). A recording is what an agent writes while it runs: fedhub-agent run"
    " --record FILE. A scenario is YAML with cluster and timeline (FILE.yaml), or JSON with objects and steps: see"
    " tests/scenarios"
)


def read(file: Path, name: str, line: int) -> Story:
    """The scenario that is meant. Raises StoryError, OSError."""
    if file.suffix in (".yaml", ".yml"):
        return Timeline(_one_with(("cluster", "timeline"), _yaml(file.read_bytes())))
    lines = file.read_bytes().splitlines()
    first = _document(lines[0], 1) if lines and _whole(lines[0]) else None
    if first is not None and "recording" in first:
        return Recording(first, ((number, _document(raw, number)) for number, raw in enumerate(lines[1:], 2) if raw))
    if first is None:
        return Script(_one_with(("objects", "steps"), _spread(b"\n".join(lines))))
    return Script(_one_with(("objects", "steps"), _chosen([raw for raw in lines if raw.strip()], name, line)))


def _one_with(fields: tuple[str, str], document: dict[str, Any]) -> dict[str, Any]:
    """A document that has one of its form's fields is meant to be of that form; its errors are told field by field."""
    if not any(field in document for field in fields):
        raise StoryError(NONE.format(why=f"it has neither {' nor '.join(fields)}"))
    return document


def _spread(raw: bytes) -> dict[str, Any]:
    """One document over many lines."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoryError(NONE.format(why=f"it is no JSON: {error}")) from None
    if not isinstance(found, dict):
        raise StoryError(NONE.format(why="it is no object"))
    return found


def _yaml(raw: bytes) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - imports that take long wait until they are needed

    try:
        found = yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise StoryError(f"no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise StoryError(NONE.format(why="it is no mapping"))
    return found


def _chosen(lines: list[bytes], name: str, line: int) -> dict[str, Any]:
    if line:
        if line > len(lines):
            raise StoryError(f"--line: {line}: the file has {len(lines)} line(s)")
        return _document(lines[line - 1], line)
    if name:
        for number, raw in enumerate(lines, 1):
            if name.encode() in raw and (found := _document(raw, number)).get("name") == name:
                return found
        raise StoryError(f"--name: {name!r}: no scenario of this name among {len(lines)}")
    if len(lines) > 1:
        raise StoryError(f"holds {len(lines)} scenarios: choose one with --name or --line")
    return _document(lines[0], 1)


def _whole(raw: bytes) -> bool:
    """Whether the first line is a document of its own, not the beginning of one that is spread over lines."""
    try:
        return isinstance(msgspec.json.decode(raw), dict)
    except msgspec.DecodeError:
        return False


def _document(raw: bytes, number: int) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoryError(f"line {number}: {error}") from None
    if not isinstance(found, dict):
        raise StoryError(f"line {number}: must be a JSON object")
    return found
