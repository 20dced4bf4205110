import json
import time

from tests.integration.kubectl.conftest import Kubectl
from tests.integration.kubectl.manifests import JOB


def test_get_prints_the_columns(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    lines = kubectl("get", "jobs").splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"]
    assert lines[1].split()[:2] == ["train", "Running"]


def test_get_wide(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    lines = kubectl("get", "job", "train", "-o", "wide").splitlines()
    assert lines[0].split()[-3:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert "busybox" in lines[1]


def test_get_yaml_json_jsonpath_and_name(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    assert "suspend: true" in kubectl("get", "job", "train", "-o", "yaml")
    assert json.loads(kubectl("get", "job", "train", "-o", "json"))["spec"]["backoffLimit"] == 6
    assert kubectl("get", "job", "train", "-o", "jsonpath={.spec.parallelism}") == "2"
    assert kubectl("get", "jobs", "-o", "name") == "job.batch/train\n"


def test_get_by_selectors(kubectl: Kubectl) -> None:
    for name, color in (("a", "red"), ("b", "blue")):
        kubectl("create", "configmap", name)
        kubectl("label", "configmap", name, f"color={color}")
    assert kubectl("get", "cm", "-l", "color in (red,green)", "-o", "name") == "configmap/a\n"
    assert kubectl("get", "cm", "--field-selector", "metadata.name=b", "-o", "name") == "configmap/b\n"
    assert "is not a known field selector" in kubectl.fails("get", "cm", "--field-selector", "spec.x=b")


def test_get_in_pages(kubectl: Kubectl) -> None:
    for name in "abcde":
        kubectl("create", "configmap", name)
    assert len(kubectl("get", "cm", "--chunk-size=2", "-o", "name").splitlines()) == 5


def test_get_what_is_not_there(kubectl: Kubectl) -> None:
    assert kubectl.fails("get", "job", "nope") == 'Error from server (NotFound): jobs.batch "nope" not found\n'
    assert kubectl.fails("get", "nonsense") == 'error: the server doesn\'t have a resource type "nonsense"\n'


def test_get_watch_follows(kubectl: Kubectl) -> None:
    watching = kubectl.start("get", "configmaps", "-w", "-o", "name")
    assert watching.stdout is not None
    kubectl("create", "configmap", "first")
    assert watching.stdout.readline() == "configmap/first\n"
    kubectl("create", "configmap", "second")
    assert watching.stdout.readline() == "configmap/second\n"
    watching.terminate()
    watching.stdout.close()
    watching.wait()


def test_describe_shows_events(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    uid = kubectl("get", "job", "train", "-o", "jsonpath={.metadata.uid}")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "train.1"},
        "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
        "regarding": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "namespace": kubectl.namespace,
            "name": "train",
            "uid": uid,
        },
        "reason": "Suspended",
        "note": "Kueue managed child job suspended",
        "type": "Normal",
        "action": "Suspend",
        "reportingController": "example.com/agent",
        "reportingInstance": "agent-0",
    }
    kubectl("create", "-f", "-", stdin=json.dumps(event))
    described = kubectl("describe", "job", "train")
    assert "Parallelism: 2" in " ".join(described.split())
    assert "Kueue managed child job suspended" in described
    assert "Suspended" in kubectl("get", "events")


def test_explain(kubectl: Kubectl) -> None:
    explained = kubectl("explain", "job.spec.parallelism")
    assert "FIELD: parallelism <integer>" in explained


def test_api_resources_and_versions(kubectl: Kubectl) -> None:
    rows = {line.split()[0]: line.split() for line in kubectl("api-resources").splitlines()}
    assert rows["jobs"] == ["jobs", "batch/v1", "true", "Job"]
    assert rows["namespaces"][1] == "ns"
    assert "coordination.k8s.io/v1" in kubectl("api-versions").splitlines()


def test_version_whoami_and_can_i(kubectl: Kubectl) -> None:
    assert "Server Version: v1.36" in kubectl("version")
    assert "kubernetes-admin" in kubectl("auth", "whoami")
    assert kubectl("auth", "can-i", "create", "jobs") == "yes\n"


def test_raw(kubectl: Kubectl) -> None:
    assert kubectl("get", "--raw", "/readyz") == "ok"


def test_logs_say_why_there_are_none(kubectl: Kubectl) -> None:
    kubectl("run", "waits", "--image=busybox")
    assert kubectl("logs", "waits") == ""
    kubectl("run", "p", "--image=busybox", "--overrides", json.dumps({"spec": {"nodeName": "n"}}))
    assert 'container "p" in pod "p" is waiting to start: ContainerCreating' in kubectl.fails("logs", "p")
