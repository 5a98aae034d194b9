"""A report as one HTML page that needs no other files: no scripts, no fonts, no network.

summary     what was converted into what, and whether it computes the same
outputs     and gradients: largest difference, absolute and relative
chart       the difference of every layer on a logarithmic scale, SVG
graph       the drawing of the network, when the report has one
tree        every layer with its parameters; folds
warnings    what was not compared, and why
"""

from __future__ import annotations

import math
from html import escape

from relume.converters.proof.comparing import Proof
from relume.converters.proof.report import ComparisonReport, ConversionReport, LayerRow
from relume.legacy_nn.tracing import OutputDifference
from relume.tensor.printing import size_text

__all__ = ["page_of"]

STYLE = """
:root { --ink: #1c2430; --soft: #5c6878; --line: #dde3ea; --back: #fff; --panel: #f6f8fa;
  --good: #1a7f4b; --bad: #c0392b; --bar: #3b7dd8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9f0; --soft: #98a4b4; --line: #323c4a; --back: #14191f; --panel: #1c232c;
    --good: #4cc38a; --bad: #ff7b72; --bar: #6ca8f5; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 2rem 1.5rem 4rem; background: var(--back);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line); }
p { margin: .3rem 0; } .soft { color: var(--soft); }
.verdict { display: inline-block; margin: .8rem 0; padding: .35rem .8rem; border-radius: .4rem;
  color: #fff; font-weight: 600; background: var(--good); } .verdict.bad { background: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: .6rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; } th { color: var(--soft); font-weight: 500; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bad td, td.bad { color: var(--bad); font-weight: 600; }
code { font: 12.5px ui-monospace, monospace; }
details { margin: .15rem 0; } summary { cursor: pointer; }
svg text { fill: var(--ink); font: 11px ui-monospace, monospace; } svg .soft { fill: var(--soft); }
svg .bar { fill: var(--bar); } svg .bad { fill: var(--bad); } svg line { stroke: var(--line); }
.graph { overflow: auto; max-height: 50rem; border: 1px solid var(--line); background: #fff; }
"""
MOST_BARS = 400  # of one chart
MOST_ROWS = 2000  # of one table
MOST_ALIASES = 20


def page_of(report: ComparisonReport) -> str:
    """The page.

    >>> from relume.converters.proof.report import ComparisonReport
    >>> page_of(ComparisonReport("a.t7", "b.onnx")).startswith("<!doctype html>")
    True
    """
    title = f"{report.source} → {report.destination}"
    parts = [summary(report, title), *map(proof_section, report.proofs)]
    drawing = report.draw() if report.draw is not None else ""
    if drawing:
        parts.append(f'<h2>Graph</h2><div class="graph">{drawing}</div>')
    parts.append(tree(report.layers))
    if report.warnings:
        parts.append(f"<h2>Warnings</h2><ul>{items(report.warnings)}</ul>")
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def items(texts: list[str]) -> str:
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def summary(report: ComparisonReport, title: str) -> str:
    good = report.agrees
    if isinstance(report, ConversionReport):
        verdict = report.verdict()
    else:
        verdict = "both sides give the same" if good else "the sides differ"
    facts = {"from": report.source, "to": report.destination}
    if isinstance(report, ConversionReport):
        facts["format"] = report.format
        facts["weights"] = f"{report.tensors} tensors, {report.elements:,} numbers"
        facts["size"] = f"{report.bytes:,} bytes"
        if report.aliases:
            pairs = [f"{alias} is {name}" for alias, name in report.aliases.items()]
            more = len(pairs) - MOST_ALIASES
            rest = [f"and {more:,} more"] if more > 0 else []
            facts["shared"] = "; ".join([*pairs[:MOST_ALIASES], *rest])
    facts["time"] = f"{report.seconds:.2f} s"
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return (
        f"<h1>{escape(title)}</h1>\n"
        f'<div class="verdict{"" if good else " bad"}">{escape(verdict)}</div>\n<dl>{rows}</dl>'
    )


def proof_section(proof: Proof) -> str:
    name = f"{proof.path or 'Network'} ({proof.network})"
    first = proof.first_difference
    text = f"Run on {proof.inputs}; {proof.tolerance:g} of the largest value may differ."
    parts = [f"<h2>{escape(name)}</h2>", f'<p class="soft">{escape(text)}</p>']
    if first is not None:
        where = f"<code>{escape(first or 'the network')}</code>"
        parts.append(f'<p class="bad">The first layer that differs: {where}</p>')
    parts.append(difference_table([*proof.outputs, *proof.gradients]))
    if proof.layers:
        parts.append(f'<div class="wide">{chart(proof.layers, proof.tolerance)}</div>')
    if proof.notes:
        parts.append(f"<ul>{items(proof.notes)}</ul>")
    return "\n".join(parts)


