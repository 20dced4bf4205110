"""Loops by which figures of different machines can be compared; the reference's machine ran the same ones."""

from hashlib import sha256
from time import process_time

from worker_agent.api.document import Document

REFERENCE_LOOP_S = 0.35
"""``loop_s`` on the reference's machine, at its fastest."""


def calibration() -> Document:
    """CPU seconds of two loops, and MB per CPU second of SHA-256; of three runs the fastest."""
    rounds = [(_loop(), _dictionary(), _sha256()) for _ in range(3)]
    return {
        "loop_s": min(loop for loop, _, _ in rounds),
        "dict_s": min(dictionary for _, dictionary, _ in rounds),
        "sha256_mb_per_s": max(rate for _, _, rate in rounds),
    }


def _loop() -> float:
    began = process_time()
    x = 0
    for i in range(10_000_000):
        x += i & 7
    return process_time() - began


def _dictionary() -> float:
    began = process_time()
    d: dict[int, int] = {}
    for i in range(2_000_000):
        d[i % 5000] = d.get(i % 5000, 0) + i
    return process_time() - began


def _sha256() -> float:
    began, block = process_time(), bytes(1 << 20)
    for _ in range(200):
        sha256(block).digest()
    return 200 / (process_time() - began)
