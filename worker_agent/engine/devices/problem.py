"""Why a claim cannot be served, in the words of the API server's field errors."""

from collections.abc import Iterable
from typing import NamedTuple


class FieldProblem(NamedTuple):
    """One field that is wrong. ``value`` is printed as given: already quoted where it is text."""

    field: str
    type: str
    value: str
    detail: str

    def __str__(self) -> str:
        parts = (f"{self.type}: {self.value}" if self.value else self.type, self.detail)
        return f"{self.field}: " + ": ".join(part for part in parts if part)

    @property
    def passing(self) -> bool:
        """The cluster may come to serve it without anybody changing the Workload."""
        return self.type == INTERNAL


INVALID = "Invalid value"
NOT_FOUND = "Not found"
INTERNAL = "Internal error"


class DeviceProblem(ValueError):
    """Claims that cannot be served; ``passing`` ones are worth another try."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = tuple(problems)
        texts = list(dict.fromkeys(map(str, self.problems)))
        super().__init__(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")

    @property
    def passing(self) -> bool:
        return any(problem.passing for problem in self.problems)

    def within(self, template: str) -> "DeviceProblem":
        """Told of the template that asks for it."""
        prefix = f"ResourceClaimTemplate {template}: "
        return DeviceProblem(problem._replace(detail=prefix + problem.detail) for problem in self.problems)


def invalid(field: str, detail: str, value: str = "null") -> DeviceProblem:
    return DeviceProblem([FieldProblem(field, INVALID, value, detail)])


def not_found(field: str, what: str) -> DeviceProblem:
    return DeviceProblem([FieldProblem(field, NOT_FOUND, f'"{what}"', "")])


def internal(field: str, detail: str) -> DeviceProblem:
    return DeviceProblem([FieldProblem(field, INTERNAL, "", detail)])
