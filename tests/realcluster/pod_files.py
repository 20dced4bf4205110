"""What a pod's containers find: their environment, and folders for what they mount. Reads the API server, writes files.

Config maps, secrets, empty folders and the service account's folder, as a kubelet lays them out.
"""

import base64
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from worker_agent.api.document import Document
from worker_agent.api.resource_type import SECRETS, ResourceType
from worker_agent.kube.client import Client
from worker_agent.kube.errors import NotFound

CONFIG_MAPS: Final = ResourceType("", "v1", "ConfigMap", "configmaps")
SERVICE_ACCOUNTS: Final = ResourceType("", "v1", "ServiceAccount", "serviceaccounts")
SERVICE_ACCOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class ApiServer:
    """Where pods find the API server, and by which authority they know it."""

    host: str
    port: int
    authority: bytes


@dataclass(frozen=True, slots=True)
class PodFiles:
    """The files of one pod under ``folder``."""

    client: Client
    pod: Document
    folder: Path
    server: ApiServer

    @property
    def namespace(self) -> str:
        return str(self.pod["metadata"]["namespace"])

    async def mounts(self, container: Document) -> dict[str, tuple[Path, bool]]:
        """Path in the container -> (folder of this machine, whether it may be written)."""
        volumes = {volume["name"]: volume for volume in self.pod["spec"].get("volumes") or []}
        found: dict[str, tuple[Path, bool]] = {}
        for mount in container.get("volumeMounts") or []:
            source = self._inside("volumes", mount["name"])
            await self._fill(source, volumes[mount["name"]])
            writable = "emptyDir" in volumes[mount["name"]] and not mount.get("readOnly", False)
            found[mount["mountPath"]] = (source / mount.get("subPath", ""), writable)
        if self.pod["spec"].get("automountServiceAccountToken", True):
            await self.write_token()
            found[SERVICE_ACCOUNT_PATH] = (self._inside("service-account"), False)
        return found

    async def write_token(self) -> datetime:
        """A new token, bound to the pod, in place of the one before; when it expires."""
        folder = self._inside("service-account")
        meta = self.pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS, "boundObjectRef": bound},
        }
        account = self.pod["spec"].get("serviceAccountName") or "default"
        made = msgspec.json.decode(
            await self.client.create(SERVICE_ACCOUNTS, request, self.namespace, name=account, subresource="token")
        )
        (folder / "ca.crt").write_bytes(self.server.authority)
        (folder / "namespace").write_text(self.namespace)
        written = folder / ".token"
        written.write_text(made["status"]["token"])
        written.chmod(0o600)
        written.replace(folder / "token")
        return datetime.fromisoformat(made["status"]["expirationTimestamp"])

    async def environment(self, container: Document) -> dict[str, str]:
        """What the pod says, and how to find the API server."""
        found = {"KUBERNETES_SERVICE_HOST": self.server.host, "KUBERNETES_SERVICE_PORT": str(self.server.port)}
        for variable in container.get("env") or []:
            if "value" in variable:
                found[variable["name"]] = variable["value"]
            elif "valueFrom" in variable:
                found[variable["name"]] = await self._referred(variable["valueFrom"])
        return found

    async def _referred(self, source: Document) -> str:
        if "fieldRef" in source:
            value: Any = self.pod
            for part in source["fieldRef"]["fieldPath"].split("."):
                value = value[part]
            return str(value)
        if "configMapKeyRef" in source:
            return (await self._data(CONFIG_MAPS, source["configMapKeyRef"]["name"]))[
                source["configMapKeyRef"]["key"]
            ].decode()
        found = await self._data(SECRETS, source["secretKeyRef"]["name"])
        return found[source["secretKeyRef"]["key"]].decode()

    async def _fill(self, folder: Path, volume: Document) -> None:
        if "emptyDir" in volume:
            return
        if "configMap" in volume:
            content = await self._data(CONFIG_MAPS, volume["configMap"]["name"], volume["configMap"])
        elif "secret" in volume:
            content = await self._data(SECRETS, volume["secret"]["secretName"], volume["secret"])
        else:
            raise ValueError(f"volume {volume['name']} of pod {self.pod['metadata']['name']}: a sort not played here")
        for name, data in content.items():
            (folder / name).write_bytes(data)

    async def _data(self, resource: ResourceType, name: str, volume: Document | None = None) -> Mapping[str, bytes]:
        try:
            found = msgspec.json.decode(await self.client.get(resource, name, self.namespace))
        except NotFound:
            if (volume or {}).get("optional"):
                return {}
            raise
        texts = {key: value.encode() for key, value in (found.get("data") or {}).items()}
        return {key: base64.b64decode(value) for key, value in texts.items()} if resource is SECRETS else texts

    def _inside(self, *parts: str) -> Path:
        made = self.folder.joinpath(*parts)
        made.mkdir(parents=True, exist_ok=True)
        return made

    def root(self) -> Path:
        """An empty folder, for ``pod_root``."""
        return self._inside("root")

    def remove(self) -> None:
        """The pod is gone, and its files with it; its log stays."""
        for name in ("root", "volumes", "service-account"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
