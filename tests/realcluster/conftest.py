"""Two API servers for the whole session, a webhook, and the table that is printed at the end."""

import os
import resource
import time
from collections.abc import Iterator

import pytest

from tests import cluster_choice
from tests.cluster_choice import EMBEDDED, NEWEST, OLDEST
from tests.realcluster import kueue, shares, table
from tests.realcluster.clusters import Clusters, Server
from tests.realcluster.differential import definitions
from tests.realcluster.differential.player import Player
from tests.realcluster.differential.webhook import Webhook
from tests.realcluster.kueue import Kueue
from tests.realcluster.suite_runs import SuiteRuns

LONGEST_FIRST = (NEWEST, OLDEST, EMBEDDED)


WAITING = ("test_installation.py", "test_suites.py", "test_rights.py")
"""Files that wait for runs which others need not wait for."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where the suites run, the files that start clusters of their own do so beside them, in runs of their own."""
    if not any(item.path.name in WAITING for item in items):
        return
    apart = [item for item in items if item.path in {shares.TESTS / file for file in shares.APART}]
    if apart:
        config.hook.pytest_deselected(items=apart)
    items[:] = sorted((item for item in items if item not in apart), key=lambda item: item.path.name in WAITING)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """The embedded server and a real one, with the definitions that the scripts use."""
    with Clusters(tmp_path_factory.mktemp("clusters")) as clusters:
        embedded, real = clusters.start(EMBEDDED, NEWEST, crds=definitions.documents())
        yield embedded, real


@pytest.fixture(scope="session")
def players(servers: tuple[Server, Server]) -> Iterator[tuple[Player, Player]]:
    """A connection to each."""
    with Webhook() as webhook:
        embedded, real = (Player(server, webhook.variables) for server in servers)
        yield embedded, real
        embedded.close()
        real.close()


@pytest.fixture(scope="session", autouse=True)
def suite_runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SuiteRuns]:
    """The suites that were asked for, running from the start: they take the longest."""
    wanted: dict[str, list[str]] = {sort: [] for sort in LONGEST_FIRST}
    for item in request.session.items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if "suite" in parameters:
            wanted[parameters["sort"]].append(parameters["suite"])
    runs = SuiteRuns({sort: suites for sort, suites in wanted.items() if suites}, tmp_path_factory.mktemp("suites"))
    yield runs
    runs.close()
    for sort, suites in wanted.items():
        if suites:
            table.spent(sort, runs.cpu_seconds(sort))


@pytest.fixture(scope="session")
def peer() -> Iterator[Kueue]:
    """Real Kueue, built once; control planes find their programs while it is in use."""
    if not os.environ.get("FEDHUB_TEST_KUEUE"):
        pytest.skip("FEDHUB_TEST_KUEUE=1 asks for real Kueue beside ours")
    reason = kueue.may_run()
    if reason:
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cluster_choice.ASSETS, str(cluster_choice.built(NEWEST)))
        yield kueue.build()


_STARTED = time.monotonic()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = table.lines()
    for line in found:
        terminalreporter.write_line(line)
    if found:
        load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
        took = time.monotonic() - _STARTED
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        spent = sum(each.ru_utime + each.ru_stime for each in used)
        terminalreporter.write_line(
            f"Took {took:.0f} s and {spent:.0f} CPU seconds on {os.cpu_count()} cores, with load averages {load}"
        )
