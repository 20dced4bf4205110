"""Built-in kinds: decoding, defaults, refusals a queue user meets; texts as kube-apiserver 1.36.3 gives them."""

import pytest

from hub.local.apiserver.schema.go_decoding import DecodeError
from hub.local.apiserver.schemas import GVK
from tests.unit.apiserver_schema.things import JOB, POD, complaints, job, things

SECRET = GVK("", "v1", "Secret")


def decoded(kind, **fields):
    group_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
    document = {"apiVersion": group_version, "kind": kind.kind, "metadata": {"name": "x", "namespace": "ns"}, **fields}
    return things().default(kind, things().prune(kind, document)[0])


def container_of(**fields):
    pod = decoded(POD, spec={"containers": [{"name": "c", "image": "i", **fields}]})
    return pod["spec"]["containers"][0]


def test_quantities_come_back_canonical():
    resources = container_of(resources={"requests": {"cpu": 0.5, "memory": "1024Mi"}})["resources"]
    assert resources == {"requests": {"cpu": "500m", "memory": "1Gi"}}


def test_empty_values_are_left_out_as_by_omitempty():
    container = container_of(command=[], stdin=False, env=[{"name": "A", "value": ""}])
    assert "command" not in container
    assert "stdin" not in container
    assert container["env"] == [{"name": "A"}]


def test_a_container_gets_its_defaults():
    container = container_of(ports=[{"containerPort": 80}])
    assert container == {
        "name": "c",
        "image": "i",
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always",
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a:1", "IfNotPresent"),
        ("a", "Always"),
        ("a:latest", "Always"),
        ("r:5000/a", "Always"),
        ("a@sha256:" + "0" * 64, "IfNotPresent"),
    ],
)  # fmt: skip
def test_the_pull_policy_follows_the_tag(image, policy):
    assert container_of(image=image)["imagePullPolicy"] == policy


def test_a_pod_requests_its_limits():
    assert container_of(resources={"limits": {"cpu": "2"}})["resources"]["requests"] == {"cpu": "2"}


def test_a_template_does_not():
    containers = [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}]
    resources = job(template={"spec": {"containers": containers}})["spec"]["template"]["spec"]["containers"][0][
        "resources"
    ]
    assert "requests" not in resources


def test_a_job_gets_its_defaults():
    spec = decoded(JOB, spec={"template": {"spec": {}}})["spec"]
    wanted = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "manualSelector": False,
    }
    assert {field: spec[field] for field in wanted} == wanted


def test_string_data_becomes_data():
    secret = decoded(SECRET, stringData={"a": "hi"})
    assert secret["data"] == {"a": "aGk="}
    assert "stringData" not in secret
    assert secret["type"] == "Opaque"


def test_a_namespace_is_labelled_with_its_name():
    namespace = decoded(GVK("", "v1", "Namespace"))
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"parallelism": "x"},
            "json: cannot unmarshal string into Go struct field JobSpec.spec.parallelism of type int32",
        ),
        (
            {"parallelism": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field JobSpec.spec.parallelism of type int32",
        ),
        (
            {"completionMode": 5},
            "json: cannot unmarshal number into Go struct field JobSpec.spec.completionMode of type v1.CompletionMode",
        ),
        (
            {"template": {"spec": {"containers": "x"}}},
            "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.containers "
            "of type []v1.Container",
        ),
        (
            {"template": {"spec": {"containers": [{"name": 5}]}}},
            "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.name "
            "of type string",
        ),
        (
            {"template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "abc"}}}]}}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_values_their_field_cannot_hold(spec, words):
    with pytest.raises(DecodeError) as caught:
        decoded(JOB, spec=spec)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"parallelism": -1}, "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"completionMode": "Indexed", "parallelism": 1},
            "spec.completions: Required value: when completion mode is Indexed",
        ),
        (
            {"managedBy": "x"},
            'spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")',
        ),
        ({"backoffLimitPerIndex": 1}, "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"),
        (
            {"podReplacementPolicy": "X"},
            'spec.podReplacementPolicy: Unsupported value: "X": supported values: "Failed", "TerminatingOrFailed"',
        ),
    ],
)
def test_a_job_that_is_refused(spec, complaint):
    assert complaints(job(**spec)) == [complaint]


