"""Kubeconfig secrets of workers: there, readable, and allowed."""

from collections.abc import Iterator

import msgspec

from hub.app.doctor import finding
from hub.app.doctor.finding import Finding
from hub.app.doctor.snapshot import Role, Snapshot
from hub.clusters import credentials
from hub.clusters.credentials import CredentialError, CredentialSources
from worker_agent.api.multikueue import MultiKueueCluster
from worker_agent.api.resource_type import MULTIKUEUE_CLUSTERS
from worker_agent.kube import kubeconfig
from worker_agent.kube.kubeconfig import KubeconfigError

NAME = "credentials"
READS = (MULTIKUEUE_CLUSTERS,)


def check(snapshot: Snapshot) -> Iterator[Finding]:
    if snapshot.role is not Role.HUB:
        return
    for document in snapshot.all(MULTIKUEUE_CLUSTERS):
        cluster = msgspec.convert(document, MultiKueueCluster, strict=False)
        source = cluster.spec.cluster_source.kube_config
        if source is None or credentials.uses_path(cluster):
            continue
        about = f"secret/{snapshot.namespace}/{source.location}"
        if snapshot.secrets is None:
            yield finding.note(about, "may not be read by you", "ask as an administrator of this cluster")
        elif problem := _problem(snapshot, cluster):
            name = cluster.metadata.name
            yield finding.error(
                about,
                f"cannot be used to reach {name}: {problem}",
                f"kubectl create secret generic {source.location} -n {snapshot.namespace}"
                " --from-file=kubeconfig=FILE --dry-run=client -o yaml | kubectl apply -f -",
            )


def _problem(snapshot: Snapshot, cluster: MultiKueueCluster) -> str:
    secrets = snapshot.secrets or {}
    sources = CredentialSources(snapshot.namespace, lambda key: secrets.get(key.name))
    try:
        credential = credentials.load(cluster, sources)
        if credential.kubeconfig is not None:
            kubeconfig.load(credential.kubeconfig)
    except (CredentialError, KubeconfigError) as error:
        return str(error)
    return ""
