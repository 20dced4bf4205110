"""How much is written down for each kind: lines of its file, and of what of that is a declaration or code."""

import ast
import inspect
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from worker_agent.api.job_kind import JobKind
from worker_agent.jobs import KINDS


class Lines(NamedTuple):
    """``file`` counts all; ``declaration`` the statements of the class, ``hooks`` the bodies of functions; neither
    imports, blank lines nor docstrings."""

    file: int
    declaration: int
    hooks: int


def of(kind: JobKind) -> Lines:
    module = inspect.getmodule(type(kind))
    assert isinstance(module, ModuleType)
    text = Path(str(module.__file__)).read_text()
    declared, coded = _counted(ast.parse(text).body)
    return Lines(len(text.splitlines()), declared, coded)


def _counted(statements: list[ast.stmt]) -> tuple[int, int]:
    declared = coded = 0
    for each in statements:
        length = (each.end_lineno or each.lineno) - each.lineno + 1
        if isinstance(each, ast.FunctionDef):
            coded += length
        elif isinstance(each, ast.ClassDef):
            more, code = _counted(each.body)
            declared, coded = declared + more + 1, coded + code
        elif not isinstance(each, ast.Import | ast.ImportFrom) and not _is_docstring(each):
            declared += length
    return declared, coded


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def by_kind() -> dict[str, Lines]:
    return {kind.resource.kind: of(kind) for kind in KINDS.values()}
