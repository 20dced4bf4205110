"""Roles follow from what the code says it asks for, and say no more."""

from pathlib import Path

from hub.app import roles
from worker_agent.api import need
from worker_agent.api.resource_type import JOBS, LEASES, SECRETS
from worker_agent.jobs import KINDS

SOURCES = Path(roles.__file__).parents[2]


def rules_of(program, kind="ClusterRole"):
    return next(document["rules"] for document in roles.documents(program) if document["kind"] == kind)


def verbs_of(program, group, resource, kind="ClusterRole"):
    return {
        verb
        for rule in rules_of(program, kind)
        if group in rule["apiGroups"] and resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_every_served_kind_is_followed_and_patched_by_both():
    for kind in KINDS.values():
        for program in (roles.AGENT, roles.HUB):
            verbs = verbs_of(program, kind.resource.group, kind.resource.plural)
            assert {"list", "watch", "patch"} <= verbs, (program, kind.framework)


def test_an_agent_creates_no_jobs():
    assert "create" not in verbs_of(roles.AGENT, "batch", "jobs")


def test_secrets_are_read_in_the_own_namespace_alone():
    for program in roles.PROGRAMS:
        assert verbs_of(program, "", "secrets") == set()
    assert "get" in verbs_of(roles.HUB, "", "secrets", "Role")


def test_nothing_is_asked_for_with_a_wildcard_or_with_the_right_to_give_rights():
    for program in roles.PROGRAMS:
        for document in roles.documents(program):
            for rule in document["rules"]:
                assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
                assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])
                assert "rbac.authorization.k8s.io" not in rule["apiGroups"]


def test_only_the_programs_own_webhooks_are_changed():
    for program in (roles.AGENT, roles.HUB):
        named = [
            r for r in rules_of(program) if "admissionregistration.k8s.io" in r["apiGroups"] and "update" in r["verbs"]
        ]
        assert named
        assert all(name.startswith(f"{program}-") for rule in named for name in rule["resourceNames"])


def test_what_only_a_program_outside_its_cluster_does_is_in_no_manifest():
    assert "create" not in verbs_of(roles.AGENT, "", "namespaces")
    outside = [r for d in roles.outside_documents(roles.AGENT, "own") for r in d["rules"]]
    assert any("namespaces" in rule["resources"] and "create" in rule["verbs"] for rule in outside)


def test_verbs_of_one_resource_are_joined_and_reasons_only_kept_where_all_have_one():
    needs = [need.of(JOBS, "get", unseen="rare"), need.of(JOBS, "patch"), need.of(SECRETS, "get", unseen="rare")]
    rules = {rule.resource: rule for rule in roles.rules(needs)}
    assert rules["jobs"].verbs == {"get", "patch"}
    assert (rules["jobs"].unseen, rules["secrets"].unseen) == ("", "rare")


def test_every_module_that_declares_needs_is_found():
    declaring = {
        str(path.relative_to(SOURCES).with_suffix("")).replace("/", ".")
        for package in ("worker_agent", "hub")
        for path in (SOURCES / package).rglob("*.py")
        if b"\nNEEDS" in path.read_bytes()
    }
    assert declaring == {*roles.modules("worker_agent"), *roles.modules("hub")}
    assert len(declaring) > 30


def test_own_leases_stay_in_the_own_namespace():
    assert verbs_of(roles.AGENT, LEASES.group, LEASES.plural, "Role") >= {"get", "update"}
    assert verbs_of(roles.AGENT, LEASES.group, LEASES.plural) == set()
