"""Takes out of answers what may differ between two servers: times, UIDs, tokens, versions, generated names.

A resourceVersion becomes its rank of first appearance in the script, so that "unchanged" and "changed" stay visible;
the version of a list, which moves with every write anywhere in a cluster, is only masked.
"""

import re
from typing import Any

from tests.realcluster.differential.player import Answer

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
AGE = re.compile(r"^(\d+[smhdy])+$|^<unknown>$|^<invalid>$")
OLD = re.compile(r"(too (?:old|large) resource version): \d+( \(\d+\))?|(resourceVersion|resource version)\D?\s?\d+")


class Masks:
    """One per script and server; answers are given in order."""

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}

    def answer(self, answer: Answer) -> dict[str, Any]:
        """What is compared."""
        return {
            "request": answer.request,
            "status": answer.status,
            "headers": {name: self._text(value) for name, value in answer.headers.items()},
            "body": self._masked(answer.body, ""),
        }

    def _masked(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self._masked(item, key) for item in value]
        if key == "resourceVersion" and isinstance(value, str) and value not in ("", "0"):
            return self._versions.setdefault(value, f"version {len(self._versions) + 1}")
        if key == "continue" and value:
            return "<continue>"
        return self._text(value) if isinstance(value, str) else value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        if str(value.get("kind", "")).endswith("List") or value.get("kind") == "Table" or is_bookmark(value):
            metadata = {**value.get("metadata", {})}
            if metadata.get("resourceVersion"):
                metadata["resourceVersion"] = "<list version>"
            value = {**value, "metadata": metadata}
        masked = {name: self._masked(item, name) for name, item in value.items() if name != "_"}
        metadata = masked.get("metadata")
        if isinstance(metadata, dict) and metadata.get("generateName") and metadata.get("name"):
            metadata["name"] = metadata["generateName"] + "<random>"
        if "cells" in masked:
            masked["cells"] = [
                "<age>" if isinstance(cell, str) and AGE.match(cell) else cell for cell in masked["cells"]
            ]
        return masked

    def _text(self, text: str) -> str:
        text = UID.sub("<uid>", TIME.sub("<time>", text))
        return OLD.sub(lambda found: (found[1] or found[3]) + " <version>", text)


def is_bookmark(value: dict[str, Any]) -> bool:
    annotations = (value.get("metadata") or {}).get("annotations") or {}
    return "k8s.io/initial-events-end" in annotations or (
        set(value.get("metadata") or {}) <= {"resourceVersion", "creationTimestamp"} and "spec" in value
    )
