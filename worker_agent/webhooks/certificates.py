"""The webhooks' own certificates: a CA, a server certificate signed by it, and when to make new ones.

Pure but for the random keys; ``certificate_store`` keeps them in a Secret. Names and life times are those of Kueue's
internal certificate management (spec/operations 10): CA ``kueue-ca`` of organisation ``kueue``, ten years, renewed
ninety days before the end.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509

from worker_agent.kube import authority
from worker_agent.kube.authority import AuthorityError, KeyPair, Subject, Usage

AUTHORITY: Final = "kueue-ca"
ORGANISATION: Final = "kueue"
RENEW_BEFORE: Final = timedelta(days=90)
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
    made = authority.create(AUTHORITY, (ORGANISATION,), now)
    return issue(made.certificate, made.key, hosts, now)


def issue(ca_certificate: bytes, ca_key: bytes, hosts: Sequence[str], now: datetime) -> Bundle:
    """A new server certificate under an existing CA. Raises CertificateError where the CA cannot be read."""
    subject = Subject(hosts[0], hosts=tuple(hosts))
    try:
        server = authority.sign(KeyPair(ca_certificate, ca_key), subject, Usage.SERVER, now)
    except AuthorityError as error:
        raise CertificateError(str(error)) from None
    return Bundle(ca_certificate, ca_key, server.certificate, server.key)


def renewed(bundle: Bundle, hosts: Sequence[str], now: datetime) -> Bundle:
    """``bundle`` itself while it is good; a new server certificate, or a new CA too, where one of them is not."""
    try:
        issuer, _ = authority.read(KeyPair(bundle.ca_certificate, bundle.ca_key))
        server = authority.read_certificate(bundle.certificate)
    except AuthorityError:
        return create(hosts, now)
    if not _lives(issuer, now):
        return create(hosts, now)
    if not _lives(server, now) or not _covers(server, hosts) or server.issuer != issuer.subject:
        return issue(bundle.ca_certificate, bundle.ca_key, hosts, now)
    return bundle


def renewal_time(bundle: Bundle) -> datetime:
    """When the first of the two certificates has to be made anew."""
    try:
        ends = [
            authority.read_certificate(pem).not_valid_after_utc for pem in (bundle.ca_certificate, bundle.certificate)
        ]
    except AuthorityError as error:
        raise CertificateError(str(error)) from None
    return min(ends) - RENEW_BEFORE


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
