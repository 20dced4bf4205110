"""Requests and answers as HTTP/2 headers: pure, and strict about what is let through."""

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode

from worker_agent.kube.transport import Request

Headers = list[tuple[str, str]]

AUTHORITY: Final = "worker"
UNREACHABLE: Final = "fedhub-unreachable"
"""On an answer that is none: the agent could not reach its API server; the body says why."""

PASSED_ON: Final = frozenset({"content-type", "retry-after", "warning", "audit-id", UNREACHABLE})
"""Headers of an API server's answer that travel to the hub; whatever else it sends stays in the worker."""

MOST_PARAMETERS: Final = 32


class MalformedExchange(ValueError):
    """The other end sent headers that are no request, or no answer."""


def request_headers(request: Request) -> Headers:
    query = f"?{urlencode(request.query)}" if request.query else ""
    pseudo = [
        (":method", request.method),
        (":scheme", "https"),
        (":authority", AUTHORITY),
        (":path", request.path + query),
    ]
    return pseudo + [(name.lower(), value) for name, value in request.headers.items()]


def read_request(headers: Iterable[tuple[str, str]], body: bytes) -> Request:
    """Raises MalformedExchange. The path stays as it was sent: nothing in it is decoded."""
    pseudo, rest = _split(headers)
    path, question, query = pseudo.get(":path", "").partition("?")
    try:
        pairs = parse_qsl(
            query,
            keep_blank_values=True,
            strict_parsing=bool(question),
            max_num_fields=MOST_PARAMETERS,
            errors="strict",
        )
    except ValueError:
        raise MalformedExchange("the query is not in the form name=value&...") from None
    return Request(pseudo.get(":method", ""), path, tuple(pairs), rest, body)


def answer_headers(status: int, headers: Mapping[str, str]) -> Headers:
    passed = [(name, value) for name, value in headers.items() if name in PASSED_ON]
    return [(":status", str(status)), *passed]


def read_answer(headers: Iterable[tuple[str, str]]) -> tuple[int, dict[str, str]]:
    """Status and headers. Raises MalformedExchange."""
    pseudo, rest = _split(headers)
    try:
        return int(pseudo[":status"]), rest
    except (KeyError, ValueError):
        raise MalformedExchange("an answer without a status") from None


def _split(headers: Iterable[tuple[str, str]]) -> tuple[dict[str, str], dict[str, str]]:
    pseudo: dict[str, str] = {}
    rest: dict[str, str] = {}
    for name, value in headers:
        into = pseudo if name.startswith(":") else rest
        if name in into:
            raise MalformedExchange(f"the header {name} came twice")
        into[name] = value
    return pseudo, rest
