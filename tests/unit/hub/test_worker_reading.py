"""Whose settings say nothing of the hub's namespace finds the workers' credentials where the hub is installed."""

from types import SimpleNamespace

import msgspec
import pytest

from hub.app.configuration import FederationConfiguration
from hub.app.worker_reading import Asker, NeedsOwnContext, Reading
from hub.clusters.credentials import CredentialError
from tests.unit.doctor.installation import KUBECONFIG, kubeconfig_secret
from worker_agent.api import resource_type as kinds
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.engine.policy import Policy
from worker_agent.kube.errors import Forbidden, NotFound

CLUSTER = msgspec.convert(
    {"metadata": {"name": "oregon"}, "spec": {"clusterSource": {"kubeConfig": {"location": "oregon"}}}},
    MultiKueueCluster,
)
LABELS = {"app.kubernetes.io/part-of": "fedhub"}
HUB = {
    "metadata": {"name": "my-release", "namespace": "batch", "labels": LABELS},
    "spec": {"template": {"spec": {"containers": [{"name": "hub", "command": ["fedhub", "run"]}]}}},
}


class Manager:
    """The two requests of it that matter."""

    def __init__(self, namespace, deployments):
        self.namespace = namespace
        self.deployments = deployments

    async def get(self, resource, name, namespace):
        assert resource is kinds.SECRETS
        if namespace != self.namespace:
            raise NotFound(404, "NotFound", f"secrets {name} not found")
        return msgspec.json.encode(kubeconfig_secret(KUBECONFIG))

    async def list(self, resource, label_selector=""):
        assert (resource, label_selector) == (kinds.DEPLOYMENTS, "app.kubernetes.io/part-of=fedhub")
        if self.deployments is None:
            raise Forbidden(403, "Forbidden", "deployments are forbidden")
        return SimpleNamespace(items=[msgspec.json.encode(each) for each in self.deployments])


async def reached(namespace, deployments):
    """The transport that the credential leads to: here, the credential itself."""
    asker = Asker(FederationConfiguration(), Policy(), lambda credential: credential)
    return await Reading(Manager(namespace, deployments), {"oregon": CLUSTER}, asker).transport("oregon")


@pytest.mark.parametrize(
    ("namespace", "deployments"),
    [(FederationConfiguration().namespace, None), ("batch", [HUB])],
    ids=["of the settings", "of the installation"],
)
async def test_the_secret_is_found(namespace, deployments):
    assert await reached(namespace, deployments)


async def test_where_there_is_none_it_is_said():
    with pytest.raises(CredentialError, match="oregon"):
        await reached("elsewhere", [HUB])


async def test_who_may_not_see_where_the_hub_is_gets_a_remedy():
    with pytest.raises(NeedsOwnContext, match="there is no Secret kueue-system/oregon: give the hub's --config"):
        await reached("batch", None)
