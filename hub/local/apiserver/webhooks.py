"""A call to a webhook as data: the core yields one, a shell carries it out and sends the answer back."""

import base64
from dataclasses import dataclass

from worker_agent.api.document import Document


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """Post ``review`` (an AdmissionReview or ConversionReview) to the webhook within ``timeout`` seconds.

    Either ``url`` is set, or ``service`` as (namespace, name, port, path), which the shell maps to an address.
    """

    webhook: str
    review: Document
    timeout: float
    url: str = ""
    service: tuple[str, str, int, str] | None = None
    ca_bundle: bytes = b""


def to_client(name: str, client: Document, review: Document, timeout: float) -> WebhookCall:
    """The call to a ``clientConfig`` as definitions and webhook configurations have it."""
    service = client.get("service")
    address = None
    if service:
        address = (service["namespace"], service["name"], service.get("port") or 443, service.get("path") or "/")
    bundle = base64.b64decode(client.get("caBundle") or "")
    return WebhookCall(name, review, timeout, client.get("url") or "", address, bundle)


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The review that came back, or why none did."""

    review: Document | None
    error: str = ""
