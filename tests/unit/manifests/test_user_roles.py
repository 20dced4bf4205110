"""Who may do what with queues and jobs: the roles that Kueue ships, collected as it collects them."""

from pathlib import Path

import pytest
import yaml

ROLES = {
    role["metadata"]["name"]: role
    for role in yaml.safe_load_all(
        (Path(__file__).parents[3] / "manifests" / "base" / "cluster" / "user-roles.yaml").read_text()
    )
}
ADMIN, USER = "rbac.kueue.x-k8s.io/batch-admin", "rbac.kueue.x-k8s.io/batch-user"


def collected(label: str) -> set[str]:
    """Roles without their prefix and suffix that carry the label."""
    return {
        name.removeprefix("kueue-").removesuffix("-role")
        for name, role in ROLES.items()
        if (role["metadata"].get("labels") or {}).get(label) == "true"
    }


def test_administrators_may_do_everything():
    single = {name for name in ROLES if "aggregationRule" not in ROLES[name]}
    assert {f"kueue-{name}-role" for name in collected(ADMIN)} == single


@pytest.mark.parametrize(
    "name", ["job-editor", "rayjob-editor", "raycluster-editor", "job-viewer", "pytorchjob-viewer"]
)
def test_users_have_jobs(name):
    assert name in collected(USER)


def test_of_queues_users_see_their_own_alone():
    queues = {name for name in collected(USER) if "job" not in name and name.endswith("viewer")}
    assert {"localqueue-viewer", "workload-viewer", "pending-workloads-lq-viewer"} <= queues
    assert not {"clusterqueue-viewer", "raycluster-viewer", "rayservice-viewer", "pending-workloads-cq-viewer"} & queues


@pytest.mark.parametrize("name", ["clusterqueue-editor", "workload-editor", "localqueue-editor", "cohort-editor"])
def test_users_change_no_queues(name):
    assert name not in collected(USER)


def test_kubernetes_own_roles_see_workloads():
    for role in ("view", "edit", "admin"):
        found = collected(f"rbac.authorization.k8s.io/aggregate-to-{role}")
        assert {"workload-viewer", "localqueue-viewer", "job-viewer"} <= found
    assert "clusterqueue-viewer" in collected("rbac.authorization.k8s.io/aggregate-to-admin")


@pytest.mark.parametrize(("name", "label"), [("kueue-batch-admin-role", ADMIN), ("kueue-batch-user-role", USER)])
def test_two_roles_collect(name, label):
    assert ROLES[name]["aggregationRule"] == {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}
    assert "rules" not in ROLES[name]


def test_viewers_only_read():
    verbs = {
        verb for name, role in ROLES.items() if "viewer" in name for rule in role["rules"] for verb in rule["verbs"]
    }
    assert verbs == {"get", "list", "watch"}
