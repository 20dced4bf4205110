"""The ``tls`` stanza on the sockets a program serves: webhooks, metrics and the visibility API."""

import ssl
from collections.abc import Sequence
from typing import Final

from worker_agent.serving_settings import TransportSecurity

# IANA names, as Go and Kubernetes write them, and what OpenSSL calls the same. Suites of TLS 1.3 cannot be chosen
# (neither in Go); those that Go counts as insecure are left out.
CIPHER_SUITES: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
}
CURVES: Final = {23: "prime256v1", 24: "secp384r1", 25: "secp521r1", 29: "X25519"}
"""IANA numbers of key exchange groups."""


def server_context(stanza: TransportSecurity) -> ssl.SSLContext:
    """A context without a certificate. The stanza has been checked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    restrict(context, stanza)
    return context


def restrict(context: ssl.SSLContext, stanza: TransportSecurity) -> None:
    """Suites bind TLS 1.2 only, as in Go."""
    newest = stanza.min_version == "VersionTLS13"
    context.minimum_version = ssl.TLSVersion.TLSv1_3 if newest else ssl.TLSVersion.TLSv1_2
    suites = [CIPHER_SUITES[name] for name in stanza.cipher_suites]
    if chosen := [suite for suite in suites if suite]:
        context.set_ciphers(":".join(chosen))
    if stanza.curve_preferences:
        context.set_ecdh_curve(CURVES[stanza.curve_preferences[0]])


def problem(cipher_suites: Sequence[str], curves: Sequence[int]) -> str:
    """What in the stanza cannot be served; empty when all can."""
    for name in cipher_suites:
        if name not in CIPHER_SUITES:
            return f"cipherSuites: {name!r}: must be one of {', '.join(CIPHER_SUITES)}"
    for number in curves:
        if number not in CURVES:
            return f"curvePreferences: {number}: must be one of {', '.join(map(str, CURVES))}"
    if len(curves) > 1:
        return f"curvePreferences: {list(curves)}: only one can be served; leave the preferred one"
    return ""
