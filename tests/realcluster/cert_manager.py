"""What cert-manager would do with the objects of a chart, where there is none: certificates, and their CAs put in."""

import base64
import copy
import json
from datetime import UTC, datetime
from typing import Any, Final

from tests.realcluster.helm import Objects
from worker_agent.webhooks import certificates
from worker_agent.webhooks.certificates import Bundle

KINDS: Final = frozenset({"Issuer", "Certificate"})
ANNOTATION: Final = "cert-manager.io/inject-ca-from"


class CertManager:
    """``made`` is the chart's; ``bundles`` are the certificates that it asks for, by namespace and name."""

    def __init__(self, made: Objects) -> None:
        self._made = made
        now = datetime.now(UTC)
        wanted = {key[1:]: found["spec"] for key, found in made.items() if key[0] == "Certificate"}
        self.bundles = {key: certificates.create(spec["dnsNames"], now) for key, spec in wanted.items()}
        self._secrets = [
            _secret(namespace, wanted[namespace, name]["secretName"], bundle)
            for (namespace, name), bundle in self.bundles.items()
        ]

    def objects(self) -> str:
        """What stands in the cluster then, as a List in JSON; the operator's own kinds are left out."""
        plain = [self._trusting(found) for (kind, _, _), found in self._made.items() if kind not in KINDS]
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": [*self._secrets, *plain]})

    def _trusting(self, found: dict[str, Any]) -> dict[str, Any]:
        source = (found["metadata"].get("annotations") or {}).get(ANNOTATION)
        if source is None:
            return found
        namespace, _, name = source.partition("/")
        told = {"caBundle": base64.b64encode(self.bundles[namespace, name].ca_certificate).decode()}
        changed = copy.deepcopy(found)
        for place in _clients(changed):
            place.update(told)
        return changed


def _clients(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of an object that say whom to trust."""
    if found["kind"] == "APIService":
        return [found["spec"]]
    if found["kind"] == "CustomResourceDefinition":
        return [found["spec"]["conversion"]["webhook"]["clientConfig"]]
    return [hook["clientConfig"] for hook in found["webhooks"]]


def _secret(namespace: str, name: str, bundle: Bundle) -> dict[str, Any]:
    data = {"ca.crt": bundle.ca_certificate, "tls.crt": bundle.certificate, "tls.key": bundle.key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name, "namespace": namespace},
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }
