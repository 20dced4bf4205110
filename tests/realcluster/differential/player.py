"""Plays a script against one server: plain HTTPS, requests one after the other."""

import base64
import http.client
import json
import ssl
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.realcluster.clusters import Server
from tests.realcluster.differential.script import Body, Script, Step

PATIENCE_SECONDS = 60.0
COMPARED_HEADERS = ("content-type", "warning", "allow", "retry-after")


@dataclass(frozen=True, slots=True)
class Answer:
    """``body`` is the decoded JSON, a list of events for a watch, or text."""

    request: str
    status: int
    headers: dict[str, str]
    body: Any


class Player:
    """A connection to ``server`` as its administrator. ``variables`` are there for every script."""

    def __init__(self, server: Server, variables: dict[str, str]) -> None:
        self._variables = variables
        self._connection = http.client.HTTPSConnection(
            urlsplit(server.url).netloc, context=_context(server.kubeconfig), timeout=PATIENCE_SECONDS
        )

    def close(self) -> None:
        self._connection.close()

    def play(self, script: Script, namespace: str) -> list[Answer]:
        """The answers of the steps that are compared, in order. The namespace is made for the script and left."""
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        self._send("POST", "/api/v1/namespaces", {"content-type": "application/json"}, json.dumps(made))
        variables = {**self._variables, "ns": namespace}
        answers = []
        for step in script.steps:
            answer = self._settled(step, variables)
            for name, path in step.keep.items():
                variables[name] = str(value_at(answer.body, path))
            if not step.quiet:
                answers.append(answer)
        return answers

    def _settled(self, step: Step, variables: dict[str, str]) -> Answer:
        """The first answer that is as ``until`` says; the last one when none is in time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self._ask(step, variables)
            if _is_awaited(step, answer) or time.monotonic() > deadline:
                return answer
            time.sleep(0.05)

    def _ask(self, step: Step, variables: dict[str, str]) -> Answer:
        path = filled(step.path, variables)
        body = step.body if isinstance(step.body, str) else json.dumps(step.body) if step.body is not None else ""
        headers = {"accept": step.accept or "application/json"}
        if step.body is not None:
            headers["content-type"] = step.type or "application/json"
        if step.user:
            headers["impersonate-user"] = step.user
        response, content = self._send(step.method, path, headers, filled(body, variables))
        compared = {name: value for name in COMPARED_HEADERS if (value := response.headers.get(name)) is not None}
        if warnings := response.headers.get_all("warning"):
            compared["warning"] = "\n".join(warnings)
        return Answer(f"{step.method} {path}", response.status, compared, decoded(content, step.is_watch))

    def _send(self, method: str, path: str, headers: dict[str, str], body: str) -> tuple[http.client.HTTPResponse, str]:
        try:
            return self._exchange(method, path, headers, body)
        except (http.client.HTTPException, ConnectionError):
            self._connection.close()
            return self._exchange(method, path, headers, body)

    def _exchange(
        self, method: str, path: str, headers: dict[str, str], body: str
    ) -> tuple[http.client.HTTPResponse, str]:
        self._connection.request(method, path.replace(" ", "%20"), body.encode() or None, headers)
        response = self._connection.getresponse()
        return response, response.read().decode(errors="replace")


def decoded(content: str, is_watch: bool) -> Body | Any:
    """JSON where it is JSON; a watch is a list of its lines."""
    try:
        if is_watch:
            return [json.loads(line) for line in content.splitlines()]
        return json.loads(content)
    except ValueError:
        return content


def filled(text: str, variables: dict[str, str]) -> str:
    """``{name}`` replaced for the names that are variables; other braces stay."""
    for name, value in variables.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def value_at(document: Any, path: str) -> Any:
    """The value at ``spec.items.0.name``; None where there is none."""
    for part in path.split("."):
        if isinstance(document, list) and part.lstrip("-").isdigit() and -len(document) <= int(part) < len(document):
            document = document[int(part)]
        elif isinstance(document, dict):
            document = document.get(part)
        else:
            return None
    return document


def _is_awaited(step: Step, answer: Answer) -> bool:
    if step.until is None:
        return True
    if isinstance(step.until, int):
        return answer.status == step.until
    return all(value_at(answer.body, path) == value for path, value in step.until.items())


def _context(kubeconfig: dict[str, Any]) -> ssl.SSLContext:
    cluster, user = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.TemporaryDirectory() as folder:
        pair = Path(folder) / "pair.pem"
        pair.write_bytes(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        context.load_cert_chain(pair)
    return context
