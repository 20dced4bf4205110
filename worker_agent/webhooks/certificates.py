"""The webhooks' own certificates: a CA, a server certificate signed by it, and when to make new ones.

Pure but for the random keys; ``certificate_store`` keeps them in a Secret. Names and life times are those of Kueue's
internal certificate management (spec/operations 10): CA ``kueue-ca`` of organisation ``kueue``, ten years, renewed
ninety days before the end.
"""

import base64
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY: Final = "kueue-ca"
ORGANISATION: Final = "kueue"
VALIDITY: Final = timedelta(days=3650)
RENEW_BEFORE: Final = timedelta(days=90)
SKEW: Final = timedelta(hours=1)
"""How far certificates reach back, for API servers whose clocks are behind ours."""

KEYS: Final = ("ca.crt", "ca.key", "tls.crt", "tls.key")


class CertificateError(ValueError):
    """The stored certificates cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """PEM texts: the CA with its key, and the server's certificate with its key."""

    ca_certificate: bytes
    ca_key: bytes
    certificate: bytes
    key: bytes

    @classmethod
    def from_secret(cls, data: Mapping[str, str]) -> "Bundle":
        """From a Secret's ``data``. Raises CertificateError naming what is missing or unreadable."""
        missing = [name for name in KEYS if not data.get(name)]
        if missing:
            raise CertificateError(f"Secret has no {', '.join(missing)}")
        try:
            return cls(*(base64.b64decode(data[name], validate=True) for name in KEYS))
        except ValueError as error:
            raise CertificateError(f"Secret data is not base64: {error}") from None

    def secret_data(self) -> dict[str, str]:
        values = (self.ca_certificate, self.ca_key, self.certificate, self.key)
        return {name: base64.b64encode(value).decode() for name, value in zip(KEYS, values, strict=True)}


def create(hosts: Sequence[str], now: datetime) -> Bundle:
    """A new CA and a certificate for these DNS names and IP addresses."""
    ca_key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANISATION),
            x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY),
        ]
    )
    authority = (
        _builder(name, name, ca_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(ca=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return issue(_pem(authority), _key_pem(ca_key), hosts, now)


def issue(ca_certificate: bytes, ca_key: bytes, hosts: Sequence[str], now: datetime) -> Bundle:
    """A new server certificate under an existing CA. Raises CertificateError where the CA cannot be read."""
    authority, signer = _authority(ca_certificate, ca_key)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])])
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    certificate = (
        _builder(subject, authority.subject, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(ca=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
        .add_extension(identifier, critical=False)
        .sign(signer, hashes.SHA256())
    )
    return Bundle(ca_certificate, ca_key, _pem(certificate), _key_pem(key))


def renewed(bundle: Bundle, hosts: Sequence[str], now: datetime) -> Bundle:
    """``bundle`` itself while it is good; a new server certificate, or a new CA too, where one of them is not."""
    try:
        authority, _ = _authority(bundle.ca_certificate, bundle.ca_key)
        server = _read(bundle.certificate)
    except CertificateError:
        return create(hosts, now)
    if not _lives(authority, now):
        return create(hosts, now)
    if not _lives(server, now) or not _covers(server, hosts) or server.issuer != authority.subject:
        return issue(bundle.ca_certificate, bundle.ca_key, hosts, now)
    return bundle


def renewal_time(bundle: Bundle) -> datetime:
    """When the first of the two certificates has to be made anew."""
    ends = (_read(pem).not_valid_after_utc for pem in (bundle.ca_certificate, bundle.certificate))
    return min(ends) - RENEW_BEFORE


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + VALIDITY)
    )


def _usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not ca,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _lives(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - RENEW_BEFORE


def _covers(certificate: x509.Certificate, hosts: Sequence[str]) -> bool:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    present = set(names.get_values_for_type(x509.DNSName))
    present |= {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    return present >= set(hosts)


def _authority(certificate: bytes, key: bytes) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    authority = _read(certificate)
    try:
        signer = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError) as error:
        raise CertificateError(f"CA key cannot be read: {error}") from None
    if not isinstance(signer, ec.EllipticCurvePrivateKey) or signer.public_key() != authority.public_key():
        raise CertificateError("CA key does not belong to the CA certificate")
    return authority, signer


def _read(pem: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise CertificateError(f"certificate cannot be read: {error}") from None


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
