"""Sends attacks to a webhook server, several at a time, and judges each answer as an API server would."""

import asyncio
import base64
import io
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import aiohttp
import msgspec

from tests.fuzzed_reviews.kept_memory import KeptMemory
from tests.fuzzed_reviews.mutation import Attack, attack
from tests.fuzzed_reviews.seeds import seeds
from worker_agent.webhooks.configurations import TIMEOUT_SECONDS
from worker_agent.webhooks.review import REVIEW_VERSION
from worker_agent.webhooks.server import UNREADABLE

AT_A_TIME = 4
KEPT = 20
"""Findings told in full; the rest is counted."""


@dataclass
class Report:
    """What came back. ``wrong`` are answers no API server could use, ``unreadable`` refusals of objects whose
    form no rule could read, by the error it ended in."""

    statuses: Counter[int] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    unreadable: Counter[str] = field(default_factory=Counter)
    memory_growth: int = 0
    """Bytes kept at the end beyond those after the first tenth, free memory returned to the system both times."""
    blocks_per_review: float = 0.0
    """Blocks of memory that Python objects took more at the end than after the first half, for each review between.
    One is the review's own time in ``seconds``; a document kept takes fifty and more."""

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    def summary(self) -> dict[str, Any]:
        return {
            "reviews": len(self.seconds),
            "statuses": dict(self.statuses),
            "verdicts": dict(self.verdicts),
            "wrong answers": len(self.wrong),
            "refused as unreadable": dict(self.unreadable),
            "p50 ms": round(self.percentile(0.5) * 1e3, 1),
            "p99 ms": round(self.percentile(0.99) * 1e3, 1),
            "longest ms": round(max(self.seconds) * 1e3, 1),
            "timeout ms": TIMEOUT_SECONDS * 1000,
            "memory growth MB": round(self.memory_growth / 1e6, 1),
            "memory blocks kept per review": round(self.blocks_per_review, 2),
            "found": self.wrong[:KEPT],
        }


def drawn(count: int, seed: int) -> Iterator[Attack]:
    """``count`` attacks, the same for the same ``seed``."""
    random, real = Random(seed), seeds()
    return (attack(real[number % len(real)], random) for number in range(count))


def unharmed() -> Iterator[Attack]:
    """The real reviews as they are."""
    return (
        Attack("unharmed", one.path, msgspec.json.encode(one.review), one.review["request"]["uid"]) for one in seeds()
    )


async def run(url: str, attacks: Iterable[Attack], count: int) -> Report:
    """What the server at ``url``, which runs in this process, answers to the ``count`` attacks."""
    report = Report()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(url, timeout=timeout, connector=aiohttp.TCPConnector(ssl=context)) as session:
        tenth = half = KeptMemory.now()
        for number, batch in enumerate(_batches(attacks)):
            if number == count // 10 // AT_A_TIME:
                tenth = KeptMemory.now()
            if number == count // 2 // AT_A_TIME:
                half = KeptMemory.now()
            await asyncio.gather(*(_one(session, each, report) for each in batch))
        end = KeptMemory.now()
        report.memory_growth = end.resident - tenth.resident
        report.blocks_per_review = (end.blocks - half.blocks) / max(1, count - count // 2)
    return report


def _batches(made: Iterable[Attack]) -> Iterable[list[Attack]]:
    batch: list[Attack] = []
    for each in made:
        batch.append(each)
        if len(batch) == AT_A_TIME:
            yield batch
            batch = []
    if batch:
        yield batch


async def _one(session: aiohttp.ClientSession, sent: Attack, report: Report) -> None:
    started = time.perf_counter()
    try:
        async with session.post(sent.path, data=io.BytesIO(sent.body)) as answer:
            status, body = answer.status, await answer.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        report.seconds.append(time.perf_counter() - started)
        report.wrong.append(f"{sent.sort} at {sent.path}: no answer: {error!r}")
        return
    report.seconds.append(time.perf_counter() - started)
    report.statuses[status] += 1
    problem = _problem(sent, status, body, report)
    if problem:
        report.wrong.append(f"{sent.sort} at {sent.path}: {problem}")


def _problem(sent: Attack, status: int, body: bytes, report: Report) -> str:
    """What an API server could not use; empty for a usable answer."""
    if 400 <= status < 500:
        return "" if 0 < len(body) < 5_000 else f"HTTP {status} with {len(body)} bytes of text"
    if status != 200:
        return f"HTTP {status}: {body[:200]!r}"
    try:
        review = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"not JSON: {error}"
    response = review.get("response") or {}
    if (review.get("apiVersion"), review.get("kind")) != (REVIEW_VERSION, "AdmissionReview"):
        return "not an AdmissionReview"
    if sent.uid is not None and response.get("uid") != sent.uid:
        return f"uid {response.get('uid')!r}"
    return _verdict(sent, response, report)


def _verdict(sent: Attack, response: dict[str, Any], report: Report) -> str:
    allowed = response.get("allowed")
    if not isinstance(allowed, bool):
        return f"allowed is {allowed!r}"
    message = (response.get("status") or {}).get("message", "")
    if not allowed and not message:
        return "refused without a message"
    if UNREADABLE in message:
        report.unreadable[message.removeprefix(UNREADABLE).partition(":")[0].partition(" at ")[0]] += 1
    if "patch" in response and not isinstance(msgspec.json.decode(base64.b64decode(response["patch"])), list):
        return "the patch is no JSON patch"
    report.verdicts["allowed" if allowed else "refused"] += 1
    return ""
