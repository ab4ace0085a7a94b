"""Bars on a logarithmic scale, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping

WIDTH, LEFT, BAR, GAP, TOP = 760, 170, 16, 8, 56
OURS, OTHERS = "#1f6feb", "#8b949e"


def bars(title: str, values: Mapping[str, float]) -> str:
    """One bar a name, as long as the logarithm of its value; the least is at the top."""
    names = sorted(values, key=lambda name: values[name])
    least = 10 ** math.floor(math.log10(min(values.values())))
    most = max(values.values())
    scale = (WIDTH - LEFT - 90) / math.log10(most / least)
    height = TOP + len(names) * (BAR + GAP) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="22" font-size="14">{title}</text>',
        '<text x="10" y="40" fill="#57606a">logarithmic; shorter is better</text>',
    ]
    for place, name in enumerate(names):
        y = TOP + place * (BAR + GAP)
        length = math.log10(values[name] / least) * scale
        colour = OURS if name.startswith("ours") else OTHERS
        lines += [
            f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{name}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<text x="{LEFT + length + 6:.1f}" y="{y + 12}">{values[name]:.3g}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])
