"""Two API servers for the whole session, a webhook, and the table that is printed at the end."""

from collections.abc import Iterator

import pytest

from tests.cluster_choice import EMBEDDED, NEWEST
from tests.realcluster import table
from tests.realcluster.clusters import Clusters, Server
from tests.realcluster.differential import definitions
from tests.realcluster.differential.player import Player
from tests.realcluster.differential.webhook import Webhook


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in table.lines():
        terminalreporter.write_line(line)
