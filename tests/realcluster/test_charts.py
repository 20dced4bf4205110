"""The Helm charts: linted, rendered with every value, equal to the kustomize manifests, installed on a real cluster."""

import copy
import json
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hub.local.simulation.shape import ClusterShape
from tests.local_federation import KUBECTL
from tests.realcluster import helm, kueue
from tests.realcluster.cert_manager import CertManager
from tests.realcluster.members import Member, Members
from tests.realcluster.pod_processes import own_address

PROGRAMS = ("agent", "hub")
pytestmark = pytest.mark.timeout(600)

CHANGED: dict[str, Any] = {
    "nameOverride": "other",
    "fullnameOverride": "other",
    "crds.enabled": False,
    "crds.keep": True,
    "enablePrometheus": True,
    "enableCertManager": True,
    "enableVisibilityAPF": True,
    "enableVisibilityAuthReaderRoleBinding": False,
    "networkPolicy.enabled": False,
    "priorityClass.create": False,
    "priorityClass.value": 1000,
    "controllerManager.featureGates": [{"name": "PriorityBoost", "enabled": True}],
    "controllerManager.replicas": 3,
    "controllerManager.strategy": {"type": "Recreate"},
    "controllerManager.hostNetwork": True,
    "controllerManager.dnsPolicy": "Default",
    "controllerManager.imagePullSecrets": [{"name": "registry"}],
    "controllerManager.nodeSelector": {"role": "control"},
    "controllerManager.tolerations": [{"key": "control", "operator": "Exists"}],
    "controllerManager.topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    ],
    "controllerManager.podDisruptionBudget.enabled": False,
    "controllerManager.podDisruptionBudget.minAvailable": "50%",
    "controllerManager.manager.image.repository": "registry.example/fedhub",
    "controllerManager.manager.image.tag": "9.9.9",
    "controllerManager.manager.image.pullPolicy": "Always",
    "controllerManager.manager.priorityClassName": "system-cluster-critical",
    "controllerManager.manager.podAnnotations": {"team": "platform"},
    "controllerManager.manager.logLevel": 3,
    "controllerManager.manager.env": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
    "controllerManager.manager.resources": {"requests": {"cpu": "2"}},
    "controllerManager.manager.podSecurityContext": {"runAsNonRoot": True, "runAsUser": 1000},
    "controllerManager.manager.containerSecurityContext": {"runAsUser": 1000},
    "controllerManager.readinessProbe": {"periodSeconds": 3},
    "controllerManager.livenessProbe": {"periodSeconds": 3},
    "managerConfig.controllerManagerConfigYaml": "namespace: fedhub-system\nmanageJobsWithoutQueueName: true\n",
    "metricsService.type": "NodePort",
    "metricsService.ports": [{"name": "https", "port": 443, "targetPort": "metrics"}],
    "metricsService.labels": {"scraped": "yes"},
    "metricsService.annotations": {"scraped": "yes"},
    "webhookService.type": "NodePort",
    "webhookService.ipDualStack.enabled": True,
    "webhookService.ports": [{"name": "https", "port": 443, "targetPort": 9443}],
    "mutatingWebhook.reinvocationPolicy": "IfNeeded",
    "agentsService.type": "LoadBalancer",
    "agentsService.addresses": ["https://hub.example:8444"],
    "agentsService.annotations": {"load-balancer": "internal"},
}
"""Each value by its path, with another one than the chart's."""
ONLY_WITH: dict[str, tuple[dict[str, Any], Any]] = {
    "kubernetesClusterDomain": ({"enableCertManager": True}, "cluster.example"),
    "certManager.issuerRef": ({"enableCertManager": True}, {"name": "company", "kind": "ClusterIssuer"}),
    "metrics.prometheusNamespace": ({"enablePrometheus": True}, "observability"),
    "metrics.serviceMonitor.tlsConfig": ({"enablePrometheus": True}, {"ca": {}}),
    "webhookService.ipDualStack.ipFamilies": ({"webhookService": {"ipDualStack": {"enabled": True}}}, ["IPv6"]),
    "webhookService.ipDualStack.ipFamilyPolicy": (
        {"webhookService": {"ipDualStack": {"enabled": True}}},
        "RequireDualStack",
    ),
}
"""Values that show only beside others."""
WITHOUT_DEFINITIONS = {"crds": {"enabled": False}}
"""They are large, and the same each time."""
DUAL_STACK = "webhookService.ipDualStack.enabled"
"""Needs a cluster that has both families of addresses."""
QUEUE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"name": "cq"},
    "spec": {"cohortName": "all"},
}
FOREIGN = {"ServiceMonitor", "PrometheusRule", "Issuer", "Certificate"}
"""Kinds that a bare cluster does not know."""


