"""``fedhub-agent replay``: a recorded scenario through the production engine, told cycle by cycle."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from worker_agent.cli import structured
from worker_agent.cli.story_text import Summary, Words
from worker_agent.cli.structured import Output
from worker_agent.engine.story import CycleTale
from worker_agent.engine.story_objects import StoryError
from worker_agent.engine.story_recording import Recording
from worker_agent.engine.story_script import Chapter, Event, Script
from worker_agent.engine.story_timeline import Timeline

File = Annotated[Path, typer.Argument(help="A scenario (JSON or YAML), a file of them (JSON Lines), or a recording.")]
Name = Annotated[str, typer.Option(help="Which scenario of the file, by its name.")]
Line = Annotated[int, typer.Option(min=0, help="Which scenario of the file, by its line, from 1.")]
Followed = Annotated[str, typer.Option("--workload", help="Tell only what concerns this workload: NAMESPACE/NAME.")]
Story = Script | Recording | Timeline
Format = Annotated[Output, typer.Option("--output", "-o", help="How the story is printed.")]


def replay(file: File, name: Name = "", line: Line = 0, workload: Followed = "", output: Format = Output.TEXT) -> None:
    """Play a scenario, or what an agent recorded, through the engine, and tell who got room, who did not, and why.

    Exits with 1 where the outcome differs from the one in the file, with 2 for a file that cannot be played.

    Examples:

    fedhub-agent replay tests/scenarios/urgent-job-takes-over.yaml

    fedhub-agent run --record today.jsonl, and later: fedhub-agent replay today.jsonl --workload team-a/train-7

    fedhub-agent replay scenarios.jsonl --line 3 -o json | jq '.[] | select(.kind == "cycle").heads'
    """
    try:
        story = _open(file, name, line)
        differing = _tell(story, workload, output)
    except BrokenPipeError:
        # Who reads has seen enough; without this the interpreter would complain on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (StoryError, OSError) as error:
        print(f"error: {file}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        raise typer.Exit(2) from None
    if differing:
        print(f"{differing} differs from the file", file=sys.stderr)
        raise typer.Exit(1)


def _tell(story: Story, workload: str, output: Output) -> str:
    chapters: Iterable[Chapter] = story.play()
    if workload:
        chapters = _concerning(workload, chapters)
    if output.for_people:
        for text in _lines(chapters, Words(full=output is Output.WIDE), summing_up=not workload):
            print(text)
    else:
        structured.write([_data(chapter) for chapter in chapters], output)
    return story.differing


def _lines(chapters: Iterable[Chapter], words: Words, *, summing_up: bool) -> Iterator[str]:
    summary = Summary()
    for chapter in chapters:
        if isinstance(chapter, CycleTale):
            summary.add(chapter)
            yield from words.cycle(chapter)
        else:
            yield from words.event(chapter)
    if summing_up and summary.line():
        yield summary.line()


def _data(chapter: Chapter) -> dict[str, Any]:
    kind = "cycle" if isinstance(chapter, CycleTale) else "event"
    return {"kind": kind, **msgspec.to_builtins(chapter)}


def _concerning(workload: str, chapters: Iterable[Chapter]) -> Iterator[Chapter]:
    """One workload's life: its events, its turns, when others take its room, and its place whenever that changes."""
    if "/" not in workload:
        raise StoryError(f"--workload: {workload!r}: must be NAMESPACE/NAME")
    place = ""
    met = False
    for chapter in chapters:
        if isinstance(chapter, Event):
            met |= workload in chapter.workloads
            if workload in chapter.workloads or chapter.differences:
                yield chapter
            continue
        trimmed = _trimmed(workload, chapter)
        now = _place(workload, chapter)
        if trimmed.heads or trimmed.differences:
            yield trimmed
        elif now and now != place:
            yield Event(at=chapter.at, text=f"{workload} {now} after cycle {chapter.cycle}", workloads=(workload,))
        met |= bool(trimmed.heads or now)
        place = now
    if not met:
        raise StoryError(f"--workload: {workload!r}: no workload of this name in the story")


def _trimmed(workload: str, tale: CycleTale) -> CycleTale:
    heads = tuple(head for head in tale.heads if workload in (head.workload, *(v.workload for v in head.victims)))
    queues = {head.cluster_queue for head in heads if head.workload == workload}
    return msgspec.structs.replace(
        tale,
        heads=heads,
        queue={name: row for name, row in tale.queue.items() if name in queues},
        inadmissible={name: row for name, row in tale.inadmissible.items() if name in queues},
        usage={name: used for name, used in tale.usage.items() if name in queues},
    )


def _place(workload: str, tale: CycleTale) -> str:
    for name, row in tale.queue.items():
        if workload in row:
            return f"is number {row.index(workload) + 1} of {len(row)} in the queue of {name}"
    for name, row in tale.inadmissible.items():
        if workload in row:
            return f"is set aside in {name}"
    return ""


def _open(file: Path, name: str, line: int) -> Story:
    """The scenario that is meant. Raises StoryError, OSError."""
    if file.suffix in (".yaml", ".yml"):
        return Timeline(_yaml(file.read_bytes()))
    lines = file.read_bytes().splitlines()
    first = _document(lines[0], 1) if lines and _whole(lines[0]) else None
    if first is not None and "recording" in first:
        return Recording(first, ((number, _document(raw, number)) for number, raw in enumerate(lines[1:], 2) if raw))
    if first is None:
        return Script(_document(b"\n".join(lines), 1))
    return Script(_chosen([raw for raw in lines if raw.strip()], name, line))


def _yaml(raw: bytes) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - imports that take long wait until they are needed

    try:
        found = yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise StoryError(f"no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise StoryError("must be a mapping with cluster and timeline")
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
