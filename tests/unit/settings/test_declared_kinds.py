"""Job kinds that users declare: refused with the path that is wrong, else as good as built in."""

import pytest
import yaml

from worker_agent import settings_source
from worker_agent.api.pod_set_info import PodSetInfo
from worker_agent.app import configuration
from worker_agent.settings import AgentSettings

GROUPS = {
    "apiVersion": "example.com/v1",
    "kind": "Foundry",
    "podSets": [
        {"name": "head", "template": "spec.head.template"},
        {"each": "spec.groups", "template": "template", "count": "replicas"},
    ],
    "succeeded": {"condition": "Done"},
    "failed": {"path": "status.phase", "values": ["Broken"]},
    "ready": {"condition": "Ready"},
    "active": {"path": "status.pods"},
    "managedByPath": "spec.managedBy",
    "statusFields": ["phase", "conditions"],
}
JOB = {
    "apiVersion": "example.com/v1",
    "kind": "Foundry",
    "metadata": {"name": "f", "namespace": "ns", "uid": "u"},
    "spec": {
        "suspend": True,
        "head": {"template": {"spec": {"containers": [{"name": "h"}]}}},
        "groups": [{"name": "gpu", "replicas": 3, "template": {"spec": {"containers": [{"name": "w"}]}}}],
    },
}


HEAD = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}


def loaded(folder, changes):
    file = folder / "settings.yaml"
    file.write_text(yaml.safe_dump({**HEAD, "integrations": {"declaredKinds": [{**GROUPS, **changes}]}}))
    return settings_source.load(AgentSettings, file)


@pytest.fixture
def declared(tmp_path):
    def make(**changes):
        return configuration.resolve(loaded(tmp_path, changes)).kinds["example.com/foundry"]

    return make


def test_pod_sets_stand_where_the_declaration_says(declared):
    kind = declared()
    assert [(spot.name, spot.count) for spot in kind.templates(JOB)] == [("head", 1), ("gpu", 3)]
    assert kind.resource.plural == "foundries"


def test_it_starts_and_is_restored(declared):
    kind = declared()
    infos = [PodSetInfo(name, 1, node_selector={"tier": "spot"}) for name in ("head", "gpu")]
    policy = configuration.resolve(AgentSettings()).jobs
    started = kind.start(JOB, infos, policy)
    assert not kind.is_suspended(started)
    assert str(started).count("spot") == 2
    stopped = kind.stop(started, [PodSetInfo("head", 1), PodSetInfo("gpu", 3)]).steps[-1].document
    assert stopped["spec"] == JOB["spec"]


def test_its_status_is_read(declared):
    kind = declared()
    done = {"conditions": [{"type": "Done", "status": "True", "message": "all well"}]}
    assert kind.finished({**JOB, "status": done}).message == "all well"
    assert kind.finished({**JOB, "status": done}).success
    assert not kind.finished({**JOB, "status": {"phase": "Broken"}}).success
    assert kind.finished({**JOB, "status": {"phase": "Working"}}) is None
    assert kind.is_active({**JOB, "status": {"pods": 2}})
    assert not kind.is_active({**JOB, "status": {"pods": 0}})


def test_only_the_named_fields_of_its_status_come_home(declared):
    kind = declared()
    home = kind.status_back({**JOB, "status": {"own": 1}}, {**JOB, "status": {"phase": "Working", "own": 2}}, None)
    assert home.status == {"own": 1, "phase": "Working"}


def test_another_word_than_a_truth_value_may_hold_it(declared):
    kind = declared(suspend={"path": "spec.state", "held": "Paused", "running": "Running"})
    assert kind.suspend(JOB)["spec"]["state"] == "Paused"
    assert not kind.is_suspended(JOB)


@pytest.mark.parametrize(
    ("changes", "path", "why"),
    [
        ({"suspend": {"path": "status.suspend"}}, ".suspend.path", "must be a path that begins with spec."),
        ({"podSets": []}, ".podSets", "at least 1 item"),
        ({"podSets": [{"name": "a", "template": "spec..t"}]}, ".podSets[0].template", "must match"),
        ({"podSets": [{"name": "a", "template": "template"}]}, ".podSets[0]", "template: 'template' must be a path"),
        ({"podSets": [{"template": "spec.t"}]}, ".podSets[0]", "exactly one of name and each"),
        ({"ready": {}}, ".ready", "exactly one of condition and path"),
        ({"succeeded": {"path": "spec.done"}}, ".succeeded.path", "must be a path that begins with status."),
        ({"apiVersion": "batch/v1", "kind": "Job"}, "", "'Job' of batch/v1 is built in"),
        ({"readiness": {}}, ".readiness", "known here: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_declaration_is_refused_with_its_path(tmp_path, changes, path, why):
    with pytest.raises(settings_source.SettingsError) as refused:
        loaded(tmp_path, changes)
    assert f"integrations.declaredKinds[0]{path}" in str(refused.value)
    assert why in str(refused.value)
