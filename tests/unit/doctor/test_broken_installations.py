"""An installation is broken in one way, and ``fedhub doctor`` names that, its object, and what to do."""

import base64
from collections.abc import Callable
from datetime import timedelta

import pytest

from hub.app.doctor.finding import Severity
from hub.app.doctor.snapshot import ENDPOINT_SLICES, Role
from tests.unit.doctor.installation import (
    EARLIER,
    KUBECONFIG,
    NAMESPACE,
    NOW,
    Installation,
    bundle,
    condition,
    kubeconfig_secret,
    secret,
)
from worker_agent.aggregated.registration import API_SERVICES, SERVICES
from worker_agent.api import need, timestamps
from worker_agent.api import resource_type as kinds

Break = Callable[[Installation], None]
LEADER = "c1f6bfd2.kueue.x-k8s.io"
KUEUE = "kueue-controller-manager"
NAMES_TAKEN = condition("NamesAccepted", "False", "Taken", "taken")
CONVERTED = "workloads.kueue.x-k8s.io"


def lease(installation: Installation, namespace: str = NAMESPACE, seconds_ago: int = 0, holder: str = "b") -> None:
    renewed = timestamps.rfc3339(NOW - timedelta(seconds=seconds_ago))
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}
    installation.put(kinds.LEASES, LEADER, namespace, spec=spec)


def drop(*resources: kinds.ResourceType) -> Break:
    def broken(installation: Installation) -> None:
        for resource in resources:
            del installation.objects[resource]

    return broken


def definition(change: Callable[[dict], object], name: str = CONVERTED) -> Break:
    return lambda broken: change(broken.the(kinds.CUSTOM_RESOURCE_DEFINITIONS, name)) and None


def without(name: str) -> Break:
    def broken(installation: Installation) -> None:
        found = installation.objects[kinds.CUSTOM_RESOURCE_DEFINITIONS]
        found.remove(installation.the(kinds.CUSTOM_RESOURCE_DEFINITIONS, name))

    return broken


def hook(ca: bytes | None) -> Break:
    """One configuration with another CA bundle, or none."""

    def broken(installation: Installation) -> None:
        service = {"name": "fedhub-agent-webhook", "namespace": NAMESPACE}
        client = {"service": service, **({} if ca is None else {"caBundle": base64.b64encode(ca).decode()})}
        name = "fedhub-agent-mutating-webhook-configuration"
        installation.put(kinds.MUTATING_WEBHOOKS, name, webhooks=[{"name": "h", "clientConfig": client}])

    return broken


def inactive(resource: kinds.ResourceType, name: str, reason: str, namespace: str = "") -> Break:
    status = {"conditions": [condition("Active", "False", reason, "because")]}
    return lambda broken: broken.put(resource, name, namespace, spec={}, status=status)


def credential(change: Callable[[str], str]) -> Break:
    def broken(installation: Installation) -> None:
        assert installation.secrets is not None
        installation.secrets["oregon"] = kubeconfig_secret(change(KUBECONFIG))

    return broken


def cluster(*conditions: dict) -> Break:
    return lambda broken: broken.put(
        kinds.MULTIKUEUE_CLUSTERS,
        "oregon",
        spec={"clusterSource": {"agent": {"name": "oregon"}}},
        status={"conditions": list(conditions)},
    )


def old_certificate(installation: Installation) -> None:
    """Of eleven years ago: it was good for ten."""
    old = bundle(4018)
    installation.secrets = {"fedhub-agent-webhook-cert": secret(old)}
    hook(old.ca_certificate)(installation)


def set_field(name: str, value: object) -> Break:
    return lambda broken: setattr(broken, name, value)