def values_of(chart: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((helm.CHARTS / chart / "values.yaml").read_text())
    return found


def paths_of(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Each value's path; maps that the test sets as a whole count as one."""
    for name, value in values.items():
        path = f"{prefix}{name}"
        if path in CHANGED or path in ONLY_WITH or not isinstance(value, dict) or not value:
            yield path
        else:
            yield from paths_of(value, f"{path}.")


def nested(path: str, value: Any) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    found = copy.deepcopy(first)
    for name, value in second.items():
        both = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = merged(found[name], value) if both else value
    return found


EVERY = [(f"fedhub-{program}", path) for program in PROGRAMS for path in paths_of(values_of(f"fedhub-{program}"))]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    """One real cluster, with no release in it."""
    if kueue.may_run() or not own_address():
        pytest.skip(f"pods as processes: {kueue.may_run() or 'no address but loopback'}")
    nodes = [{"name": "general", "count": 2, "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"}}]
    with Members(tmp_path_factory.mktemp("charts")) as members:
        [member] = members.start({"oregon": ClusterShape.from_documents(nodes)})
        yield member


def kubectl(cluster: Member, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    command = [KUBECTL, "--kubeconfig", str(cluster.kubeconfig), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("program", PROGRAMS)
def test_lint_finds_nothing(program: str):
    done = helm.run("lint", "--strict", str(helm.CHARTS / f"fedhub-{program}"))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_charts_bring_what_kustomize_brings(program: str):
    overlay = helm.CHECKOUT / "manifests" / "overlays" / f"{program}-monitoring"
    done = subprocess.run([KUBECTL, "kustomize", str(overlay)], capture_output=True, text=True, check=True)
    kustomize = helm.objects(done.stdout)
    del kustomize["Namespace", "", "fedhub-system"]  # Helm's --create-namespace
    chart = helm.rendered(f"fedhub-{program}", {"enablePrometheus": True})
    assert chart.keys() == kustomize.keys()
    for key, found in chart.items():
        assert meaning(found) == meaning(kustomize[key]), key


def meaning(found: dict[str, Any]) -> dict[str, Any]:
    """Text in ConfigMaps is compared as what it says."""
    if found["kind"] != "ConfigMap":
        return found
    return {**found, "data": {name: yaml.safe_load(text) for name, text in found["data"].items()}}


@pytest.mark.parametrize(("chart", "path"), EVERY, ids=lambda value: value)
def test_every_value_changes_what_is_made(chart: str, path: str):
    if path in ONLY_WITH:
        beside, value = ONLY_WITH[path]
    else:
        beside, value = {}, CHANGED[path]
    if not path.startswith("crds."):
        beside = merged(beside, WITHOUT_DEFINITIONS)
    assert helm.text(chart, merged(beside, nested(path, value))) != helm.text(chart, beside)


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_that_do_not_exist_are_refused(program: str):
    chart = f"fedhub-{program}"
    done = helm.run("template", chart, str(helm.CHARTS / chart), "--set", "controllerManager.replica=3")
    assert done.returncode != 0
    assert "replica" in done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_single_replica_does_not_keep_its_node_from_being_drained(program: str):
    made = helm.rendered(f"fedhub-{program}", merged(WITHOUT_DEFINITIONS, nested("controllerManager.replicas", 1)))
    assert "PodDisruptionBudget" not in {kind for kind, _, _ in made}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_server_takes_all_variants(program: str, cluster: Member):
    """The chart as it is, and with each value what that changes."""
    chart = f"fedhub-{program}"
    usual = helm.rendered(chart, WITHOUT_DEFINITIONS)
    kubectl(cluster, "create", "namespace", "fedhub-system")
    _taken(cluster, usual, "values.yaml")
    known = {path for name, path in EVERY if name == chart} & CHANGED.keys() - {"crds.enabled", "crds.keep", DUAL_STACK}
    for path in sorted(known):
        made = helm.rendered(chart, merged(WITHOUT_DEFINITIONS, nested(path, CHANGED[path])))
        _taken(cluster, {key: found for key, found in made.items() if found != usual.get(key)}, path)
    kubectl(cluster, "delete", "namespace", "fedhub-system")


def _taken(cluster: Member, made: helm.Objects, path: str) -> None:
    wanted = [found for found in made.values() if found["kind"] not in FOREIGN]
    if not wanted:
        return
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": wanted})
    done = kubectl(cluster, "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=text)
    assert done.returncode == 0, f"{path}: {done.stderr}"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_namespace_may_be_called_as_the_chart_and_a_release_as_the_namespace(program: str):
    chart = f"fedhub-{program}"
    made = helm.objects(helm.text(chart, WITHOUT_DEFINITIONS, release="fedhub-system", namespace=chart))
    assert {namespace for _, namespace, _ in made} == {"", "kube-system", chart}
    config = made["ConfigMap", chart, f"fedhub-system-{chart}-config"]
    settings = yaml.safe_load(config["data"]["config.yaml"])
    assert settings["namespace"] == chart
    service = settings["internalCertManagement"]["webhookServiceName"]
    assert ("Service", chart, service) in made
    hooks = [hook for found in made.values() for hook in found.get("webhooks", ())]
    places = {(hook["clientConfig"]["service"]["namespace"], hook["clientConfig"]["service"]["name"]) for hook in hooks}
    assert places == {(chart, service)}


def test_certificates_of_cert_manager_are_shown_and_trusted(cluster: Member):
    """Where there is no cert-manager: its certificates and its injection of their CAs come from the test."""
    where = ["-n", "fedhub-system"]
    kubectl(cluster, "create", "namespace", "fedhub-system")
    signed = CertManager(helm.rendered("fedhub-agent", {"enableCertManager": True}))
    done = kubectl(cluster, "apply", "--server-side", "-f", "-", stdin=signed.objects())
    assert done.returncode == 0, done.stderr
    try:
        ready = kubectl(cluster, "rollout", "status", *where, "deployment/fedhub-agent", "--timeout=180s")
        assert ready.returncode == 0, cluster.pods.logs()[-4000:]
        created = kubectl(cluster, "create", "-f", "-", stdin=json.dumps(QUEUE))
        assert created.returncode == 0, f"a webhook is not trusted: {created.stderr}"
        older = kubectl(cluster, "get", "clusterqueues.v1beta1.kueue.x-k8s.io", "cq", "-o", "jsonpath={.spec.cohort}")
        assert older.stdout == "all", f"conversion is not trusted: {older.stderr}"
        told = _until_served(cluster, "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq/pendingworkloads")
        assert json.loads(told)["items"] == []
        shown = {
            ssl.get_server_certificate(("127.0.0.1", running.ports["metrics"])).strip()
            for running in cluster.pods.running.values()
        }
        metrics = signed.bundles["fedhub-system", "fedhub-agent-metrics-cert"].certificate
        assert shown == {metrics.decode().strip()}
        doctor = subprocess.run(
            [str(Path(KUBECTL).with_name("fedhub")), "doctor", "--agent", "--kubeconfig", str(cluster.kubeconfig)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "nothing is wrong" in doctor.stdout + doctor.stderr, doctor.stdout + doctor.stderr
    finally:
        removed = uninstall(cluster)
        kubectl(cluster, "delete", "--ignore-not-found", "-f", "-", stdin=signed.objects())
        kubectl(cluster, "delete", "namespace", "fedhub-system", "--ignore-not-found")
    assert removed.returncode == 0, removed.stderr


def _until_served(cluster: Member, path: str) -> str:
    """The answer of an aggregated API, which an API server looks for every few seconds."""
    deadline = time.monotonic() + 120
    while (done := kubectl(cluster, "get", "--raw", path)).returncode:
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.5)
    return done.stdout


def test_the_agent_is_installed_and_goes(cluster: Member):
    """As the README says it, with its own release name."""
    where = ["-n", "fedhub-system"]
    chart = str(helm.CHARTS / "fedhub-agent")
    done = helm.run("install", "fedhub-agent", chart, *where, "--create-namespace", kubeconfig=cluster.kubeconfig)
    assert done.returncode == 0, done.stderr
    assert "Connect a worker" in done.stdout
    ready = kubectl(cluster, "rollout", "status", *where, "deployment/fedhub-agent", "--timeout=180s")
    assert ready.returncode == 0, cluster.pods.logs()[-4000:]
    removed = uninstall(cluster)
    assert removed.returncode == 0, removed.stderr
    done = helm.run("uninstall", "fedhub-agent", *where, kubeconfig=cluster.kubeconfig)
    assert done.returncode == 0, done.stderr
    kubectl(cluster, "wait", "crds", "--all", "--for=delete", "--timeout=120s")
    assert kubectl(cluster, "get", "crds", "-o", "name").stdout == ""


def uninstall(cluster: Member) -> "subprocess.CompletedProcess[str]":
    program = str(Path(KUBECTL).with_name("fedhub-agent"))
    command = [program, "uninstall", "--yes", "--kubeconfig", str(cluster.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
