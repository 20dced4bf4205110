"""The official client's asyncio REST object, without what its packages load beside it.

``import kubernetes`` makes the models of two clients: 0.6 s and 25 MB in every process that wants a TLS session.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, Final

import aiohttp

IDLE_SECONDS: Final = 50.0
"""How long a connection is kept that nobody uses: a new one costs both sides a TLS handshake, as much as a small
request. API servers keep theirs for 90 seconds and load balancers often for 60; whoever keeps one as long may send
into a connection that is gone."""

_PACKAGE: Final = "kubernetes"
_PARENTS: Final = (_PACKAGE, f"{_PACKAGE}.aio", f"{_PACKAGE}.aio.client", f"{_PACKAGE}.aio.utils")


def rest_client(**settings: Any) -> Any:
    """``RESTClientObject`` for a ``Configuration`` of these settings. Raises ssl.SSLError for unusable certificates."""
    with _unpacked():
        from kubernetes.aio.client.configuration import Configuration  # noqa: PLC0415 - see the module's docstring
        from kubernetes.aio.client.rest import RESTClientObject  # noqa: PLC0415
    return _keeping_connections(RESTClientObject)(Configuration(**settings))


@cache
def _keeping_connections(base: Any) -> Any:
    """``base`` with a connector, the part of it that is to be overridden for this, that keeps idle connections longer
    than the 15 seconds of its library."""

    class RestClient(base):  # type: ignore[misc]  # the package has no types
        def _create_connector(self) -> aiohttp.TCPConnector:
            return aiohttp.TCPConnector(limit=self.maxsize, ssl=self.ssl_context, keepalive_timeout=IDLE_SECONDS)

    return RestClient


@contextmanager
def _unpacked() -> Iterator[None]:
    """Modules are found where they are, but the packages around them are not run. Others may import them as usual
    afterwards; where that has happened already nothing is left to save."""
    if _PACKAGE in sys.modules:
        yield
        return
    spec = importlib.util.find_spec(_PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    root = spec.submodule_search_locations[0]
    for name in _PARENTS:
        package = ModuleType(name)
        package.__path__ = [os.path.join(root, *name.split(".")[1:])]
        _loaded.setdefault(name, package)
    sys.modules.update(_loaded)
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")]:
            _loaded[name] = sys.modules.pop(name)


_loaded: dict[str, ModuleType] = {}
"""Loaded once: a second session meets the same classes."""
