"""One request on its way through the core: what every handler needs, in one place."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hub.local.apiserver import event_versions
from hub.local.apiserver.answer import Answer, Form
from hub.local.apiserver.identity import Identity
from hub.local.apiserver.request_path import Target
from hub.local.apiserver.resources import Resource
from hub.local.apiserver.schemas import GVK, Schemas
from hub.local.apiserver.store import State, Stored, encode
from hub.local.apiserver.webhooks import WebhookAnswer, WebhookCall
from worker_agent.api.document import Document
from worker_agent.kube.transport import Request

Steps = Generator[WebhookCall, WebhookAnswer, Answer]
"""A request being answered: it yields the webhook calls it needs and is resumed with their answers."""


@dataclass(slots=True)
class Call:
    state: State
    schemas: Schemas
    request: Request
    query: Mapping[str, str]
    target: Target
    identity: Identity
    now: datetime
    form: Form
    warnings: list[str] = field(default_factory=list)
    kept: Document | None = None
    """What is about to be stored, where that is another version than the call's."""
    resource: Resource = field(init=False)
    gvk: GVK = field(init=False)

    def __post_init__(self) -> None:
        # The target may become another object in between, as where a collection is deleted; its kind stays.
        resource = self.resource = self.target.resource
        self.gvk = GVK(resource.group, resource.version, resource.kind)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def document_of(resource: Resource, stored: Stored) -> Document:
    """The object as this version shows it; a fresh document."""
    document: Document = {"kind": resource.kind, "apiVersion": resource.api_version}
    document.update(stored.document(resource.version))
    return event_versions.shown(resource, document)


def frozen_of(resource: Resource, stored: Stored) -> Document:
    """The same where only its first level is the caller's: what lies below is shared and may not be changed."""
    document: Document = {"kind": resource.kind, "apiVersion": resource.api_version}
    document.update(stored.frozen(resource.version))
    return event_versions.shown(resource, document)


def bytes_of(resource: Resource, stored: Stored) -> bytes:
    """The object encoded; a splice of bytes except for events of the group they are not kept in."""
    if event_versions.differs(resource):
        return encode(document_of(resource, stored))
    return resource.head + stored.seen(resource.version)