def difference_table(differences: list[OutputDifference]) -> str:
    rows = "".join(
        f"<tr{' class=bad' if d.differs else ''}><td><code>{escape(d.name)}</code></td>"
        f'<td class="n">{number(d.largest)}</td><td class="n">{number(d.relative)}</td>'
        f"<td>{'differs' if d.differs else 'agrees'}</td></tr>"
        for d in differences[:MOST_ROWS]
    )
    head = (
        '<tr><th>tensor</th><th class="n">largest difference</th>'
        '<th class="n">relative</th><th></th></tr>'
    )
    return f'<div class="wide"><table>{head}{rows}</table></div>'


def number(value: float | None) -> str:
    if value is None:
        return "another shape"
    return "0" if value == 0 else f"{value:.3g}"


# ---- the chart ----

LABELS, WIDTH, STEP = 330, 520, 18  # pixels
LOWEST, HIGHEST = -17.0, 1.0  # powers of ten that the scale shows


def chart(layers: list[OutputDifference], tolerance: float) -> str:
    """A bar per layer: its relative difference, on a scale of powers of ten."""
    shown = layers[:MOST_BARS]
    height = STEP * (len(shown) + 2)
    parts = [
        f'<svg width="{LABELS + WIDTH + 90}" height="{height}" role="img" '
        'aria-label="relative difference of every layer">'
    ]
    for power in range(-16, 2, 4):
        x = place(10.0**power)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{STEP}" y2="{height}"/>')
        parts.append(
            f'<text class="soft" x="{x:.1f}" y="{STEP - 5}" text-anchor="middle">1e{power}</text>'
        )
    x = place(tolerance)
    parts.append(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{STEP}" y2="{height}" style="stroke:var(--bad)" '
        'stroke-dasharray="4 3"/>'
    )
    parts += [bar(position, difference) for position, difference in enumerate(shown, 1)]
    parts.append("</svg>")
    if len(layers) > MOST_BARS:
        parts.append(f'<p class="soft">and {len(layers) - MOST_BARS} more</p>')
    return "".join(parts)


def place(relative: float) -> float:
    """Where a difference is on the scale."""
    power = math.log10(relative) if relative > 0 else LOWEST
    share = (min(max(power, LOWEST), HIGHEST) - LOWEST) / (HIGHEST - LOWEST)
    return LABELS + share * WIDTH


def bar(position: int, difference: OutputDifference) -> str:
    y = position * STEP
    relative = difference.relative
    is_number = relative is not None and math.isfinite(relative)
    end = place(relative) if is_number and relative is not None else place(10.0)
    name = difference.name or "the network"
    label = name if len(name) <= 46 else f"…{name[-45:]}"
    kind = "bad" if difference.differs else "bar"
    return (
        f'<text x="{LABELS - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>'
        f'<rect class="{kind}" x="{LABELS}" y="{y + 3}" width="{max(end - LABELS, 1.5):.1f}" '
        f'height="{STEP - 6}" rx="2"><title>{escape(name)}: {number(relative)}</title></rect>'
        f'<text class="{kind if difference.differs else "soft"}" x="{end + 6:.1f}" '
        f'y="{y + 13}">{number(relative)}</text>'
    )


# ---- the tree ----


def tree(layers: list[LayerRow]) -> str:
    """The layers as nested lists that fold, with their parameters."""
    if not layers:
        return ""
    total = sum(row.parameters for row in layers)
    parts = [f'<h2>Layers</h2><p class="soft">{len(layers)} layers, {total:,} parameters</p>']
    open_levels: list[int] = []
    shown = layers[:MOST_ROWS]
    for position, row in enumerate(shown):
        while open_levels and open_levels[-1] >= row.depth:
            open_levels.pop()
            parts.append("</details>")
        following = shown[position + 1].depth if position + 1 < len(shown) else 0
        if following > row.depth:
            opened = " open" if row.depth < 3 else ""
            parts.append(f'<details{opened} style="margin-left:{min(row.depth, 1) * 1.3}rem">')
            parts.append(f"<summary>{row_text(row)}</summary>")
            open_levels.append(row.depth)
        else:
            parts.append(
                f'<div style="margin-left:{min(row.depth, 1) * 2.3}rem">{row_text(row)}</div>'
            )
    parts += ["</details>"] * len(open_levels)
    if len(layers) > MOST_ROWS:
        parts.append(f'<p class="soft">and {len(layers) - MOST_ROWS} more</p>')
    return "\n".join(parts)


def row_text(row: LayerRow) -> str:
    shapes = ", ".join(f"{name} {size_text(shape)}" for name, shape in row.tensors.items())
    size = f" · {row.parameters:,} parameters" if row.parameters else ""
    return (
        f'<code>{escape(row.text)}</code> <span class="soft">{escape(row.path)}'
        f"{escape(f' · {shapes}' if shapes else '')}{size}</span>"
    )
