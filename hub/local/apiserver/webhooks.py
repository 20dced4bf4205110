"""An admission call as data: the core yields one, a shell carries it out and sends the answer back."""

from dataclasses import dataclass

from worker_agent.api.document import Document


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """Post ``review`` (an AdmissionReview) to the webhook within ``timeout`` seconds.

    Either ``url`` is set, or ``service`` as (namespace, name, port, path), which the shell maps to an address.
    """

    webhook: str
    review: Document
    timeout: float
    url: str = ""
    service: tuple[str, str, int, str] | None = None
    ca_bundle: bytes = b""


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The AdmissionReview that came back, or why none did."""

    review: Document | None
    error: str = ""
