"""What ``scripts/compile`` lists can be compiled: mypyc says so only after minutes, or when the module is used."""

import ast
import re
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]
CLASS = re.compile(r"^class \w+\(([^)]*)\)", re.MULTILINE)
"""Its bases."""


@cache
def script() -> ModuleType:
    loader = SourceFileLoader("compile_script", str(ROOT / "scripts" / "compile"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@cache
def compiled() -> dict[str, ast.Module]:
    listed = [*script().MODULES, *script().SERVER_MODULES, *script().HISTORY_MODULES]
    assert len(set(listed)) == len(listed)
    return {path: ast.parse((ROOT / path).read_text()) for path in listed}


def own_nodes(function: ast.AsyncFunctionDef) -> list[ast.AST]:
    """Those of the function itself, without functions inside of it."""
    found: list[ast.AST] = list(function.body)
    for node in found:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found.extend(ast.iter_child_nodes(node))
    return found


def test_no_asynchronous_generator_is_compiled() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path, tree in compiled().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef) and any(isinstance(inner, ast.Yield) for inner in own_nodes(node))
    ]
    assert found == []


def test_no_compiled_class_needs_a_dictionary_or_weak_references() -> None:
    found = [
        f"{path}: {node.id}"
        for path, tree in compiled().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and (node.id == "cached_property" or node.id.startswith("Weak"))
    ]
    assert found == []


def test_no_plain_class_extends_a_compiled_one() -> None:
    made = {
        (path.removesuffix(".py").replace("/", "."), node.name)
        for path, tree in compiled().items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    names = {name for _, name in made}
    found = []
    for source in (path for folder in ("worker_agent", "hub") for path in (ROOT / folder).rglob("*.py")):
        path, text = str(source.relative_to(ROOT)), source.read_text()
        bases = {base.strip() for listed in CLASS.findall(text) for base in listed.split(",")} & names
        if path in compiled() or not bases:
            continue
        taken = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.parse(text).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        found += [f"{path}: {base}" for base in bases if taken.get(base) in made]
    assert found == []


def test_a_part_that_is_compiled_by_itself_has_a_name() -> None:
    groups = script().groups(list(compiled()))
    assert sorted(module for group in groups.values() for module in group) == sorted(compiled())
