"""TLS between an agent and its hub: version 1.3, both sides with certificates of the hub's own authority."""

import ssl

from worker_agent.kube.authority import KeyPair
from worker_agent.kube.key_files import key_file


class UnusablePair(ValueError):
    """A certificate and key that TLS does not take."""


def server(authority: bytes, own: KeyPair) -> ssl.SSLContext:
    """For the hub. A client may come without a certificate (to enrol), but not with a foreign one."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.num_tickets = 0  # a resumed session would outlive the certificate it began with
    load(context, own)
    return context


def client(authority: bytes, own: KeyPair | None = None) -> ssl.SSLContext:
    """For an agent: the hub must prove its name under ``authority``, and no other authority counts."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, authority)
    if own is not None:
        load(context, own)
    return context


def unverified() -> ssl.SSLContext:
    """Only to fetch the authority that a pin is compared with: nothing secret may be sent with it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def load(context: ssl.SSLContext, own: KeyPair) -> None:
    """New connections show this certificate. Raises UnusablePair."""
    with key_file(own.certificate, own.key) as path:
        try:
            context.load_cert_chain(path)
        except ssl.SSLError as error:
            raise UnusablePair(f"certificate and key are not a usable pair: {error.reason}") from None


def _context(purpose: int, authority: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(purpose)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(cadata=authority.decode())
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise UnusablePair(f"the authority's certificate cannot be used: {error}") from None
    return context
