"""Scenarios and commands for the tests of replay and explain."""

import json
from pathlib import Path

from typer.testing import CliRunner

from tests import builders
from worker_agent.cli import app

START = "2026-01-01T12:00:00Z"


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def scenario(*objects, steps, **fields):
    """A scenario of the fuzz format on a queue ``q`` of 4 cpu."""
    return {
        "name": "s",
        "featureGates": {},
        "startTime": START,
        "objects": [*builders.single_queue(), *objects],
        "steps": list(steps),
        **fields,
    }


def cycles(count):
    return [{"op": "cycle"}] * count


def write(folder: Path, *documents, name="scenarios.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path
