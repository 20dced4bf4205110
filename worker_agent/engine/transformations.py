"""Resource transformations of the configuration, applied to the request vector of one pod (spec/engine 3.5)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from worker_agent.api import quantity


@dataclass(frozen=True, slots=True)
class Transformation:
    """What one requested resource becomes: ``outputs`` per unit of it, times the request for ``multiply_by``."""

    outputs: Mapping[str, Fraction]
    retain: bool = True
    multiply_by: str = ""


def read_transformations(stanzas: Iterable[Mapping[str, Any]]) -> dict[str, Transformation]:
    """The configuration's ``resources.transformations`` by input. Raises quantity.QuantityError."""
    return {
        stanza["input"]: Transformation(
            outputs={name: quantity.parse(amount) for name, amount in (stanza.get("outputs") or {}).items()},
            retain=(stanza.get("strategy") or "Retain") == "Retain",
            multiply_by=stanza.get("multiplyBy") or "",
        )
        for stanza in stanzas
    }


def transform(requests: Mapping[str, Fraction], rules: Mapping[str, Transformation]) -> dict[str, Fraction]:
    """The vector after all rules; exact, outputs are not transformed again, a negative output counts as nothing."""
    if not any(name in rules for name in requests):
        return dict(requests)
    result: dict[str, Fraction] = {}
    generated: dict[str, Fraction] = {}
    for name, amount in requests.items():
        rule = rules.get(name)
        if rule is None or rule.retain:
            result[name] = amount
        if rule is not None:
            base = amount * requests.get(rule.multiply_by, 1)
            for output, factor in rule.outputs.items():
                generated[output] = generated.get(output, Fraction(0)) + base * factor
    for output, amount in generated.items():
        result[output] = result.get(output, Fraction(0)) + max(Fraction(0), amount)
    return result
