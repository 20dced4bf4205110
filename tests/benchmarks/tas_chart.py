"""How placement grows with the number of nodes, as one SVG: both axes logarithmic, the reference dashed."""

from math import log10
from typing import Final

from worker_agent.api.document import Document

SHOWN: Final = {
    "placement required-rack": "#1f77b4",
    "placement preferred-block": "#2ca02c",
    "placement unconstrained": "#d62728",
    "cycle required-rack": "#9467bd",
    "node changed": "#8c564b",
    "cold build": "#7f7f7f",
}
WIDTH, HEIGHT, MARGIN, LEGEND = 860, 480, 60, 250
LEAST_MS, MOST_MS = 0.01, 1000.0


def draw(report: Document) -> str:
    """``report`` as ``tas`` prints it."""
    sizes = sorted(int(size) for size in report if size.isdigit())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{MARGIN}" y="24" font-size="16">CPU milliseconds by nodes (dashed: the reference engine)</text>',
        *_axes(sizes),
    ]
    for number, (name, colour) in enumerate(SHOWN.items()):
        ours = [(size, report[str(size)][name]["p50_ms"]) for size in sizes if name in report[str(size)]]
        theirs = [
            (size, report[str(size)][name]["reference_ms"])
            for size in sizes
            if "reference_ms" in report[str(size)].get(name, {})
        ]
        parts += [_line(ours, sizes, colour), _line(theirs, sizes, colour, ' stroke-dasharray="5 4"')]
        y = 60 + 22 * number
        x = WIDTH - LEGEND + 20
        parts.append(f'<rect x="{x}" y="{y - 10}" width="14" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 20}" y="{y}" font-size="13">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axes(sizes: list[int]) -> list[str]:
    parts = []
    value = LEAST_MS
    while value <= MOST_MS:
        y = _y(value)
        parts.append(f'<line x1="{MARGIN}" x2="{WIDTH - LEGEND}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="8" y="{y + 4:.1f}" font-size="12">{value:g} ms</text>')
        value *= 10
    for size in sizes:
        x = _x(size, sizes)
        parts.append(f'<text x="{x - 20:.1f}" y="{HEIGHT - 20}" font-size="12">{size:,}</text>')
    return parts


def _line(points: list[tuple[int, float]], sizes: list[int], colour: str, style: str = "") -> str:
    if not points:
        return ""
    path = " ".join(f"{_x(size, sizes):.1f},{_y(ms):.1f}" for size, ms in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{style}/>'


def _x(size: int, sizes: list[int]) -> float:
    low, high = log10(sizes[0]), log10(sizes[-1])
    share = (log10(size) - low) / (high - low) if high > low else 0.5
    return MARGIN + 20 + share * (WIDTH - LEGEND - MARGIN - 50)


def _y(milliseconds: float) -> float:
    low, high = log10(LEAST_MS), log10(MOST_MS)
    share = (log10(min(max(milliseconds, LEAST_MS), MOST_MS)) - low) / (high - low)
    return HEIGHT - MARGIN + 10 - share * (HEIGHT - 2 * MARGIN)
