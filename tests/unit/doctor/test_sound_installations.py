"""Installations of every shape that are in order: ``fedhub doctor`` finds nothing wrong, and knows where they are."""

from collections.abc import Callable

import pytest

from hub.app.doctor import examination, snapshot
from hub.app.doctor.finding import Severity
from hub.app.doctor.snapshot import ENDPOINT_SLICES, Role
from hub.cli import doctor_command
from tests.unit.doctor.installation import NAMESPACE, NOW, Installation
from worker_agent.aggregated.registration import SERVICES
from worker_agent.api import resource_type as kinds
from worker_agent.kube.transport import Transport


@pytest.mark.parametrize("role", list(Role))
def test_a_healthy_one_has_nothing_wrong(role: Role) -> None:
    assert Installation(role).findings() == []


def renamed(installation: Installation) -> None:
    """As Helm installs a release of any name."""
    ours = {"app.kubernetes.io/name": "prod-engine", "app.kubernetes.io/part-of": "fedhub"}
    for resource in (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS, SERVICES, kinds.DEPLOYMENTS):
        for each in installation.objects[resource]:
            name = each["metadata"]["name"].replace("fedhub-agent", "prod-engine").replace("fedhub-hub", "prod-engine")
            each["metadata"] |= {"name": name, "labels": ours}
    for resource in (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS):
        for each in installation.objects[resource]:
            each["webhooks"][0]["clientConfig"]["service"]["name"] = "prod-engine-webhook"
    for each in installation.objects[ENDPOINT_SLICES]:
        each["metadata"]["labels"]["kubernetes.io/service-name"] = "prod-engine-webhook"
    command = "fedhub" if installation.role is Role.HUB else "fedhub-agent"
    template = {
        "spec": {"serviceAccountName": "prod-engine", "containers": [{"name": "c", "command": [command, "run"]}]}
    }
    installation.objects[kinds.DEPLOYMENTS][0]["spec"]["template"] = template


@pytest.mark.parametrize("role", list(Role))
def test_a_release_of_another_name_has_nothing_wrong(role: Role) -> None:
    installation = Installation(role)
    renamed(installation)
    assert installation.findings() == []


def test_a_release_of_another_name_is_called_by_it() -> None:
    installation = Installation()
    renamed(installation)
    installation.objects[kinds.DEPLOYMENTS][0]["status"] = {}
    (found,) = installation.findings()
    assert found.about == f"deployment/{NAMESPACE}/prod-engine"


def outside(installation: Installation) -> None:
    """As a program that runs beside its cluster and elects no leader sets it up."""
    for resource in (kinds.DEPLOYMENTS, kinds.LEASES):
        del installation.objects[resource]
    for resource in (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS):
        client = installation.objects[resource][0]["webhooks"][0]["clientConfig"]
        client.pop("service", None)
        client["url"] = "https://127.0.0.1:9443/x"


@pytest.mark.parametrize("role", list(Role))
def test_a_program_outside_of_its_cluster_that_elects_no_leader_is_no_error(role: Role) -> None:
    installation = Installation(role)
    outside(installation)
    (found,) = installation.findings()
    assert (found.severity, "runs outside of this cluster" in found.problem) == (Severity.NOTE, True)


async def test_a_worker_that_only_ones_own_context_reaches_is_not_looked_at() -> None:
    async def reach() -> Transport:
        raise examination.Unasked("its agent dials the hub")

    (result,) = await examination._worker(None, "oregon", NAMESPACE, reach)  # type: ignore[arg-type]
    assert result.ok
    assert result.findings[0].problem == "not looked at: its agent dials the hub"
    assert doctor_command._summary([result]) == "nothing is wrong on 1 cluster, but 1 check could not be made"


@pytest.mark.parametrize(
    ("change", "namespace"),
    [(lambda installation: None, NAMESPACE), (renamed, NAMESPACE), (outside, "kueue-system")],
    ids=["as in our manifests", "another release", "outside of the cluster"],
)
def test_the_namespace_is_where_the_program_is(change: Callable[[Installation], None], namespace: str) -> None:
    installation = Installation()
    change(installation)
    read = snapshot.Snapshot("oregon", Role.AGENT, "", NOW, objects=installation.objects)
    assert snapshot._installed_in(read) == namespace
