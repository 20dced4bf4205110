"""Draws how a figure grows, as SVG: one panel per series, logarithmic both ways where the values allow it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT, EDGE = 420, 300, 56


class Series(NamedTuple):
    """``points``: (x, y), x ascending."""

    name: str
    points: Sequence[tuple[float, float]]


def draw(title: str, panels: Sequence[Series]) -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * len(panels)}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    parts += [_panel(title, series, WIDTH * place) for place, series in enumerate(panels)]
    return "\n".join([*parts, "</svg>", ""])


def _panel(title: str, series: Series, left: int) -> str:
    xs, ys = [x for x, _ in series.points], [y for _, y in series.points]
    across = _Scale(xs, left + EDGE, left + WIDTH - EDGE / 2)
    up = _Scale([0.0, *ys] if _is_flat(ys) else ys, HEIGHT - EDGE, EDGE / 2)
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in series.points)
    parts = [f'<polyline points="{path}" fill="none" stroke="#1f5fbf" stroke-width="2"/>']
    for x, y in series.points:
        parts.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" fill="#1f5fbf"/>')
        parts.append(f'<text x="{across(x):.1f}" y="{up(y) - 8:.1f}" text-anchor="middle">{y:.3g}</text>')
        parts.append(f'<text x="{across(x):.1f}" y="{HEIGHT - EDGE + 16}" text-anchor="middle">{x:g}</text>')
    middle = left + WIDTH / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 12}" text-anchor="middle">{series.name}</text>')
    parts.append(f'<text x="{left + EDGE / 2:.0f}" y="14">{title}</text>')
    bottom = HEIGHT - EDGE
    parts.append(f'<line x1="{left + EDGE}" y1="{bottom}" x2="{left + WIDTH}" y2="{bottom}" stroke="#888"/>')
    return "\n".join(parts)


def _is_flat(values: Sequence[float]) -> bool:
    """Values of one size: a logarithmic axis would make hills of their noise."""
    return min(values) > 0 and max(values) / min(values) < 4


class _Scale:
    """Maps values to positions; by their logarithms where they span more than two sizes and none is zero."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(values), max(values)
        self._log = low > 0 and high / low > 100
        self._low, self._high = self._at(low), self._at(high)
        self._start, self._end = start, end

    def _at(self, value: float) -> float:
        return math.log10(value) if self._log else value

    def __call__(self, value: float) -> float:
        span = self._high - self._low or 1.0
        return self._start + (self._at(value) - self._low) / span * (self._end - self._start)
