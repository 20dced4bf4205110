"""The certificate that a TLS server shows, changed while it serves: all servers of a program change theirs here."""

import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

from worker_agent.kube.key_files import key_file
from worker_agent.webhooks.certificates import Bundle

log = logging.getLogger(__name__)

FILES_READ_EVERY_SECONDS: Final = 60.0
"""Certificates that somebody else manages are looked at so often."""

Fresh = Callable[[], ssl.SSLContext]


def _unrestricted() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


class ShownCertificate:
    """``context`` is the server's for all its life. Certificate and key go into a context one after the other, and a
    handshake in between would have a half-changed pair: so each pair goes into a new context, of which every handshake
    learns at its first message. ``fresh`` makes them, and says thereby how callers may speak TLS."""

    def __init__(self, fresh: Fresh = _unrestricted) -> None:
        self._fresh = fresh
        self._shown: ssl.SSLContext | None = None
        self._from: tuple[bytes, bytes] | None = None
        self.context = self._fresh()
        self.context.sni_callback = self._show

    def use(self, bundle: Bundle) -> None:
        """Show this one from the next connection on. Raises OSError (ssl.SSLError) where it is no pair."""
        self._change(bundle.certificate + bundle.ca_certificate, bundle.key)

    def use_files(self, folder: Path) -> bool:
        """Show ``tls.crt`` and ``tls.key`` of a folder; whether they are others than before.

        Raises OSError (ssl.SSLError) where they cannot be read or belong to different pairs, as they may in the moment
        in which they are replaced: what was shown stays.
        """
        return self._change((folder / "tls.crt").read_bytes(), (folder / "tls.key").read_bytes())

    def _change(self, certificate: bytes, key: bytes) -> bool:
        if self._from == (certificate, key):
            return False
        fresh = self._fresh()
        _load(fresh, certificate, key)
        if self._shown is None:
            _load(self.context, certificate, key)
        self._shown, self._from = fresh, (certificate, key)
        return True

    def _show(self, handshake: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        if self._shown is not None:
            handshake.context = self._shown


def _load(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    with key_file(certificate, key) as path:
        context.load_cert_chain(path)