def stuck(broken: Installation) -> None:
    metadata = {"deletionTimestamp": EARLIER, "finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    status = {"conditions": [condition("Active")]}
    broken.put(kinds.CLUSTER_QUEUES, "research", metadata=metadata, spec={}, status=status)
    admission = {"admission": {"clusterQueue": "research"}}
    broken.put(kinds.WORKLOADS, "train", "ns", spec={}, status=admission)


def stuck_for_others(broken: Installation) -> None:
    metadata = {"deletionTimestamp": EARLIER, "finalizers": ["example.com/mine"]}
    broken.put(kinds.WORKLOADS, "train", "ns", metadata=metadata, spec={})


AGENT: dict[str, tuple[Break, str, str, str]] = {
    "not installed": (
        drop(kinds.DEPLOYMENTS, kinds.LEASES),
        "deployment/fedhub-system/fedhub-agent",
        "is not installed, and nobody leads",
        "kubectl apply --server-side -k manifests/overlays/agent",
    ),
    "no replica": (
        lambda broken: broken.put(kinds.DEPLOYMENTS, "fedhub-agent", NAMESPACE, spec={"replicas": 2}, status={}),
        "deployment/fedhub-system/fedhub-agent",
        "none of 2 replicas is available",
        "kubectl logs deployment/fedhub-agent",
    ),
    "scaled to 0": (
        lambda broken: broken.put(kinds.DEPLOYMENTS, "fedhub-agent", NAMESPACE, spec={"replicas": 0}, status={}),
        "deployment/fedhub-system/fedhub-agent",
        "is scaled to 0",
        "--replicas=2",
    ),
    "stale lease": (
        lambda broken: lease(broken, seconds_ago=600),
        f"lease/fedhub-system/{LEADER}",
        "is held by b, last renewed at 2026-05-01T11:50:00Z: nobody leads",
        "logs of the replicas",
    ),
    "definition missing": (without(CONVERTED), f"crd/{CONVERTED}", "is not installed", "manifests/crds"),
    "version not served": (
        definition(lambda crd: crd["spec"]["versions"].pop(0)),
        f"crd/{CONVERTED}",
        "does not serve v1beta1",
        "manifests/crds",
    ),
    "names taken": (
        definition(lambda crd: crd["status"].update(conditions=[NAMES_TAKEN])),
        f"crd/{CONVERTED}",
        "is not NamesAccepted: taken",
        "kubectl get crd",
    ),
    "no conversion": (
        definition(lambda crd: crd["spec"].update(conversion={"strategy": "None"})),
        f"crd/{CONVERTED}",
        "converts nothing",
        "manifests/crds",
    ),
    "conversion without CA": (
        definition(lambda crd: crd["spec"]["conversion"]["webhook"]["clientConfig"].pop("caBundle")),
        f"crd/{CONVERTED}",
        "has a conversion webhook without a CA bundle",
        "may patch this definition",
    ),
    "no webhooks": (
        drop(kinds.MUTATING_WEBHOOKS),
        "mutatingwebhook/fedhub-agent",
        "there is no such configuration",
        "install the manifests",
    ),
    "hook without CA": (
        hook(None),
        "mutatingwebhook/fedhub-agent-mutating-webhook-configuration",
        "has no CA bundle",
        "may update this configuration",
    ),
    "another's CA": (
        hook(bundle(1).ca_certificate),
        "mutatingwebhook/fedhub-agent-mutating-webhook-configuration",
        "is not that of any certificate here",
        "restart the program",
    ),
    "CA that is none": (
        hook(b"nonsense"),
        "mutatingwebhook/fedhub-agent-mutating-webhook-configuration",
        "its CA bundle is no certificate",
        "restart the program",
    ),
    "no Service": (
        drop(SERVICES),
        "validatingwebhook/fedhub-agent-validating-webhook-configuration",
        "asks Service fedhub-system/fedhub-agent-webhook, which is not there",
        "install the manifests",
    ),
    "no endpoint": (
        drop(ENDPOINT_SLICES),
        "validatingwebhook/fedhub-agent-validating-webhook-configuration",
        "has no ready endpoint",
        "kubectl get pods -n fedhub-system",
    ),
    "certificate expired": (
        old_certificate,
        "secret/fedhub-system/fedhub-agent-webhook-cert",
        "tls.crt expired at",
        "kubectl delete secret fedhub-agent-webhook-cert",
    ),
    "rights missing": (
        set_field("denied", [need.of(kinds.WORKLOADS, "patch", subresource="status")]),
        "serviceaccount/fedhub-system/fedhub-agent",
        "may not patch workloads/status.kueue.x-k8s.io",
        "manifests/base/agent/roles.yaml",
    ),
    "API not available": (
        lambda broken: broken.put(
            API_SERVICES,
            "v1beta2.visibility.kueue.x-k8s.io",
            spec={"group": "visibility.kueue.x-k8s.io"},
            status={"conditions": [condition("Available", "False", "MissingEndpoints", "no endpoints")]},
        ),
        "apiservice/v1beta2.visibility.kueue.x-k8s.io",
        "is not available (MissingEndpoints): no endpoints",
        "see the log of the agent",
    ),
    "Kueue runs beside": (
        lambda broken: broken.put(kinds.DEPLOYMENTS, KUEUE, "kueue-system", spec={"replicas": 1}),
        f"deployment/kueue-system/{KUEUE}",
        "both admit workloads of the same queues",
        f"kubectl scale deployment {KUEUE} -n kueue-system --replicas=0",
    ),
    "two lead": (
        lambda broken: lease(broken, "kueue-system", holder="kueue"),
        f"lease/{LEADER}",
        "two managers lead at the same time: a in fedhub-system, kueue in kueue-system",
        "stop one of them",
    ),
    "clock": (set_field("clock_error", -42.0), "cluster/oregon", "its clock is 42 s behind the one here", "NTP"),
    "too old": (
        lambda broken: broken.put(kinds.CLUSTER_CAPACITIES, "this", status={"agentVersion": "7.1.0"}),
        "clustercapacity/this",
        "Agent 7.1.0 is too new for hub",
        "upgrade the older of the two",
    ),
    "no report": (
        drop(kinds.CLUSTER_CAPACITIES),
        "clustercapacity/this",
        "no agent has told of this cluster",
        "see whether the agent runs",
    ),
    "queue stopped": (
        inactive(kinds.CLUSTER_QUEUES, "research", "Stopped"),
        "clusterqueue/research",
        "admits nothing (Stopped): because",
        "fedhub kueue resume clusterqueue research",
    ),
    "flavor missing": (
        inactive(kinds.CLUSTER_QUEUES, "research", "FlavorNotFound"),
        "clusterqueue/research",
        "admits nothing (FlavorNotFound)",
        "fedhub kueue create resourceflavor",
    ),
    "local queue stopped": (
        inactive(kinds.LOCAL_QUEUES, "team", "Stopped", "ns"),
        "localqueue/ns/team",
        "admits nothing (Stopped)",
        "fedhub kueue resume localqueue team -n ns",
    ),
    "queue nobody looked at": (
        lambda broken: broken.put(kinds.CLUSTER_QUEUES, "research", spec={}),
        "clusterqueue/research",
        "nobody has looked at it",
        "see whether the program runs",
    ),
    "flavor without nodes": (
        lambda broken: broken.put(kinds.NODES, "n1"),
        "resourceflavor/spot",
        "no node has its labels (pool=spot)",
        "correct its nodeLabels",
    ),
    "stuck queue": (
        stuck,
        "clusterqueue/research",
        "was deleted 60 minutes ago and is kept by kueue.x-k8s.io/resource-in-use; 1 workloads hold quota of it",
        "when nothing uses the object",
    ),
    "stuck workload": (
        stuck_for_others,
        "workload/ns/train",
        "is kept by example.com/mine",
        "kubectl patch workloads train -n ns",
    ),
}
HUB: dict[str, tuple[Break, str, str, str]] = {
    "secret missing": (
        set_field("secrets", {}),
        "secret/fedhub-system/oregon",
        'cannot be used to reach oregon: secrets "oregon" not found',
        "kubectl create secret generic oregon",
    ),
    "secret unreadable": (
        credential(lambda text: text.replace("current-context: c", "current-context: d")),
        "secret/fedhub-system/oregon",
        "cannot be used to reach oregon",
        "kubectl create secret generic oregon",
    ),
    "secret insecure": (
        credential(lambda text: text.replace("token: t", "tokenFile: /etc/passwd")),
        "secret/fedhub-system/oregon",
        "tokenFile is not allowed",
        "kubectl create secret generic oregon",
    ),
    "out of contact": (
        cluster(condition("Active", "False", "ClientConnectionFailed", "refused")),
        "multikueuecluster/oregon",
        "is not in contact (ClientConnectionFailed): refused",
        "fedhub cluster list",
    ),
    "not looked at": (cluster(), "multikueuecluster/oregon", "no hub has looked at it", "whether the hub runs"),
    "unfenced": (
        cluster(condition("Active"), condition("Fenced", "False", "NoAgent", "none")),
        "multikueuecluster/oregon",
        "is not fenced (NoAgent): none",
        "run an agent there",
    ),
    "version skew": (
        cluster(condition("Active"), condition("fedhub.dev/VersionSupported", "False", "AgentTooOld", "too old")),
        "multikueuecluster/oregon",
        "too old",
        "upgrade the older",
    ),
    "config names nobody": (
        lambda broken: broken.put(kinds.MULTIKUEUE_CONFIGS, "all", spec={"clusters": ["oregon", "lost"]}),
        "multikueueconfig/all",
        "names the cluster lost",
        "fedhub enroll lost",
    ),
}
CASES = [(Role.AGENT, name) for name in AGENT] + [(Role.HUB, name) for name in HUB]


@pytest.mark.parametrize(("role", "name"), CASES, ids=[name for _, name in CASES])
def test_what_is_broken_is_named(role: Role, name: str) -> None:
    change, about, problem, remedy = (AGENT if role is Role.AGENT else HUB)[name]
    installation = Installation(role)
    change(installation)
    found = [each for each in installation.findings() if each.about == about and problem in each.problem]
    assert found, installation.findings()
    assert remedy in found[0].remedy
    assert found[0].severity is not Severity.NOTE


def test_cordoned_worker_is_a_warning() -> None:
    installation = Installation(Role.HUB)
    worker = installation.the(kinds.MULTIKUEUE_CLUSTERS, "oregon")
    worker["metadata"]["annotations"] = {"fedhub.dev/cordoned": "true"}
    (found,) = installation.findings()
    assert (found.severity, found.remedy) == (Severity.WARNING, "fedhub cluster uncordon oregon")


def test_what_may_not_be_read_is_a_note_and_nothing_wrong() -> None:
    installation = Installation(unreadable={kinds.CUSTOM_RESOURCE_DEFINITIONS: "you may not"}, denied=None)
    found = installation.findings()
    assert {each.severity for each in found} == {Severity.NOTE}
    assert any("not looked at: you may not" in each.problem for each in found)
