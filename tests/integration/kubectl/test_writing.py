import json

from tests.integration.kubectl.conftest import Kubectl
from tests.integration.kubectl.manifests import JOB


def field(kubectl: Kubectl, kind: str, name: str, path: str) -> str:
    return kubectl("get", kind, name, "-o", f"jsonpath={{{path}}}")


def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", stdin=JOB) == "job.batch/train created\n"
    assert kubectl("apply", "-f", "-", stdin=JOB) == "job.batch/train unchanged\n"
    changed = JOB.replace("parallelism: 2", "parallelism: 3")
    assert kubectl("apply", "-f", "-", stdin=changed) == "job.batch/train configured\n"
    assert field(kubectl, "job", "train", ".spec.parallelism") == "3"


def test_apply_removes_what_left_the_manifest(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB.replace("{name: train}", "{name: train, labels: {team: a}}"))
    kubectl("apply", "-f", "-", stdin=JOB)
    assert field(kubectl, "job", "train", ".metadata.labels.team") == ""


def test_server_side_apply_and_its_conflicts(kubectl: Kubectl) -> None:
    assert kubectl("apply", "--server-side", "-f", "-", stdin=JOB) == "job.batch/train serverside-applied\n"
    changed = JOB.replace("parallelism: 2", "parallelism: 4")
    refused = kubectl.fails("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=changed)
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .spec.parallelism' in refused
    kubectl("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=changed)
    assert field(kubectl, "job", "train", ".spec.parallelism") == "4"
    managers = json.loads(kubectl("get", "job", "train", "-o", "json", "--show-managed-fields"))
    names = {(entry["manager"], entry["operation"]) for entry in managers["metadata"]["managedFields"]}
    assert names == {("kubectl", "Apply"), ("other", "Apply")}


def test_create_refuses_a_second_one(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=JOB)
    refused = kubectl.fails("create", "-f", "-", stdin=JOB)
    assert "Error from server (AlreadyExists)" in refused
    assert 'jobs.batch "train" already exists' in refused


def test_unknown_field_is_refused(kubectl: Kubectl) -> None:
    wrong = JOB.replace("suspend: true", "suspnd: true")
    assert 'strict decoding error: unknown field "spec.suspnd"' in kubectl.fails("apply", "-f", "-", stdin=wrong)


def test_invalid_job_is_refused_with_every_fault(kubectl: Kubectl) -> None:
    wrong = JOB.replace("parallelism: 2", "parallelism: -1").replace("restartPolicy: Never", "restartPolicy: Always")
    refused = kubectl.fails("create", "-f", "-", stdin=wrong)
    assert "spec.parallelism: Invalid value: -1: must be greater than or equal to 0" in refused
    assert "spec.template.spec.restartPolicy" in refused


def test_patches_of_every_kind(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    kubectl("patch", "job", "train", "-p", '{"spec":{"parallelism":5}}')
    kubectl("patch", "job", "train", "--type=merge", "-p", '{"metadata":{"labels":{"a":"b"}}}')
    kubectl("patch", "job", "train", "--type=json", "-p", '[{"op":"replace","path":"/spec/suspend","value":false}]')
    kubectl("patch", "job", "train", "--subresource=status", "--type=merge", "-p", '{"status":{"active":1}}')
    assert field(kubectl, "job", "train", ".spec.parallelism .spec.suspend .metadata.labels.a") == ""
    job = json.loads(kubectl("get", "job", "train", "-o", "json"))
    assert (job["spec"]["parallelism"], job["spec"]["suspend"], job["status"]["active"]) == (5, False, 1)
    assert job["metadata"]["labels"]["a"] == "b"


def test_edit(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    edited = kubectl("edit", "job", "train", EDITOR="sed -i 's/suspend: true/suspend: false/'")
    assert edited == "job.batch/train edited\n"
    assert field(kubectl, "job", "train", ".spec.suspend") == "false"


def test_label_and_annotate(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "c")
    assert kubectl("label", "configmap", "c", "a=b") == "configmap/c labeled\n"
    assert kubectl("annotate", "configmap", "c", "x=y") == "configmap/c annotated\n"
    kubectl("label", "configmap", "c", "a-")
    assert field(kubectl, "configmap", "c", ".metadata.labels") == ""
    assert field(kubectl, "configmap", "c", ".metadata.annotations.x") == "y"


def test_replace(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "c", "--from-literal=a=1")
    content = kubectl("create", "configmap", "c", "--from-literal=a=2", "--dry-run=client", "-o", "yaml")
    assert kubectl("replace", "-f", "-", stdin=content) == "configmap/c replaced\n"
    assert field(kubectl, "configmap", "c", ".data.a") == "2"


def test_scale(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    assert kubectl("scale", "deployment", "web", "--replicas=3") == "deployment.apps/web scaled\n"
    assert field(kubectl, "deployment", "web", ".spec.replicas") == "3"


def test_create_job_and_job_from_cronjob(kubectl: Kubectl) -> None:
    kubectl("create", "job", "one", "--image=busybox", "--", "echo", "hi")
    assert field(kubectl, "job", "one", ".spec.template.spec.containers[0].command[0]") == "echo"
    kubectl("create", "cronjob", "nightly", "--image=busybox", "--schedule=0 0 * * *")
    kubectl("create", "job", "now", "--from=cronjob/nightly")
    assert field(kubectl, "job", "now", ".metadata.ownerReferences[0].name") == "nightly"


def test_create_commands_that_send_protobuf(kubectl: Kubectl) -> None:
    kubectl("create", "secret", "generic", "s", "--from-literal=password=x")
    assert field(kubectl, "secret", "s", ".data.password") == "eA=="
    kubectl("create", "quota", "q", "--hard=cpu=4,memory=2Gi")
    assert field(kubectl, "quota", "q", ".spec.hard.memory") == "2Gi"
    kubectl("create", "priorityclass", f"high-{kubectl.namespace}", "--value=1000")
    assert field(kubectl, "priorityclass", f"high-{kubectl.namespace}", ".value") == "1000"


def test_delete_and_cascades(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    uid = field(kubectl, "job", "train", ".metadata.uid")
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": uid, "blockOwnerDeletion": True}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "ownerReferences": [reference]},
        "spec": {"containers": [{"name": "c", "image": "busybox"}]},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(pod))
    deleted = kubectl("delete", "job", "train", "--cascade=foreground", "--timeout=90s")
    assert deleted.startswith('job.batch "train" deleted')
    assert kubectl("get", "pods", "-o", "name") == ""


def test_delete_with_orphans(kubectl: Kubectl) -> None:
    kubectl("create", "cronjob", "nightly", "--image=busybox", "--schedule=0 0 * * *")
    kubectl("create", "job", "now", "--from=cronjob/nightly")
    kubectl("delete", "cronjob", "nightly", "--cascade=orphan", "--timeout=90s")
    assert field(kubectl, "job", "now", ".metadata.ownerReferences") == ""


def test_delete_all_and_by_label(kubectl: Kubectl) -> None:
    for name in "abc":
        kubectl("create", "configmap", name)
    kubectl("label", "configmap", "a", "keep=no")
    kubectl("delete", "configmap", "-l", "keep=no")
    assert kubectl("get", "configmap", "-o", "name").splitlines() == ["configmap/b", "configmap/c"]
    kubectl("delete", "configmap", "--all")
    assert kubectl("get", "configmap", "-o", "name") == ""


def test_delete_namespace_empties_it(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    kubectl("delete", "namespace", kubectl.namespace, "--timeout=90s")
    assert "not found" in kubectl.fails("get", "namespace", kubectl.namespace)


def test_wait(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    waiting = kubectl.start("wait", "--for=condition=Complete", "job/train", "--timeout=90s")
    condition = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {
        "conditions": [{**condition, "type": "SuccessCriteriaMet"}, condition],
        "startTime": "2026-01-01T00:00:00Z",
        "completionTime": "2026-01-01T00:00:00Z",
        "succeeded": 2,
    }
    kubectl("patch", "job", "train", "-p", '{"spec":{"suspend":false}}')
    kubectl("patch", "job", "train", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    output, _ = waiting.communicate(timeout=100)
    assert output == "job.batch/train condition met\n"


def test_diff_and_server_dry_run(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=JOB)
    changed = JOB.replace("parallelism: 2", "parallelism: 9")
    assert "+  parallelism: 9" in kubectl.run("diff", "-f", "-", stdin=changed).stdout
    assert kubectl("apply", "--dry-run=server", "-f", "-", stdin=changed) == (
        "job.batch/train configured (server dry run)\n"
    )
    assert field(kubectl, "job", "train", ".spec.parallelism") == "2"
