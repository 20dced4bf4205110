"""What ``replay`` prints: a story from its first chapter to its last, as text or as data, whole or of one workload."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from worker_agent.cli import structured
from worker_agent.cli.story_file import Story
from worker_agent.cli.story_text import Summary, Words
from worker_agent.cli.structured import Output
from worker_agent.engine.story import CycleTale
from worker_agent.engine.story_objects import StoryError
from worker_agent.engine.story_script import Chapter, Event


def tell(story: Story, workload: str, output: Output) -> str:
    """Prints it; an empty ``workload`` is all of them. Returns the first thing that differs from the file, or nothing.

    Raises StoryError where the story cannot be played on, OSError where nobody reads any more.
    """
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
