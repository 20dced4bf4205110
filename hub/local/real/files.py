"""What a real control plane reads: certificates, the service accounts' key, kubeconfigs, the audit policy."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hub.local.apiserver import kubeconfig_files
from hub.local.apiserver.certificates import Authority, KeyPair, write_private
from hub.local.apiserver.identity import MASTERS
from hub.local.apiserver.kubeconfig_files import Login
from worker_agent.api.document import Document

HOSTS = ("localhost", "127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1")
PIECE = 1 << 20


def audit_policy(writes: bool, groups: Sequence[str]) -> Document:
    """What is logged: every request of members of ``groups``, and with ``writes`` those of all others that write."""
    members: list[Document] = [{"level": "Metadata", "userGroups": list(groups)}] if groups else []
    others = [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": "Metadata"}] if writes else []
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [*members, *(others or [{"level": "None"}])],
    }


@dataclass(frozen=True, slots=True)
class Files:
    """Paths under ``folder``, which belongs to one cluster."""

    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "ca.crt"

    @property
    def certificate(self) -> Path:
        return self.folder / "server.crt"

    @property
    def key(self) -> Path:
        return self.folder / "server.key"

    @property
    def service_accounts_key(self) -> Path:
        """Signs service account tokens."""
        return self.folder / "service-accounts.key"

    @property
    def service_accounts_certificate(self) -> Path:
        """Verifies them: a private key in PKCS 8 is not read where a public one is asked for, a certificate is."""
        return self.folder / "service-accounts.crt"

    @property
    def front_proxy(self) -> Path:
        """The authority by which aggregated API servers know this one."""
        return self.folder / "front-proxy"

    @property
    def front_proxy_authority(self) -> Path:
        return self.front_proxy / "ca.crt"

    @property
    def front_proxy_certificate(self) -> Path:
        return self.folder / "front-proxy-client.crt"

    @property
    def front_proxy_key(self) -> Path:
        return self.folder / "front-proxy-client.key"

    @property
    def components(self) -> Path:
        """Kubeconfig of controller manager and scheduler."""
        return self.folder / "components.kubeconfig"

    @property
    def audit_policy(self) -> Path:
        return self.folder / "audit-policy.json"

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    @property
    def etcd(self) -> Path:
        return self.folder / "etcd"

    def log(self, component: str) -> Path:
        return self.folder / f"{component}.log"


def write(files: Files, name: str, server: str) -> Document:
    """Makes the files for a server at URL ``server``; the same authority again where one is there.

    Returns an administrator's kubeconfig.
    """
    ca = Authority.load(files.folder)
    pair = ca.server(HOSTS)
    files.certificate.write_bytes(pair.certificate)
    write_private(files.key, pair.key)
    if not files.service_accounts_key.exists():
        signer = ca.client("service-accounts")
        files.service_accounts_certificate.write_bytes(signer.certificate)
        write_private(files.service_accounts_key, signer.key)
    if not files.front_proxy_key.exists():
        proxy = Authority.load(files.front_proxy).client("front-proxy-client")
        files.front_proxy_certificate.write_bytes(proxy.certificate)
        write_private(files.front_proxy_key, proxy.key)
    kubeconfig_files.write(files.components, _kubeconfig(ca, name, server, "system:fedhub-components"))
    return _kubeconfig(ca, name, server, "kubernetes-admin")


def copy_sparsely(source: Path, target: Path) -> None:
    """Copies the folder of an etcd that ended. Its log of 64 MB is nearly all zeros, which take no disk."""
    for found in sorted(source.rglob("*")):
        place = target / found.relative_to(source)
        if found.is_dir():
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif found.suffix != ".tmp":  # the next piece of the log, made in advance
            _copy_sparsely(found, place)


def _copy_sparsely(source: Path, target: Path) -> None:
    with source.open("rb") as reading, target.open("wb") as writing:
        while piece := reading.read(PIECE):
            if piece.count(0) == len(piece):
                writing.seek(len(piece), os.SEEK_CUR)
            else:
                writing.write(piece)
        writing.truncate()


def client(files: Files, user: str, groups: tuple[str, ...] = ()) -> KeyPair:
    """A certificate by which the server knows ``user``."""
    return Authority.load(files.folder).client(user, groups)


def _kubeconfig(ca: Authority, name: str, server: str, user: str) -> Document:
    login = Login(user, certificate=ca.client(user, (MASTERS,)))
    return kubeconfig_files.document(name, server, ca.pair.certificate, login)
