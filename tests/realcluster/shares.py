"""How the suites are dealt out to runs of pytest: few enough to be started cheaply, short enough to end together.

Suites of one run share its interpreter and the clusters that it lends from test to test. Long suites are dealt out to
several runs, by file: side by side, embedded servers take them about as long as real control planes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]

TOGETHER = (
    (("integration/local",), 3),
    (("integration/federation", "integration/kueue"), 1),
    (("integration/agent", "integration/tunnel"), 1),
)
"""Suites that share runs, and how many runs they take."""

HERE = ("test_installation.py", "test_kubectl.py", "test_rights.py", "test_suites.py")
"""Files of this tier that share the servers of its own run, or wait for the others."""
APART = tuple(
    f"realcluster/{path.name}" for path in sorted((TESTS / "realcluster").glob("test_*.py")) if path.name not in HERE
)
"""The other files start clusters of their own, each in a run of its own beside the suites."""

SECONDS: Mapping[str, float] = {
    "integration/federation/test_dispatch.py": 60,
    "integration/federation/test_outages.py": 45,
    "integration/federation/test_provisioning.py": 45,
    "integration/local/test_demo.py": 42,
    "integration/local/test_job_kinds.py": 1,
    "integration/local/test_job_kinds_dispatched.py": 1,
    "integration/local/test_job_kinds_evicted.py": 1,
    "integration/local/test_job_kinds_topology.py": 1,
    "integration/local/test_mini_cluster.py": 1,
    "integration/local/both_sources/test_dialling_agent.py": 80,
    "integration/local/both_sources/test_following_jobs.py": 80,
    "integration/local/both_sources/test_secrets_in_logs.py": 30,
    "integration/local/two_workers/test_provisioning.py": 20,
    "integration/local/two_workers/test_provisioning_race.py": 25,
    "integration/local/two_workers/test_quick_start.py": 40,
    "integration/local/two_workers/test_topology.py": 15,
    "integration/tunnel/test_membership.py": 100,
    "integration/tunnel/test_outages.py": 55,
    "integration/tunnel/test_rotation.py": 30,
    "integration/tunnel/test_stolen_hub.py": 35,
    "realcluster/test_charts.py": 60,
    "realcluster/test_image.py": 60,
    "realcluster/test_install.py": 180,
    "realcluster/test_take_over.py": 90,
}
"""What files take that take long, on real control planes while everything runs: only the balance between runs depends
on it. Those of a second are left out of the table, for no sort of cluster but the embedded one serves them."""
OTHERWISE = 8.0


@dataclass(frozen=True, slots=True)
class Share:
    """What one run of pytest is given: ``files`` below ``tests``, of these ``suites``."""

    sort: str
    suites: Sequence[str]
    files: Sequence[str]
    seconds: float

    @property
    def apart(self) -> bool:
        """Chooses its clusters itself, and what they begin with."""
        return self.files[0] in APART


def dealt(wanted: Mapping[str, Sequence[str]]) -> list[Share]:
    """The shares of ``wanted`` suites by sort, the longest first: so the last ones to start are short."""
    found = [share for sort, suites in wanted.items() for share in _of_sort(sort, suites)]
    return sorted(found, key=lambda share: -share.seconds)


def _of_sort(sort: str, suites: Sequence[str]) -> Iterator[Share]:
    for together, runs in (*TOGETHER, *(((file,), 1) for file in APART)):
        chosen = [suite for suite in together if suite in suites]
        files = [file for suite in chosen for file in _files(suite)]
        for part in _balanced(files, runs):
            kept = [suite for suite in chosen if any(is_of(file, suite) for file in part)]
            yield Share(sort, kept, part, _seconds(part))


def is_of(file: str, suite: str) -> bool:
    """Whether a file of tests belongs to the suite, which is a folder or that very file."""
    return file == suite or file.startswith(f"{suite}/")


def _files(suite: str) -> list[str]:
    if suite in APART:
        return [suite]
    return sorted(str(path.relative_to(TESTS)) for path in (TESTS / suite).rglob("test_*.py"))


def _balanced(files: Iterable[str], parts: int) -> list[list[str]]:
    """The longest go first, each to the part that has least; within a part the order is that of their names."""
    found: list[list[str]] = [[] for _ in range(parts)]
    for bound in sorted(_bound(files), key=lambda bound: (-_seconds(bound), bound)):
        min(found, key=_seconds).extend(bound)
    return [sorted(part) for part in found if part]


def _bound(files: Iterable[str]) -> list[list[str]]:
    """Files in a folder of their own below a suite's use one federation, so they stay together."""
    found: dict[str, list[str]] = {}
    for file in files:
        folder = file.rpartition("/")[0]
        found.setdefault(folder if folder.count("/") > 1 else file, []).append(file)
    return list(found.values())


def _seconds(files: Iterable[str]) -> float:
    return sum(SECONDS.get(file, OTHERWISE) for file in files)
