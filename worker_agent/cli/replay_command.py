"""``fedhub-agent replay``: a recorded scenario through the production engine, told cycle by cycle."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from worker_agent.cli.structured import Output

File = Annotated[Path, typer.Argument(help="A scenario (JSON or YAML), a file of them (JSON Lines), or a recording.")]
Name = Annotated[str, typer.Option(help="Which scenario of the file, by its name.")]
Line = Annotated[int, typer.Option(min=0, help="Which scenario of the file, by its line, from 1.")]
Followed = Annotated[str, typer.Option("--workload", help="Tell only what concerns this workload: NAMESPACE/NAME.")]
Format = Annotated[Output, typer.Option("--output", "-o", help="How the story is printed.")]


def replay(file: File, name: Name = "", line: Line = 0, workload: Followed = "", output: Format = Output.TEXT) -> None:
    """Play a scenario, or what an agent recorded, through the engine, and tell who got room, who did not, and why.

    Exits with 1 where the outcome differs from the one in the file, with 2 for a file that cannot be played.

    Examples:

    fedhub-agent replay tests/scenarios/urgent-job-takes-over.yaml

    fedhub-agent run --record today.jsonl, and later: fedhub-agent replay today.jsonl --workload team-a/train-7

    fedhub-agent replay scenarios.jsonl --line 3 -o json | jq '.[] | select(.kind == "cycle").heads'
    """
    from worker_agent.cli import story_file, story_output  # noqa: PLC0415 - imports that take long wait until needed
    from worker_agent.engine.story_objects import StoryError  # noqa: PLC0415

    try:
        story = story_file.read(file, name, line)
        differing = story_output.tell(story, workload, output)
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
