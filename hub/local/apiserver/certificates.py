"""The cluster's certificate authority and what it signs: the server's own certificate, and clients'."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE = timedelta(days=3650)
_SKEW = timedelta(minutes=5)
"""Certificates begin a little earlier, for clocks that differ."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Certificate and private key, PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA that can sign. Keep ``pair.key`` private."""

    pair: KeyPair

    @classmethod
    def create(cls, name: str = "kubernetes") -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        builder = (
            _builder(subject, subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(_pair(builder.sign(key, hashes.SHA256()), key))

    @classmethod
    def load(cls, folder: Path) -> "Authority":
        """The authority kept in ``folder``; made there when there is none."""
        certificate, key = folder / "ca.crt", folder / "ca.key"
        if certificate.exists() and key.exists():
            return cls(KeyPair(certificate.read_bytes(), key.read_bytes()))
        authority = cls.create()
        folder.mkdir(parents=True, exist_ok=True)
        write_private(key, authority.pair.key)
        certificate.write_bytes(authority.pair.certificate)
        return authority

    def server(self, hosts: Sequence[str]) -> KeyPair:
        """A certificate for these names and addresses."""
        names = [_alternative(host) for host in hosts]
        return self._sign(_name("kube-apiserver"), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate: CN is the user, each O a group."""
        return self._sign(_name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _sign(self, subject: x509.Name, usage: x509.ObjectIdentifier, names: list[x509.GeneralName]) -> KeyPair:
        issuer = x509.load_pem_x509_certificate(self.pair.certificate)
        issuer_key = serialization.load_pem_private_key(self.pair.key, None)
        if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
            raise ValueError("the key of the certificate authority (ca.key) is not an elliptic-curve key")
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, issuer.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return _pair(builder.sign(issuer_key, hashes.SHA256()), key)


def write_private(path: Path, content: bytes) -> None:
    """Write a secret so that only its owner ever could read it."""
    path.touch(mode=0o600, exist_ok=True)
    path.chmod(0o600)
    path.write_bytes(content)


def _name(common: str, organizations: Sequence[str] = ()) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFE)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    encoded = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), encoded)
