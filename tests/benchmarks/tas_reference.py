"""What the reference engine took for the same work, from its recorded results."""

import json
from pathlib import Path

from worker_agent.api.document import Document


def best_ms(folder: Path, nodes: int) -> dict[str, float]:
    """``request/measure`` or ``measure`` -> p50 in milliseconds, of all runs the best."""
    runs: Document = json.loads((folder / "results.json").read_text())["p3"]
    best: dict[str, float] = {}
    for run in runs.values():
        for name, milliseconds in _figures(run.get(str(nodes), {})):
            best[name] = min(milliseconds, best.get(name, milliseconds))
    return best


def _figures(rows: Document) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for name, row in rows.items():
        if name.endswith("_ms"):
            found.append((name.removesuffix("_ms"), row))
        elif isinstance(row, dict) and "p50_ms" in row:
            found.append((name, row["p50_ms"]))
        elif isinstance(row, dict):
            found += [(f"{name}/{what}", part["p50_ms"]) for what, part in row.items() if isinstance(part, dict)]
    return found
