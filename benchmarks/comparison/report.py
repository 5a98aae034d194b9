"""Tables, saved results and plots."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .case import Result, Topic

NOISE = 1.05  # a ratio this far above its aim may be chance

console = Console(highlight=False, soft_wrap=True, width=110)


def geometric_mean(ratios: Iterable[float]) -> float:
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def misses(result: Result) -> bool:
    return result.aim is not None and result.ratio > result.aim * NOISE


def style_of(result: Result) -> str:
    if misses(result):
        return "bold red"
    return "green" if result.ratio < 0.5 else ""


def start(topic: Topic) -> None:
    console.print(f"\n[bold]{topic.title}[/bold]")


def show(result: Result) -> None:
    """Prints results as they come: the table comes last."""
    times = f"{number(result.relume):>9} {number(result.torch):>9} {result.unit:<2}"
    ratio = Text(f"{result.ratio:7.3f}", style_of(result))
    console.print(Text(f"{result.label:<64} {times} ") + ratio)


def summary(topics: list[Topic], results: list[Result]) -> Table:
    table = Table(title="Ratios to PyTorch")
    for column in ("topic", "cases", "geometric mean", "aim", "worst", "aim", "above the aim"):
        table.add_column(column, justify="left" if column == "topic" else "right")
    for topic in topics:
        own = [result for result in results if result.topic == topic.name]
        if not own:
            continue
        ratios = [result.ratio for result in own]
        table.add_row(
            topic.title,
            str(len(ratios)),
            f"{geometric_mean(ratios):.2f}",
            f"{topic.mean:.2f}" if topic.mean else "",
            f"{max(ratios):.2f}",
            f"{topic.worst:.2f}" if topic.worst else "",
            str(sum(map(misses, own))),
        )
    return table


def markdown_row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def result_rows(results: Iterable[Result]) -> list[str]:
    head = [markdown_row("case", "relume", "PyTorch", "ratio", "aim"), "|---|---:|---:|---:|---:|"]
    return head + [
        markdown_row(
            result.label.replace("|", "\\|"),
            f"{number(result.relume)} {result.unit}",
            f"{number(result.torch)} {result.unit}",
            f"{result.ratio:.2f}",
            f"{result.aim:.2f}" if result.aim else "",
        )
        for result in results
    ]


def markdown(topics: list[Topic], results: list[Result]) -> str:
    """The summary, and of every topic the results that miss their aims, as Markdown."""
    lines = [
        markdown_row("topic", "cases", "geometric mean", "worst", "above the aim"),
        "|---|---:|---:|---:|---:|",
    ]
    own = {topic.name: [r for r in results if r.topic == topic.name] for topic in topics}
    for topic in topics:
        ratios = [result.ratio for result in own[topic.name]]
        if ratios:
            missed = sum(map(misses, own[topic.name]))
            mean, worst = f"{geometric_mean(ratios):.2f}", f"{max(ratios):.2f}"
            lines.append(markdown_row(topic.title, str(len(ratios)), mean, worst, str(missed)))
    for topic in topics:
        short = topic.worst is None or len(own[topic.name]) < 10
        shown = own[topic.name] if short else list(filter(misses, own[topic.name]))
        if shown:
            what = "" if short else ": above the aim"
            lines += ["", f"### {topic.title}{what}", "", *result_rows(shown)]
    return "\n".join(lines) + "\n"


def save(path: Path, environment: dict[str, Any], results: list[Result]) -> None:
    rows = [
        {
            "topic": result.topic,
            "label": result.label,
            "unit": result.unit,
            "relume": result.relume,
            "torch": result.torch,
            "ratio": result.ratio,
            "aim": result.aim,
        }
        for result in results
    ]
    path.write_text(json.dumps({"environment": environment, "results": rows}, indent=1) + "\n")


def plot(path: Path, topics: list[Topic], results: list[Result]) -> bool:
    """One line of dots per topic, on a logarithmic scale; false without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot

    shown = [t for t in topics if any(result.topic == t.name for result in results)]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.6 * len(shown)))
    for line, topic in enumerate(reversed(shown)):
        ratios = [result.ratio for result in results if result.topic == topic.name]
        axes.plot(ratios, [line] * len(ratios), "o", alpha=0.3, color="tab:blue")
        axes.plot([geometric_mean(ratios)], [line], "D", color="black")
        if topic.worst:
            axes.plot([topic.worst], [line], "|", markersize=24, color="tab:red")
    axes.set_yticks(range(len(shown)), [topic.title for topic in reversed(shown)])
    axes.set_xscale("log")
    axes.axvline(1, color="grey", linewidth=0.5)
    axes.set_xlabel("relume / PyTorch: time or memory. Diamond: mean; red: the aim")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return True
