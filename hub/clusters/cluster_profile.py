"""What a ClusterProfile tells of its cluster, and the configured plugin that gets credentials for it.

The profile is written by others: it names a provider and says where the cluster is, never what is run here.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from hub.clusters.kubeconfig_safety import ClientSettings
from worker_agent.api.document import Document
from worker_agent.kube import exec_plugin
from worker_agent.kube.exec_plugin import ExecPlugin

EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
"""The extension of a profile's cluster whose content is handed to the plugin."""


def offers(profile: Document) -> Iterator[Document]:
    """The profile's access providers, then those under the older name. Raises ValueError where they are of another
    form: a definition may let anything through."""
    status: Any = profile.get("status") or {}
    if not isinstance(status, dict):
        raise ValueError("status of the cluster profile must be a mapping")
    for field in ("accessProviders", "credentialProviders"):
        yield from _named(status, field, f"status.{field} of the cluster profile")


@dataclass(frozen=True, slots=True)
class PluginProvider:
    """The AccessProvider called ``name``: ``plugin`` is told of the cluster where ``tells_cluster``."""

    name: str
    plugin: ExecPlugin
    tells_cluster: bool = False

    def __call__(self, profile: Document) -> ClientSettings:
        """Raises ValueError where the profile's data is not of the right form."""
        offer = next((offer for offer in offers(profile) if offer.get("name") == self.name), None)
        cluster: Any = (offer or {}).get("cluster") or {}
        if not isinstance(cluster, dict):
            raise ValueError(f'access provider "{self.name}": cluster must be a mapping')
        told = exec_plugin.cluster_info(cluster, _extension(cluster)) if self.tells_cluster else ""
        return ClientSettings(
            host=_text(cluster, "server"),
            certificate_authority=self._authority(cluster),
            certificate_authority_file=_text(cluster, "certificate-authority"),
            insecure=bool(cluster.get("insecure-skip-tls-verify")),
            tls_server_name=_text(cluster, "tls-server-name"),
            proxy_url=_text(cluster, "proxy-url"),
            exec_plugin=replace(self.plugin, cluster=told),
        )

    def _authority(self, cluster: Document) -> bytes | None:
        data = _text(cluster, "certificate-authority-data")
        try:
            return base64.b64decode(data, validate=True) if data else None
        except (binascii.Error, ValueError):
            raise ValueError(
                f'access provider "{self.name}": certificate-authority-data must be base64 of PEM'
            ) from None


def _text(cluster: Document, field: str) -> str:
    value = cluster.get(field)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{field} of the profile's cluster must be text")
    return value or ""


def _extension(cluster: Document) -> Any:
    entries = _named(cluster, "extensions", "extensions of the profile's cluster")
    return next((each.get("extension") for each in entries if each["name"] == EXEC_EXTENSION), None)


def _named(holder: Document, field: str, place: str) -> list[Document]:
    """A list of entries with a name each."""
    entries: Any = holder.get(field) or []
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries
    ):
        raise ValueError(f"{place} must be a list of named entries")
    return entries
