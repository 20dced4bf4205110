"""Which HTTP proxy the environment names for a server: HTTPS_PROXY, HTTP_PROXY, NO_PROXY."""

import urllib.request
from urllib.parse import urlsplit


def from_environment(server: str) -> str | None:
    """The proxy for this URL; None: direct."""
    parts = urlsplit(server)
    if not parts.hostname or urllib.request.proxy_bypass(parts.hostname):
        return None
    return urllib.request.getproxies().get(parts.scheme)
