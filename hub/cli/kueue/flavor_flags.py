"""``--node-labels``, ``--node-taints`` and ``--tolerations`` of a ResourceFlavor, and other ``KEY=VALUE`` options."""

from collections.abc import Sequence
from typing import Final

from worker_agent.api.document import Document
from worker_agent.validation import formats

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class FlavorFlagError(ValueError):
    """The text names the option and what it must be."""


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """``KEY=VALUE,KEY=VALUE`` as labels. Raises FlavorFlagError."""
    found: dict[str, str] = {}
    for text in _split(given):
        key, separator, value = text.partition("=")
        if not separator:
            raise FlavorFlagError(f"{option}: {text!r} must be formatted as key=value")
        found[key] = value
    return found


def taints(given: Sequence[str]) -> list[Document]:
    """``KEY[=VALUE]:EFFECT``, each key once for an effect. Raises FlavorFlagError."""
    found: list[Document] = []
    for text in _split(given):
        key, value, effect = _parts("taint", text)
        if not effect:
            raise FlavorFlagError(f"--node-taints: invalid taint spec: {text}, write KEY[=VALUE]:EFFECT")
        _check("taint", text, key, value, effect)
        if any((each["key"], each["effect"]) == (key, effect) for each in found):
            raise FlavorFlagError(f"--node-taints: duplicated taints with the same key and effect: {text}")
        found.append({"key": key, **({"value": value} if value else {}), "effect": effect})
    return found


def tolerations(given: Sequence[str]) -> list[Document]:
    """``KEY[=VALUE][:EFFECT]`` or ``:EFFECT``. Raises FlavorFlagError."""
    found: list[Document] = []
    for text in _split(given):
        key, value, effect = _parts("toleration", text)
        if not key and (value or not effect):
            raise FlavorFlagError(f"--tolerations: invalid toleration spec: {text}")
        _check("toleration", text, key, value, effect)
        toleration = {"key": key, "operator": "Equal" if key and value else "Exists", "value": value, "effect": effect}
        found.append({name: told for name, told in toleration.items() if told})
    return found


def _split(given: Sequence[str]) -> list[str]:
    return [part for text in given for part in text.split(",") if part]


def _parts(what: str, text: str) -> tuple[str, str, str]:
    rest, _, effect = text.partition(":")
    key, _, value = rest.partition("=")
    if ":" in effect or "=" in value:
        raise FlavorFlagError(f"--{_option(what)}: invalid {what} spec: {text}")
    return key, value, effect


def _check(what: str, text: str, key: str, value: str, effect: str) -> None:
    if effect and effect not in EFFECTS:
        raise FlavorFlagError(
            f"--{_option(what)}: invalid taint effect: {effect}, unsupported taint effect; it is one of"
            f" {', '.join(EFFECTS)}"
        )
    problems = [*(formats.label_key(key) if key or what == "taint" else ()), *formats.label_value(value)]
    if problems:
        raise FlavorFlagError(f"--{_option(what)}: invalid {what} spec: {text}, {'; '.join(problems)}")


def _option(what: str) -> str:
    return "node-taints" if what == "taint" else "tolerations"
