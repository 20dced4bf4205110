"""Where the Services of this cluster really are: there is no network behind it, so somebody has to say."""

from collections.abc import Mapping

from hub.local.apiserver.resources import SERVICES
from hub.local.apiserver.store import State


class ServiceAddresses:
    """Services by (namespace, name): those that ``named`` maps to a base URL such as ``https://127.0.0.1:9443``, and
    Services of type ExternalName, which say it themselves."""

    def __init__(self, named: Mapping[tuple[str, str], str], state: State) -> None:
        self._named = named
        self._state = state

    def base(self, namespace: str, name: str, port: int) -> str:
        """The base URL of a Service; empty where nobody says."""
        if known := self._named.get((namespace, name)):
            return known.rstrip("/")
        stored = self._state.get(SERVICES, namespace, name)
        spec = stored.document().get("spec") or {} if stored is not None else {}
        if spec.get("type") == "ExternalName" and spec.get("externalName"):
            return f"https://{spec['externalName']}:{port}"
        return ""

    def exists(self, namespace: str, name: str) -> bool:
        """Whether there is such a Service, or somebody named its address."""
        return (namespace, name) in self._named or self._state.get(SERVICES, namespace, name) is not None
