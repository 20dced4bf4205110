"""The words of refusals that many tables share."""

from tests.unit.validation.front_door import refusals
from tests.unit.validation.manifests import Document

ROW = "spec__resourceGroups__0__flavors__0__resources__0"
QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"
NOT_NEGATIVE = 'Invalid value: "-1": must be greater than or equal to 0'
SMALL_WEIGHT = "When not 0, weight must be > 10e-9"
LABEL = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
LABEL_KEY = (
    f"name part {LABEL} (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    f"a valid label must be an empty string or {LABEL[5:]} (e.g. 'MyValue',  or 'my_value',  or '12345', "
    "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
EFFECTS = "'NoSchedule', 'PreferNoSchedule', 'NoExecute'"


def mismatch(path: str, text: str, pattern: str) -> str:
    return f"{path}: Invalid value: \"{text}\": {path} in body should match '{pattern}'"


def choices(path: str, value: str, *allowed: str) -> str:
    return f'{path}: Unsupported value: "{value}": supported values: ' + ", ".join(f'"{choice}"' for choice in allowed)


def told(new: Document, old: Document | None = None, *, subresource: str = "") -> list[str]:
    """The refusals, without the note that CEL rules were left out."""
    lines = refusals(new, old, subresource=subresource)
    return [line for line in lines if "some validation rules were not checked" not in line]
