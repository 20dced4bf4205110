"""The cluster's certificate authority and what it signs: the server's own certificate, and clients'."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from worker_agent.kube import authority
from worker_agent.kube.authority import KeyPair, Subject, Usage

__all__ = ["Authority", "KeyPair", "write_private"]


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA that can sign. Keep ``pair.key`` private."""

    pair: KeyPair

    @classmethod
    def create(cls, name: str = "kubernetes") -> "Authority":
        return cls(authority.create(name, (), datetime.now(UTC)))

    @classmethod
    def load(cls, folder: Path) -> "Authority":
        """The authority kept in ``folder``; made there when there is none."""
        certificate, key = folder / "ca.crt", folder / "ca.key"
        if certificate.exists() and key.exists():
            return cls(KeyPair(certificate.read_bytes(), key.read_bytes()))
        made = cls.create()
        folder.mkdir(parents=True, exist_ok=True)
        write_private(key, made.pair.key)
        certificate.write_bytes(made.pair.certificate)
        return made

    def server(self, hosts: Sequence[str]) -> KeyPair:
        """A certificate for these names and addresses."""
        subject = Subject("kube-apiserver", hosts=tuple(hosts))
        return authority.sign(self.pair, subject, Usage.SERVER, datetime.now(UTC))

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate: CN is the user, each O a group."""
        return authority.sign(self.pair, Subject(user, tuple(groups)), Usage.CLIENT, datetime.now(UTC))


def write_private(path: Path, content: bytes) -> None:
    """Write a secret so that only its owner ever could read it."""
    path.touch(mode=0o600, exist_ok=True)
    path.chmod(0o600)
    path.write_bytes(content)
