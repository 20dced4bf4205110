"""Command lines of the components of a real control plane, for Kubernetes 1.29 and later. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from hub.local.real.binaries import Binaries
from hub.local.real.files import Files

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
FRONT_PROXY = "front-proxy-client"

HOUSEKEEPING = ("garbage-collector-controller", "namespace-controller", "clusterrole-aggregation-controller")
JOBS = (
    "job-controller",
    "cronjob-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "pod-garbage-collector-controller",
    "ttl-after-finished-controller",
)
"""What training jobs need. Not the node lifecycle: simulated nodes send no heartbeats and are ready as they say."""

CLIENT_LIMITS = ("--kube-api-qps=500", "--kube-api-burst=1000")
"""The default of 20 requests a second is made for clusters, not for tests that wait."""

ROUTED = ("--enable-aggregator-routing=true",)
"""For the API server: Services are reached at the addresses of their EndpointSlices, without a proxy on the machine."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Loopback ports: the API server's, and etcd's for clients and peers."""

    api_server: int
    etcd: int
    etcd_peers: int


Command = Sequence[str]


def etcd(binaries: Binaries, files: Files, ports: Ports) -> Command:
    """Without fsync: what the process wrote survives its end, though not the machine's.

    Its log has every write at once; the database behind it is brought up to that less often than ten times a second.
    """
    clients, peers = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peers}"
    return (
        str(binaries.etcd),
        f"--data-dir={files.etcd}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",
        "--backend-batch-interval=1s",
        "--heartbeat-interval=200",
        "--log-level=error",
    )


def api_server(binaries: Binaries, files: Files, ports: Ports, audit: bool) -> Command:
    """Client certificates and RBAC as in a cluster; no service account is forced on pods, for nobody makes them."""
    auditing = (f"--audit-policy-file={files.audit_policy}", f"--audit-log-path={files.audit_log}")
    return (
        str(binaries.api_server),
        f"--etcd-servers=http://127.0.0.1:{ports.etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--secure-port={ports.api_server}",
        f"--cert-dir={files.folder}",
        f"--tls-cert-file={files.certificate}",
        f"--tls-private-key-file={files.key}",
        f"--client-ca-file={files.authority}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={files.service_accounts_certificate}",
        f"--service-account-signing-key-file={files.service_accounts_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
        "--profiling=false",
        *_front_proxy(files),
        *(auditing if audit else ()),
    )


def _front_proxy(files: Files) -> Sequence[str]:
    """By which aggregated API servers know that it is this server who sends a user's request on."""
    return (
        f"--requestheader-client-ca-file={files.front_proxy_authority}",
        f"--requestheader-allowed-names={FRONT_PROXY}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={files.front_proxy_certificate}",
        f"--proxy-client-key-file={files.front_proxy_key}",
    )


def controller_manager(binaries: Binaries, files: Files, jobs: bool) -> Command:
    """Serves no port: its health is that Jobs get pods."""
    controllers = (*HOUSEKEEPING, *(JOBS if jobs else ()))
    return (
        str(binaries.controller_manager),
        f"--kubeconfig={files.components}",
        f"--controllers={','.join(controllers)}",
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
        *CLIENT_LIMITS,
    )


def scheduler(binaries: Binaries, files: Files) -> Command:
    """Serves no port: its health is that pods get nodes."""
    return (
        str(binaries.scheduler),
        f"--kubeconfig={files.components}",
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
        *CLIENT_LIMITS,
    )