def with_template(document, **pod_spec):
    spec = document["spec"]
    template = {**spec["template"], "spec": {**spec["template"]["spec"], **pod_spec}}
    return {**document, "spec": {**spec, "template": template}}


def test_a_job_must_not_restart_always():
    wanted = 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'
    assert complaints(with_template(job(), restartPolicy="Always")) == [wanted]


def test_the_template_of_a_running_job_is_fixed():
    (complaint,) = complaints(with_template(job(), nodeSelector={"a": "b"}), job())
    assert complaint.startswith("spec.template: Invalid value: ")
    assert complaint.endswith(": field is immutable")


def test_a_suspended_job_may_change_where_its_pods_go():
    changed = with_template(
        job(suspend=True), nodeSelector={"a": "b"}, tolerations=[{"key": "x", "operator": "Exists"}]
    )
    assert complaints(changed, job(suspend=True)) == []


def test_a_suspended_job_may_not_change_its_image():
    (container,) = job()["spec"]["template"]["spec"]["containers"]
    changed = with_template(job(suspend=True), containers=[{**container, "image": "other"}])
    (complaint,) = complaints(changed, job(suspend=True))
    assert complaint.endswith("field is immutable")


def test_managed_by_is_fixed():
    assert complaints(job(managedBy="a.b/c"), job()) == ['spec.managedBy: Invalid value: "a.b/c": field is immutable']


def test_a_job_cannot_complete_without_its_criteria():
    status = {"conditions": [{"type": "Complete", "status": "True"}], "startTime": "2026-01-01T00:00:00Z"}
    status["completionTime"] = "2026-01-01T00:01:00Z"
    wanted = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
    assert complaints({**job(), "status": status}, job(), "status") == [f"status.conditions: Invalid value: {wanted}"]


def test_a_finished_job_stays_finished():
    done = {**job(), "status": {"conditions": [{"type": "Failed", "status": "True"}]}}
    wanted = "status.conditions: Invalid value: cannot disable the terminal Failed=True condition"
    assert complaints({**job(), "status": {}}, done, "status") == [wanted]


def pod(**spec):
    document = decoded(POD, spec={"containers": [{"name": "c", "image": "i"}], **spec})
    return {**document, "metadata": {**document["metadata"], "resourceVersion": "1"}}


def test_a_pod_may_change_its_image():
    changed = pod()
    changed["spec"] = {**changed["spec"], "containers": [{**changed["spec"]["containers"][0], "image": "j"}]}
    assert complaints(changed, pod()) == []


def test_a_pod_may_not_change_its_selector():
    (complaint,) = complaints(pod(nodeSelector={"a": "b"}), pod())
    assert complaint.startswith(
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
    )


def test_a_gated_pod_may_change_its_selector_and_lose_its_gate():
    assert complaints(pod(nodeSelector={"a": "b"}), pod(schedulingGates=[{"name": "a/b"}])) == []


def test_gates_are_never_added():
    wanted = "only deletion is allowed, but found new scheduling gate 'a/b'"
    assert complaints(pod(schedulingGates=[{"name": "a/b"}]), pod()) == [
        f"spec.schedulingGates[0].name: Forbidden: {wanted}"
    ]


def test_the_value_of_a_priority_class_is_fixed():
    kind = GVK("scheduling.k8s.io", "v1", "PriorityClass")
    new, old = ({**decoded(kind, value=value), "metadata": {"name": "p", "resourceVersion": "1"}} for value in (6, 5))
    assert complaints(new, old) == ["value: Forbidden: may not be changed in an update."]


def test_the_type_of_a_secret_is_fixed():
    new, old = (decoded(SECRET, type=name) for name in ("b", "a"))
    new["metadata"]["resourceVersion"] = "1"
    assert complaints(new, {**old, "metadata": new["metadata"]}) == ['type: Invalid value: "b": field is immutable']


def test_requests_stay_within_limits():
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    wanted = 'Invalid value: "2": must be less than or equal to cpu limit of 1'
    assert complaints(pod(containers=[{"name": "c", "image": "i", "resources": resources}])) == [
        f"spec.containers[0].resources.requests: {wanted}"
    ]
