"""The program's own certificates: a CA, a server certificate signed by it, and when to make new ones.

Pure but for the random keys; ``certificate_store`` keeps them in a Secret. Names and life times are those of Kueue's
internal certificate management (spec/operations 10): CA ``kueue-ca`` of organisation ``kueue``, ten years, renewed
ninety days before the end.

A new CA takes over in three steps, each an ``overlap`` after the one before, so that at no moment somebody is shown a
certificate whose CA he has not been told of: the next CA is told of beside the old one; then it signs what servers
show, and the old one is still told of; then the old one goes.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509

from worker_agent.kube import authority
from worker_agent.kube.authority import SKEW, VALIDITY, AuthorityError, KeyPair, Subject, Usage

AUTHORITY: Final = "kueue-ca"
ORGANISATION: Final = "kueue"
KEYS: Final = ("ca.crt", "ca.key", "tls.crt", "tls.key")
NEXT_KEYS: Final = ("next-ca.crt", "next-ca.key")
PREVIOUS_KEY: Final = "previous-ca.crt"


class CertificateError(ValueError):
    """The stored certificates cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long certificates are valid, how long before their end they are made anew, and how long each step of a new
    CA lasts: within ``overlap`` every replica (some look once a day) and every API server has heard of it."""

    validity: timedelta = VALIDITY
    renew_before: timedelta = timedelta(days=90)
    overlap: timedelta = timedelta(days=3)


LIFETIMES: Final = Lifetimes()


@dataclass(frozen=True, slots=True)
class Bundle:
    """PEM texts: the CA with its key, and the server's certificate with its key; while a new CA takes over, the one
    that comes (``following``) or the certificate of the one that goes (``previous_ca``).

    ``damaged`` names what of a Secret could not be read and was left out."""

    ca_certificate: bytes
    ca_key: bytes = field(repr=False)
    certificate: bytes
    key: bytes = field(repr=False)
    following: KeyPair | None = None
    previous_ca: bytes = b""
    damaged: tuple[str, ...] = ()

    @property
    def trusted(self) -> bytes:
        """What those who connect are told to trust: certificates of all CAs that count now."""
        following = self.following.certificate if self.following is not None else b""
        return self.ca_certificate + following + self.previous_ca

    @classmethod
    def from_secret(cls, data: Mapping[str, str]) -> "Bundle":
        """From a Secret's ``data``. Only the CA has to be whole: what else is damaged is left out and named, for those
        who trust a valid CA are to go on doing so. Raises CertificateError naming what is missing or unreadable."""
        missing = [name for name in KEYS if not data.get(name)]
        if missing:
            raise CertificateError(f"Secret has no {', '.join(missing)}")
        try:
            ca_certificate, ca_key = (_decoded(data, name) for name in KEYS[:2])
        except ValueError as error:
            raise CertificateError(f"Secret data is not base64: {error}") from None
        server = _pair(data, KEYS[2:])
        following = _pair(data, NEXT_KEYS)
        previous = _certificate(data, PREVIOUS_KEY)
        damaged = [
            *(KEYS[2:] if server is None else ()),
            *(name for name in NEXT_KEYS if following is None and data.get(name)),
            *([PREVIOUS_KEY] if not previous and data.get(PREVIOUS_KEY) else ()),
        ]
        shown = server or KeyPair(b"", b"")
        return cls(ca_certificate, ca_key, shown.certificate, shown.key, following, previous, tuple(damaged))

    def secret_data(self) -> dict[str, str]:
        """What is of no use any more is written as empty."""
        following = self.following or KeyPair(b"", b"")
        serving = (self.ca_certificate, self.ca_key, self.certificate, self.key)
        values = (*serving, following.certificate, following.key, self.previous_ca)
        names = (*KEYS, *NEXT_KEYS, PREVIOUS_KEY)
        return {name: base64.b64encode(value).decode() for name, value in zip(names, values, strict=True)}


def _decoded(data: Mapping[str, str], name: str) -> bytes:
    return base64.b64decode(data.get(name) or "", validate=True)


def _pair(data: Mapping[str, str], keys: Sequence[str]) -> KeyPair | None:
    """Certificate and the key that belongs to it; None where there is no such pair."""
    try:
        pair = KeyPair(*(_decoded(data, name) for name in keys))
        authority.read(pair)
    except (ValueError, AuthorityError):
        return None
    return pair


def _certificate(data: Mapping[str, str], name: str) -> bytes:
    """Empty where there is none that can be read."""
    try:
        found = _decoded(data, name)
        authority.read_certificates(found)
    except (ValueError, AuthorityError):
        return b""
    return found


def create(hosts: Sequence[str], now: datetime, lifetimes: Lifetimes = LIFETIMES) -> Bundle:
    """A new CA and a certificate for these DNS names and IP addresses."""
    return issue(_authority(now, lifetimes), hosts, now, lifetimes)


def issue(ca: KeyPair, hosts: Sequence[str], now: datetime, lifetimes: Lifetimes = LIFETIMES) -> Bundle:
    """A new server certificate under an existing CA. Raises CertificateError where the CA cannot be read."""
    subject = Subject(hosts[0], hosts=tuple(hosts))
    try:
        server = authority.sign(ca, subject, Usage.SERVER, now, lifetimes.validity)
    except AuthorityError as error:
        raise CertificateError(str(error)) from None
    return Bundle(ca.certificate, ca.key, server.certificate, server.key)


def renewed(bundle: Bundle, hosts: Sequence[str], now: datetime, lifetimes: Lifetimes = LIFETIMES) -> Bundle:
    """``bundle`` itself while it is good; else as it is after the step that is due."""
    ca = KeyPair(bundle.ca_certificate, bundle.ca_key)
    try:
        issuer, _ = authority.read(ca)
    except AuthorityError:
        return create(hosts, now, lifetimes)
    bundle = _mended(bundle)
    server = _read(bundle.certificate)
    following = _read(bundle.following.certificate) if bundle.following is not None else None
    if following is not None and now >= _made(following) + lifetimes.overlap:
        taken = issue(bundle.following or ca, hosts, now, lifetimes)
        return replace(taken, previous_ca=bundle.ca_certificate)
    if not _is_valid(issuer, now):
        return create(hosts, now, lifetimes)
    if bundle.previous_ca and server is not None and now >= _made(server) + lifetimes.overlap:
        bundle = replace(bundle, previous_ca=b"")
    if server is None or not _serves(server, issuer, hosts) or not _lives(server, now, lifetimes):
        made = issue(ca, hosts, now, lifetimes)
        bundle = replace(made, following=bundle.following, previous_ca=bundle.previous_ca)
    if following is None and not _lives(issuer, now, lifetimes):
        return replace(bundle, following=_authority(now, lifetimes))
    return bundle


def _mended(bundle: Bundle) -> Bundle:
    """``bundle`` itself where all of it can be read; else without what cannot."""
    if not bundle.damaged and (bundle.following is None or _is_readable(bundle.following)):
        return bundle
    following = bundle.following if bundle.following is not None and _is_readable(bundle.following) else None
    return replace(bundle, following=following, damaged=())


def _is_readable(pair: KeyPair) -> bool:
    try:
        authority.read(pair)
    except AuthorityError:
        return False
    return True


def _read(pem: bytes) -> x509.Certificate | None:
    try:
        return authority.read_certificate(pem)
    except AuthorityError:
        return None


def _serves(server: x509.Certificate, issuer: x509.Certificate, hosts: Sequence[str]) -> bool:
    return _covers(server, hosts) and server.issuer == issuer.subject


def _made(certificate: x509.Certificate) -> datetime:
    """When it was issued: all reach back a little."""
    return certificate.not_valid_before_utc + SKEW


def renewal_time(bundle: Bundle, lifetimes: Lifetimes = LIFETIMES) -> datetime:
    """When the next step is due: a certificate to be made anew, or a CA on its way to move on."""
    try:
        return min(_due(bundle, lifetimes))
    except AuthorityError as error:
        raise CertificateError(str(error)) from None


def _due(bundle: Bundle, lifetimes: Lifetimes) -> Iterator[datetime]:
    ca = authority.read_certificate(bundle.ca_certificate)
    server = authority.read_certificate(bundle.certificate)
    yield server.not_valid_after_utc - lifetimes.renew_before
    if bundle.following is not None:
        yield _made(authority.read_certificate(bundle.following.certificate)) + lifetimes.overlap
    else:
        yield ca.not_valid_after_utc - lifetimes.renew_before
    if bundle.previous_ca:
        yield _made(server) + lifetimes.overlap


def _authority(now: datetime, lifetimes: Lifetimes) -> KeyPair:
    return authority.create(AUTHORITY, (ORGANISATION,), now, lifetimes.validity)


def _lives(certificate: x509.Certificate, now: datetime, lifetimes: Lifetimes) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - lifetimes.renew_before


def _is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def _covers(certificate: x509.Certificate, hosts: Sequence[str]) -> bool:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    present = set(names.get_values_for_type(x509.DNSName))
    present |= {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    return present >= set(hosts)
