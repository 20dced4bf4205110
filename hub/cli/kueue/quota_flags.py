"""``--nominal-quota``, ``--borrowing-limit`` and ``--lending-limit``: ``FLAVOR:RESOURCE=QUANTITY;...,FLAVOR:...``."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from worker_agent.api import quantity
from worker_agent.api.document import Document

_RESOURCE: Final = r"(?:(?:\w+(?:[.-]\w+)*[.-]?)?/\w+|\w+(?:[.-]\w+)*)"
"""Written so that no text can be read in many ways: the time to refuse one would grow with their number."""
_SPECIFICATION: Final = re.compile(
    rf"[a-z0-9][a-z0-9\-.]{{0,252}}:(?:{_RESOURCE}=[\w.+-]+;)*{_RESOURCE}=[\w.+-]+;?", re.ASCII
)
Quotas = dict[str, dict[str, Document]]
"""By flavor and resource, what is asked of it: nominalQuota, borrowingLimit, lendingLimit."""


class QuotaFlagError(ValueError):
    """The text names the option and what it must be."""


def resource_groups(nominal: Sequence[str], borrowing: Sequence[str], lending: Sequence[str]) -> list[Document]:
    """``spec.resourceGroups`` of a ClusterQueue: flavors with the same resources are one group. Raises
    QuotaFlagError."""
    quotas: Quotas = {}
    for option, field, given in (
        ("--nominal-quota", "nominalQuota", nominal),
        ("--borrowing-limit", "borrowingLimit", borrowing),
        ("--lending-limit", "lendingLimit", lending),
    ):
        for specification in _split(given):
            _add(quotas, option, field, specification)
    groups: list[Document] = []
    for flavor, resources in quotas.items():
        _join(groups, flavor, resources)
    return groups


def _split(given: Iterable[str]) -> list[str]:
    return [part.strip() for text in given for part in text.split(",") if part.strip()]


def _add(quotas: Quotas, option: str, field: str, specification: str) -> None:
    if not _SPECIFICATION.fullmatch(specification):
        raise QuotaFlagError(
            f"{option}: invalid resources specification {specification!r}; write FLAVOR:RESOURCE=QUANTITY, more"
            " resources after a semicolon, more flavors after a comma"
        )
    flavor, _, rest = specification.partition(":")
    amounts: dict[str, str] = {}
    for pair in filter(None, rest.split(";")):
        name, _, amount = pair.partition("=")
        try:
            quantity.nanos(amount)
        except quantity.QuantityError as error:
            raise QuotaFlagError(f"{option}: invalid resource quota: {error}") from None
        amounts[name] = amount
    known = quotas.setdefault(flavor, {name: {"name": name, "nominalQuota": "0"} for name in amounts})
    if known.keys() != amounts.keys():
        raise QuotaFlagError(
            f"{option}: invalid flavor {flavor!r}: it has the resources {', '.join(known)} and {', '.join(amounts)};"
            " name the same in every option"
        )
    for name, amount in amounts.items():
        known[name][field] = amount


def _join(groups: list[Document], flavor: str, resources: dict[str, Document]) -> None:
    entry = {"name": flavor, "resources": list(resources.values())}
    for group in groups:
        if set(group["coveredResources"]) == set(resources):
            order = group["coveredResources"]
            entry["resources"] = [resources[name] for name in order]
            group["flavors"].append(entry)
            return
        if shared := set(group["coveredResources"]) & set(resources):
            raise QuotaFlagError(
                f"invalid resource group: {', '.join(sorted(shared))} of flavor {flavor!r} is in another group with"
                f" other resources ({', '.join(group['coveredResources'])}); flavors that share one must share all"
            )
    groups.append({"coveredResources": list(resources), "flavors": [entry]})
