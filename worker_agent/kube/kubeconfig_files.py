"""Which kubeconfig files a user's commands read, as kubectl finds them, and several of them as one document."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from worker_agent.api.document import Document
from worker_agent.kube import kubeconfig, kubeconfig_exec
from worker_agent.kube.kubeconfig import Choice, ClusterConfig, KubeconfigError

_LISTS: Final = {"clusters": "cluster", "users": "user", "contexts": "context"}
_PATHS: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
"""Fields that name a file, relative to the file they stand in."""


def usual(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """The files of KUBECONFIG that are there, else ``~/.kube/config``; empty where there is none."""
    named = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    # These functions, unlike those of Path, also take it where a user has no home, or may not look into it.
    paths = [os.path.expanduser(part) for part in named or ["~/.kube/config"]]
    return [Path(path) for path in paths if os.path.exists(path)]


def own(choice: Choice) -> ClusterConfig:
    """The API server of a user's own files, else of the pod this runs in. Raises KubeconfigError."""
    files = usual()
    if len(files) > 1:
        return kubeconfig.load(merged(files), choice)
    if files:
        return kubeconfig.load(files[0], choice)
    if named := os.environ.get("KUBECONFIG"):
        raise KubeconfigError(f"KUBECONFIG {named}: there is no such file")
    try:
        return kubeconfig.in_cluster()
    except KubeconfigError as error:
        raise KubeconfigError(
            f"no cluster is known: there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config); {error}"
        ) from None


def merged(paths: list[Path]) -> bytes:
    """One kubeconfig of several, as client-go merges them: of what several files set, the first counts.

    Paths in them become absolute. Raises KubeconfigError.
    """
    whole: Document = {"apiVersion": "v1", "kind": "Config", **{name: [] for name in _LISTS}}
    for path in paths:
        document = _read(path)
        if not whole.get("current-context"):
            whole["current-context"] = document.get("current-context") or ""
        for name, body in _LISTS.items():
            known = {entry["name"] for entry in whole[name]}
            for entry in document.get(name) or ():
                if isinstance(entry, dict) and entry.get("name") not in known:
                    whole[name].append({**entry, body: _absolute(entry.get(body), path.parent)})
    return yaml.safe_dump(whole).encode()


def _read(path: Path) -> Document:
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise KubeconfigError(f"kubeconfig {path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError):
        # The parser's own text quotes the line, which may hold a secret.
        raise KubeconfigError(f"kubeconfig {path}: not valid YAML") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise KubeconfigError(f"kubeconfig {path}: must be a mapping with clusters, users and contexts")
    return document


def _absolute(body: object, folder: Path) -> object:
    if not isinstance(body, dict):
        return body
    paths: Document = {name: str(folder.absolute() / body[name]) for name in _PATHS if isinstance(body.get(name), str)}
    plugin = body.get("exec")
    if isinstance(plugin, dict) and isinstance(plugin.get("command"), str):
        paths["exec"] = {**plugin, "command": kubeconfig_exec.resolved_command(plugin["command"], folder)}
    return {**body, **paths}
