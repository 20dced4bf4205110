"""The jobs of the demo: the manifests in ``jobs/``, taken in turn, told apart by a label of the run."""

import copy
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Final

from worker_agent.api.document import Document

RUN_LABEL: Final = "fedhub.dev/demo-run"

_SHARES: Final = {"tune": 3, "train": 3, "wide": 1, "fat": 1, "finetune": 1, "eval": 2}
"""How often a template comes in one turn; one that is not named here comes once."""


def make(templates: list[Document], count: int, run: str) -> list[Document]:
    """``count`` Jobs. Names are ``<template>-<number>-<run>``, so that runs do not meet. No templates: ValueError."""
    if not templates:
        raise ValueError("the folder of jobs holds no manifest")
    return [_job(template, number, run) for number, template in enumerate(islice(_turns(templates), count), start=1)]


def _turns(templates: list[Document]) -> Iterator[Document]:
    rounds = max(_SHARES.get(_name(template), 1) for template in templates)
    in_turn = [template for turn in range(rounds) for template in templates if _SHARES.get(_name(template), 1) > turn]
    return cycle(in_turn)


def _job(template: Document, number: int, run: str) -> Document:
    job = copy.deepcopy(template)
    metadata = job["metadata"]
    metadata["name"] = f"{metadata['name']}-{number:03d}-{run}"
    metadata.setdefault("labels", {})[RUN_LABEL] = run
    return job


def _name(template: Document) -> str:
    return str(template["metadata"]["name"])
