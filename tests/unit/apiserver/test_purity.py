"""The core decides and does no I/O: its modules import nothing that could."""

import ast
from pathlib import Path

import hub.local.apiserver

FORBIDDEN = {
    "aiohttp", "asyncio", "cryptography", "kubernetes", "logging", "os", "prometheus_client", "random", "ray", "socket",
    "sqlite3", "ssl", "tempfile", "tenacity", "threading", "time",
}  # fmt: skip
SHELLS = {
    "api_server", "availability", "certificates", "dial_errors", "http", "in_process", "key_files", "kubeconfig_files",
    "persistence", "relay_client", "serve", "webhook_client",
}  # fmt: skip


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_core_imports_no_input_or_output() -> None:
    folder = Path(hub.local.apiserver.__file__).parent
    wrong = {
        path.name: sorted(found)
        for path in [*folder.glob("*.py"), *folder.glob("schema/*.py")]
        if path.stem not in SHELLS
        and (found := {name for name in imported(path) if name.partition(".")[0] in FORBIDDEN})
    }
    assert wrong == {}


def test_core_does_not_know_its_shells() -> None:
    folder = Path(hub.local.apiserver.__file__).parent
    shells = {f"hub.local.apiserver.{name}" for name in SHELLS}
    wrong = {path.name for path in folder.glob("*.py") if path.stem not in SHELLS and imported(path) & shells}
    assert wrong == set()
