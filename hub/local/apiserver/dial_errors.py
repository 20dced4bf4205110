"""Go's words for connections that do not come about."""

import re

import aiohttp

_ADDRESS = re.compile(r"\('([^']+)', (\d+)")


def complaint(error: Exception) -> str:
    """As the real server's messages quote the error; its own words where nothing better is known."""
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        found = _ADDRESS.search(str(error))
        host, port = (found[1], found[2]) if found else (error.host, error.port)
        if isinstance(error.os_error, ConnectionRefusedError):
            return f"dial tcp {host}:{port}: connect: connection refused"
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return f"dial tcp: lookup {error.host}: no such host"
    return str(error) or "context deadline exceeded"
