# SPDX-License-Identifier: GPL-2.0
"""The figures as a picture: bars on a logarithmic scale, an SVG made of strings."""
import math
from xml.sax.saxutils import escape

import report

COLOURS = {"binder": "#2a6fdb", "dbus-daemon": "#d9822b", "dbus-broker": "#c8b13a",
           "unix": "#7a9e7e", "pipe": "#b0b0b0"}
WIDTH, PANEL, LEFT, BAR, TOP = 960, 260, 70, 26, 60


def text(x, y, words, anchor="middle", size=12, colour="#222"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{colour}">{escape(words)}</text>')


def short(value):
    if value >= 10000:
        return f"{value / 1000:.0f}k"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def panel(title, groups, peers, results, figure, top):
    """One row of bars: groups side by side, in each a bar for every peer."""
    values = {(group, peer): report.medians(list(results[(group, peer)].values()))[figure]
              for group in groups for peer in peers if results.get((group, peer))}
    if not values:
        return []
    low = 10 ** math.floor(math.log10(min(values.values())))
    high = max(values.values()) * 1.3
    height, base = PANEL - 90, top + PANEL - 45
    scale = height / math.log10(high / low)
    parts = [text(LEFT, top + 14, title, "start", 14)]
    tick = low
    while tick <= high:
        y = base - math.log10(tick / low) * scale
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" '
                     'stroke="#ddd"/>')
        parts.append(text(LEFT - 8, y + 4, short(tick), "end", 11, "#666"))
        tick *= 10
    step = (WIDTH - LEFT - 20) / len(groups)
    for number, group in enumerate(groups):
        middle = LEFT + step * (number + 0.5)
        parts.append(text(middle, base + 18, report.size_text(group[2])))
        for place, peer in enumerate(peers):
            value = values.get((group, peer))
            if value is None:
                continue
            tall = math.log10(value / low) * scale
            x = middle + (place - len(peers) / 2) * (BAR + 4)
            parts.append(f'<rect x="{x:.1f}" y="{base - tall:.1f}" width="{BAR}" '
                         f'height="{tall:.1f}" fill="{COLOURS[peer]}"/>')
            parts.append(text(x + BAR / 2, base - tall - 4, short(value), size=10))
    return parts


def draw(results, groups, peers):
    """The whole picture as text."""
    panels = []
    for setting in sorted({group[0] for group in groups}):
        for pairs, figure, what in ((1, "p50_us", "round trip, us (median)"),
                                    (4, "calls_per_s", "calls per second")):
            wanted = [group for group in groups if group[:2] == (setting, pairs)
                      and group[2][0] == group[2][1]]
            if wanted:
                title = f"{setting}, {pairs} pair{'s' if pairs > 1 else ''}: {what}"
                panels.append((title, wanted, figure))
    height = TOP + PANEL * len(panels)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
             'font-family="sans-serif">', '<rect width="100%" height="100%" fill="#fff"/>']
    for number, peer in enumerate(peers):
        x = LEFT + number * 150
        parts.append(f'<rect x="{x}" y="20" width="14" height="14" fill="{COLOURS[peer]}"/>')
        parts.append(text(x + 20, 32, peer, "start", 13))
    for number, (title, wanted, figure) in enumerate(panels):
        parts += panel(title, wanted, peers, results, figure, TOP + number * PANEL)
    return "\n".join(parts + ["</svg>", ""])
