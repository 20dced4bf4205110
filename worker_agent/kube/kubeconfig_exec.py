"""The ``exec`` of a kubeconfig's user: a program of the user's own machine that says how to log in.

Read only where the file is the user's own, named on the command line or found as kubectl finds it; a kubeconfig that
came out of a cluster never starts a program. Rules are those of client.authentication.k8s.io and of kubectl.
"""

import base64
import os
import sys
from pathlib import Path
from typing import Any, Final

from worker_agent.api.document import Document
from worker_agent.kube import exec_plugin
from worker_agent.kube.exec_plugin import ExecPlugin, Terminal

VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXTENSION: Final = "client.authentication.k8s.io/exec"
"""Of a cluster's extensions, the one that is handed to plugins."""
MODES: Final = ("Never", "IfAvailable", "Always")


class StanzaError(ValueError):
    """``field`` of ``exec`` (empty: all of it) cannot be used; the text says what would be right."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(what)
        self.field = field


def read(stanza: object, cluster: Document, ca: bytes | None, folder: Path | None) -> ExecPlugin:
    """``cluster`` is the kubeconfig's, with its authority read; a command with a path is relative to ``folder``."""
    if not isinstance(stanza, dict):
        raise StanzaError("", "must be a mapping with apiVersion and command")
    version = _text(stanza, "apiVersion")
    if version not in VERSIONS:
        raise StanzaError("apiVersion", f"must be one of {', '.join(VERSIONS)}; newer releases of the plugin have it")
    told = ""
    if stanza.get("provideClusterInfo"):
        told = exec_plugin.cluster_info(_with_authority(cluster, ca), _configuration(cluster))
    return ExecPlugin(
        command=_command(stanza, folder),
        api_version=version,
        args=_arguments(stanza),
        environment=_environment(stanza),
        install_hint=_text(stanza, "installHint"),
        cluster=told,
        terminal=_terminal(stanza, version),
    )


def resolved_command(command: str, folder: Path) -> str:
    """A name is looked up on PATH; what has a path in it is relative to the kubeconfig's folder."""
    return str(folder.absolute() / command) if os.sep in command else command


def _command(stanza: Document, folder: Path | None) -> str:
    command = _text(stanza, "command")
    if not command:
        raise StanzaError("command", "is required")
    return resolved_command(command, folder) if folder is not None else command


def _terminal(stanza: Document, version: str) -> Terminal:
    """Raises StanzaError where a plugin wants to ask the user and cannot."""
    mode = _text(stanza, "interactiveMode")
    if not mode and version == VERSIONS[1]:
        mode = "IfAvailable"
    if mode not in MODES:
        raise StanzaError("interactiveMode", f"must be one of {', '.join(MODES)}")
    if mode == "Never":
        return Terminal.TOLD
    asks = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not asks:
        raise StanzaError(
            "interactiveMode", "is Always, and standard input is not a terminal: run the command in a terminal"
        )
    return Terminal.ASKED if asks else Terminal.TOLD


def _arguments(stanza: Document) -> tuple[str, ...]:
    arguments = stanza.get("args") or []
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        raise StanzaError("args", "must be a list of texts")
    return tuple(arguments)


def _environment(stanza: Document) -> tuple[tuple[str, str], ...]:
    found = stanza.get("env") or []
    if not isinstance(found, list):
        raise StanzaError("env", "must be a list of name and value")
    pairs = []
    for position, each in enumerate(found):
        name, value = (each.get("name"), each.get("value") or "") if isinstance(each, dict) else (None, "")
        if not isinstance(name, str) or not name or not isinstance(value, str):
            raise StanzaError(f"env[{position}]", "must have a name and a value, both texts")
        pairs.append((name, value))
    return tuple(pairs)


def _with_authority(cluster: Document, ca: bytes | None) -> Document:
    """Files are told by their content."""
    return cluster if ca is None else {**cluster, "certificate-authority-data": base64.b64encode(ca).decode()}


def _configuration(cluster: Document) -> Any:
    extensions = cluster.get("extensions") or ()
    found = [each for each in extensions if isinstance(each, dict) and each.get("name") == EXTENSION]
    return found[0].get("extension") if found else None


def _text(stanza: Document, field: str) -> str:
    value = stanza.get(field)
    if value is not None and not isinstance(value, str):
        raise StanzaError(field, f"must be text, not {type(value).__name__}")
    return value or ""
