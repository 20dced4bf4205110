"""A certificate authority of our own: PEM pairs made and signed with elliptic-curve keys. Time is an argument.

Used by the webhooks' certificates, by the embedded API server for its users, and by whoever else must prove an identity
over TLS.
"""

import hashlib
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALIDITY: Final = timedelta(days=3650)
SKEW: Final = timedelta(hours=1)
"""How far certificates reach back, for readers whose clocks are behind ours."""
_PIN_START: Final = "sha256:"
_PIN_DIGITS: Final = 64
_PIN: Final = re.compile(rf"{_PIN_START}[0-9a-f]{{{_PIN_DIGITS}}}")


class AuthorityError(ValueError):
    """A certificate or key cannot be read or used; the text says which and why."""


class Usage(Enum):
    """What a signed certificate proves: the name of a server, or a client's user and groups."""

    SERVER = ExtendedKeyUsageOID.SERVER_AUTH
    CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Certificate and private key, PEM. The key must never reach a log."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "KeyPair(certificate=..., key=...)"


def create(common_name: str, organisations: Sequence[str], now: datetime, validity: timedelta = VALIDITY) -> KeyPair:
    """A new self-signed authority, valid from ``now`` for ``validity``."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common_name, organisations)
    certificate = (
        _builder(name, name, key.public_key(), (now, validity))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key)


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a certificate is for: common name, organisations (a client's groups), names or addresses of a server, and
    URIs where an identity does not fit into a common name (64 characters)."""

    common_name: str
    organisations: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()


def sign(authority: KeyPair, subject: Subject, usage: Usage, now: datetime, validity: timedelta = VALIDITY) -> KeyPair:
    """A new key and its certificate under ``authority``. Raises AuthorityError where that cannot be used."""
    key = ec.generate_private_key(ec.SECP256R1())
    return _pair(_signed(authority, subject, usage, key.public_key(), (now, validity)), key)


def request(common_name: str) -> tuple[bytes, bytes]:
    """A new key and a request that a certificate be signed for it, PEM; the key stays with who calls this."""
    key = ec.generate_private_key(ec.SECP256R1())
    return _encoded(key), request_for(_encoded(key), common_name)


def request_for(key: bytes, common_name: str) -> bytes:
    """A request that a certificate be signed for an existing key. Raises AuthorityError."""
    try:
        signer = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError) as error:
        raise AuthorityError(f"key cannot be read: {error}") from None
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise AuthorityError("the key is not one of an elliptic curve")
    builder = x509.CertificateSigningRequestBuilder().subject_name(_name(common_name, ()))
    return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def sign_request(
    authority: KeyPair, request_pem: bytes, subject: Subject, now: datetime, validity: timedelta
) -> tuple[bytes, str]:
    """A client certificate for the key that a request proves to hold, and that key's fingerprint (hex).

    Whom it is for says ``subject``; what the request says of itself is not looked at. Raises AuthorityError.
    """
    try:
        found = x509.load_pem_x509_csr(request_pem)
        key = found.public_key()
        genuine = found.is_signature_valid
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise AuthorityError(f"certificate request cannot be read: {error}") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not genuine:
        raise AuthorityError("certificate request: must be signed with the elliptic-curve key it is for")
    certificate = _signed(authority, subject, Usage.CLIENT, key, (now, validity))
    return certificate.public_bytes(serialization.Encoding.PEM), _fingerprint(key)


def pin(certificate: bytes) -> str:
    """``sha256:<hex>`` of a certificate's public key: it stays the same when the certificate is made anew for the key.

    Raises AuthorityError.
    """
    return f"{_PIN_START}{_fingerprint(read_certificate(certificate).public_key())}"


def read_pin(text: str) -> str:
    """A pin as ``pin`` writes it, also where it was typed in capitals. Raises ValueError.

    The error never repeats the text: it may be a secret that was given in the wrong place.
    """
    written = text.strip().lower()
    if _PIN.fullmatch(written):
        return written
    digits = written.removeprefix(_PIN_START)
    if digits == written:
        found = f"does not begin with {_PIN_START}"
    elif len(digits) != _PIN_DIGITS:
        found = f"has {len(digits)} characters after {_PIN_START}"
    else:
        found = "has other characters"
    raise ValueError(f"must be {_PIN_START} and {_PIN_DIGITS} hexadecimal digits; this one {found}")


def _fingerprint(key: CertificatePublicKeyTypes) -> str:
    encoded = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(encoded).hexdigest()


@dataclass(frozen=True, slots=True)
class Peer:
    """What a certificate says of its holder; whether it can be believed is for TLS to find out."""

    uris: tuple[str, ...]
    issued_at: datetime
    expires_at: datetime


def read_peer(certificate: bytes) -> Peer:
    """From PEM or DER. Raises AuthorityError."""
    try:
        pem = certificate.startswith(b"-----")
        found = x509.load_pem_x509_certificate(certificate) if pem else x509.load_der_x509_certificate(certificate)
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uris = tuple(names.get_values_for_type(x509.UniformResourceIdentifier))
    except x509.ExtensionNotFound:
        uris = ()
    except ValueError as error:
        raise AuthorityError(f"certificate cannot be read: {error}") from None
    return Peer(uris, found.not_valid_before_utc + SKEW, found.not_valid_after_utc)


def common_name(certificate: bytes) -> str:
    """The common name of a certificate in DER; empty where it has none. Raises AuthorityError."""
    try:
        found = x509.load_der_x509_certificate(certificate).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except ValueError as error:
        raise AuthorityError(f"certificate cannot be read: {error}") from None
    return str(found[0].value) if found else ""


def _signed(
    authority: KeyPair,
    subject: Subject,
    usage: Usage,
    key: ec.EllipticCurvePublicKey,
    life: tuple[datetime, timedelta],
) -> x509.Certificate:
    issuer, signer = read(authority)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = (
        _builder(_name(subject.common_name, subject.organisations), issuer.subject, key, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage.value]), critical=False)
        .add_extension(identifier, critical=False)
    )
    alternatives = [_alternative(host) for host in subject.hosts]
    alternatives += [x509.UniformResourceIdentifier(uri) for uri in subject.uris]
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(signer, hashes.SHA256())


def read(authority: KeyPair) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """An authority's certificate and signing key. Raises AuthorityError."""
    certificate = read_certificate(authority.certificate)
    try:
        signer = serialization.load_pem_private_key(authority.key, password=None)
    except (ValueError, TypeError) as error:
        raise AuthorityError(f"CA key cannot be read: {error}") from None
    if not isinstance(signer, ec.EllipticCurvePrivateKey) or signer.public_key() != certificate.public_key():
        raise AuthorityError("CA key does not belong to the CA certificate")
    return certificate, signer


def read_certificate(pem: bytes) -> x509.Certificate:
    """Raises AuthorityError."""
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise AuthorityError(f"certificate cannot be read: {error}") from None


def read_certificates(pem: bytes) -> list[x509.Certificate]:
    """All certificates of a bundle, in order. Raises AuthorityError."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise AuthorityError(f"cannot be read: {error}") from error


def _name(common_name: str, organisations: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation) for organisation in organisations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, life: tuple[datetime, timedelta]
) -> x509.CertificateBuilder:
    now, validity = life
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + validity)
    )


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _encoded(key))


def _encoded(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
