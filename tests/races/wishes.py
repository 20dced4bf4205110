"""What the user of a subject last asked for."""

from dataclasses import dataclass, field
from typing import Any

from tests.races.subjects import Subject
from worker_agent.api.document import Document


@dataclass
class Wish:
    """``asked`` stands at JSON pointers of the object; ``hurt``: pods were deleted, so a job may have failed."""

    subject: Subject
    wanted: bool = False
    names: list[str] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    hurt: bool = False
    evicted: bool = False
    """Its queue was drained: pods that ran are gone then, and nobody makes them again."""
    uids: set[str] = field(default_factory=set)
    """Of every object of it that ever was."""

    def made(self, documents: list[Document]) -> None:
        """It is to be there, as its user wrote it."""
        self.wanted, self.hurt, self.evicted = True, False, False
        self.names = [document["metadata"]["name"] for document in documents]
        self.asked = {}

    def exists(self, document: Document) -> None:
        self.uids.add(document["metadata"]["uid"])

    def gone(self) -> None:
        self.wanted = False
        self.asked = {}
