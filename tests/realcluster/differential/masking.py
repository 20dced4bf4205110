"""Takes out of answers what may differ between two servers: times, UIDs, tokens, versions, generated names.

A resourceVersion becomes its rank of first appearance in the script, so that "unchanged" and "changed" stay visible;
the version of a list, which moves with every write anywhere in a cluster, is only masked. What the real server orders
by chance (a Go map, or whether a second passed) is sorted: causes of a refusal, managedFields, discovery.
"""

import json
import re
from typing import Any

from tests.realcluster.differential.player import Answer

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
RECORD = re.compile(r"(?<=in record \()\d+(?=\))|(?<=current: )\d+")
DUMP = re.compile(r'Invalid value: ("?)\{.*"(?:kind|containers|Containers)\\?":.*\}\1: ')
"""Whole objects inside of messages: the real server prints its internal Go structs there."""
DIFF = re.compile(r"\n@@.*", re.DOTALL)
"""What a refused change of a pod ends with: a diff of Go structs."""
AGE = re.compile(r"^(\d+[smhdy])+$|^<unknown>$|^<invalid>$")
OLD = re.compile(r'(too (?:old|large) resource version): \d+( \(\d+\))?|(resourceVersion|resource version):?\s?"?\d+"?')
RANDOM = re.compile(r"(?<=[-_])[bcdfghjklmnpqrstvwxz2456789]{5}\b")
"""What generateName adds: five characters of an alphabet without vowels."""
DIGEST = re.compile(r"X509SHA256=[0-9a-f]{64}")
ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+\b|\b127\.0\.0\.1:\d+")


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
            "body": _ordered(self._masked(answer.body, "")),
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
        masked = {UID.sub("<uid>", name): self._masked(item, name) for name, item in value.items()}
        if "cells" in masked:
            masked["cells"] = [
                "<age>" if isinstance(cell, str) and AGE.match(cell) else cell for cell in masked["cells"]
            ]
        return masked

    def _text(self, text: str) -> str:
        text = UID.sub("<uid>", TIME.sub("<time>", DIGEST.sub("<digest>", text)))
        text = RANDOM.sub("<random>", ADDRESS.sub("<address>", text))
        text = DIFF.sub("", DUMP.sub(r"Invalid value: \1<object>\1: ", RECORD.sub("<version>", text)))
        return OLD.sub(lambda found: (found[1] or found[3]) + " <version>", text)


def _ordered(body: Any) -> Any:
    """The same with everything sorted whose order means nothing."""
    if isinstance(body, list):
        return [_ordered(item) for item in body]
    if not isinstance(body, dict):
        return body
    body = {name: _ordered(value) for name, value in body.items()}
    for name in SORTED & set(body):
        body[name] = _sorted(body[name])
    details = body.get("details")
    if isinstance(details, dict) and len(details.get("causes", ())) > 1:
        body["message"] = str(body.get("message")).partition("[")[0]  # the causes say the rest
    return body


SORTED = frozenset({"causes", "managedFields", "resources"})


def _sorted(entries: Any) -> Any:
    """Entries in the order of their text, each once: a cause that two validations find is said twice."""
    if not isinstance(entries, list):
        return entries
    return [entry for _, entry in sorted({json.dumps(entry, sort_keys=True): entry for entry in entries}.items())]


def is_bookmark(value: dict[str, Any]) -> bool:
    annotations = (value.get("metadata") or {}).get("annotations") or {}
    return "k8s.io/initial-events-end" in annotations or (
        set(value.get("metadata") or {}) <= {"resourceVersion", "creationTimestamp"} and "spec" in value
    )
