"""API objects of a recorded case, loaded into a ClusterState the way informers would; other kinds are left out."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from tests.conformance.case import Document
from worker_agent.engine import story_objects
from worker_agent.engine.state import ClusterState
from worker_agent.engine.story_objects import decode, key_of

__all__ = ["decode", "key_of", "load", "put"]


def put(state: ClusterState, document: Document, now: datetime) -> Any:
    """Load one object. Returns what the state says."""
    return story_objects.put(state, document, now) if document["kind"] in story_objects.KINDS else None


def load(state: ClusterState, objects: Iterable[Document], now: datetime) -> None:
    """Load all objects, kind by kind."""
    story_objects.load(state, (o for o in objects if o["kind"] in story_objects.KINDS), now)
