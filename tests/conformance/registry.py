"""Which module runs which file. Areas are imported when a file asks for them, so one broken area stops no other."""

from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tests.conformance.case import Document, Runner, Skip

AREAS = {
    "failure recovery": "tests.conformance.failure_recovery",
    "webhooks": "tests.conformance.webhooks",
    "cache": "tests.conformance.cache",
    "jobs": "tests.conformance.jobs",
    "multikueue": "tests.conformance.multikueue",
    "fuzz": "tests.conformance.fuzz",
    "flavorassigner": "tests.conformance.flavorassigner",
    "queue": "tests.conformance.queue",
    "scheduler": "tests.conformance.scheduler",
    "core": "tests.conformance.core",
    "preemption": "tests.conformance.preemption",
    "tas": "tests.conformance.tas",
    "provisioning": "tests.conformance.provisioning",
    "local queues": "tests.conformance.local_queues",
    "concurrent admission": "tests.conformance.concurrent_admission",
    "elastic jobs": "tests.conformance.elastic_jobs",
}
"""Folder name of a file -> the module whose ``RUNNERS`` maps patterns of file stems to functions."""


def runner_for(path: Path) -> Runner:
    """The runner by (folder, stem); where the folder's area does not know the stem, another area that does."""
    folder, stem = path.parent.name, path.stem
    areas = sorted(AREAS, key=lambda area: area != folder)
    for area in areas:
        for pattern, runner in _runners(area).items():
            if fnmatchcase(stem, pattern):
                return runner
    return _unknown(f"nothing runs {folder}/{stem} yet")


def _runners(area: str) -> dict[str, Runner]:
    if find_spec(AREAS[area]) is None:
        return {}
    return dict(import_module(AREAS[area]).RUNNERS)


def _unknown(reason: str) -> Runner:
    def skip(case: Document) -> list[str]:
        raise Skip(reason)

    return skip
