"""``--worker CLUSTER=CONTEXT`` of the commands that read workers."""

from types import SimpleNamespace

import msgspec
import pytest
import typer

from hub.cli import worker_contexts
from worker_agent.kube.errors import Forbidden


class Manager:
    """Knows berlin and oregon; refuses to say so without ``rights``."""

    def __init__(self, rights=True):
        self.rights = rights

    async def list(self, resource):
        if not self.rights:
            raise Forbidden(403, "Forbidden", "no")
        return SimpleNamespace(
            items=[msgspec.json.encode({"metadata": {"name": name}}) for name in ("oregon", "berlin")]
        )


async def test_a_cluster_that_the_manager_does_not_know_is_refused_by_name(capsys):
    with pytest.raises(typer.Exit) as ended:
        await worker_contexts.refuse_unknown(Manager(), ["berlin", "tokio"])
    assert ended.value.exit_code == 2
    told = "--worker tokio: there is no such MultiKueueCluster; there are: berlin, oregon"
    assert told in " ".join(capsys.readouterr().err.split())


async def test_a_cluster_that_is_known_goes_on():
    await worker_contexts.refuse_unknown(Manager(), ["berlin"])


async def test_who_may_not_list_clusters_goes_on():
    await worker_contexts.refuse_unknown(Manager(rights=False), ["tokio"])
