"""What a job's pods need in their namespace, read from their templates."""

from hub.engine import needs


def of_spec(**spec):
    workload = {"spec": {"podSets": [{"name": "main", "template": {"spec": spec}}]}}
    return [(need.kind, need.name) for need in needs.of_workload(workload)]


def test_a_plain_pod_needs_nothing():
    assert of_spec(containers=[{"name": "c", "env": [{"name": "A", "value": "1"}]}], serviceAccountName="default") == []


def test_volumes_name_claims_secrets_and_config_maps():
    volumes = [
        {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "b", "secret": {"secretName": "token"}},
        {"name": "c", "configMap": {"name": "settings"}},
        {"name": "d", "projected": {"sources": [{"secret": {"name": "more"}}, {"downwardAPI": {}}]}},
    ]
    assert of_spec(volumes=volumes) == [
        ("ConfigMap", "settings"),
        ("PersistentVolumeClaim", "data"),
        ("Secret", "more"),
        ("Secret", "token"),
    ]


def test_the_environment_names_secrets_and_config_maps():
    key = {"name": "password", "valueFrom": {"secretKeyRef": {"name": "login", "key": "p"}}}
    containers = [{"env": [key], "envFrom": [{"configMapRef": {"name": "settings"}}]}]
    assert of_spec(initContainers=containers) == [("ConfigMap", "settings"), ("Secret", "login")]


def test_what_is_optional_is_no_need():
    assert of_spec(volumes=[{"name": "a", "secret": {"secretName": "maybe", "optional": True}}]) == []


def test_an_account_of_its_own_is_a_need():
    assert of_spec(serviceAccountName="trainer") == [("ServiceAccount", "trainer")]


def test_a_need_of_several_pod_sets_is_asked_for_once():
    pod_set = {"template": {"spec": {"serviceAccountName": "trainer"}}}
    assert len(needs.of_workload({"spec": {"podSets": [pod_set, pod_set]}})) == 1


def test_the_message_names_all_that_is_missing():
    workload = {"spec": {"podSets": [{"template": {"spec": {"serviceAccountName": "trainer"}}}]}}
    assert needs.message("ns", needs.of_workload(workload)) == 'namespace ns there has no ServiceAccount "trainer"'
