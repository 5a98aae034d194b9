"""`relume demo`: a checkpoint that Torch7 wrote, run in Python and in Lua, and converted."""

from __future__ import annotations

import runpy
import tempfile
from collections.abc import Iterable
from pathlib import Path

import relume
from relume.command_line.output import (
    Stopwatch,
    bytes_text,
    console,
    print_lines,
    print_table,
    progress,
)
from relume.command_line.tree import Tree
from relume.converters import conversion, object_tree

EXAMPLES = Path(relume.__file__).parent / "examples"
MODEL = EXAMPLES / "models" / "shakespeare.t7"
EXPECTED = EXAMPLES / "models" / "shakespeare_expected.txt"
PRIME = "ROMEO:"


def demo(*, length: int, folder: Path | None) -> bool:
    """Runs all steps; returns whether every text was the one that Torch7 wrote."""
    out = console()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    timings: list[list[str]] = []

    def heading(text: str) -> Stopwatch:
        out.print(f"\n[bold blue]{text}[/]")
        return Stopwatch()

    def done(step: str, watch: Stopwatch) -> None:
        timings.append([step, f"{watch.seconds():.2f} s"])

    watch = heading(f"1. What is in {MODEL.name} ({bytes_text(MODEL.stat().st_size)})")
    checkpoint = relume.load(MODEL)
    tree = Tree(object_tree.walk(checkpoint))
    done("read and look into", watch)
    print_lines(tree.lines(depth=2, everything=False, guides=out.is_terminal))

    expected = EXPECTED.read_text().rstrip("\n").removeprefix(PRIME)[:length]

    watch = heading("2. Python samples from it")
    sample = runpy.run_path(str(EXAMPLES / "sample_charrnn.py"))["sample"]
    in_python = show(sample(checkpoint, prime=PRIME, length=length), length)
    done(f"sample {length} characters in Python", watch)

    watch = heading("3. Lua samples from the same weights, in the same process")
    in_lua = sample_in_lua(checkpoint, length)
    done(f"sample {length} characters in Lua", watch)

    watch = heading("4. The weights as safetensors, read back and compared")
    with tempfile.TemporaryDirectory() as temporary:
        report = conversion.convert(
            checkpoint, (folder or Path(temporary)) / "shakespeare.safetensors"
        )
    out.print(str(report), markup=False)
    done("convert and verify", watch)

    heading("5. Compared with what Torch7 itself sampled")
    same = [compare("Python", in_python, expected), compare("Lua", in_lua, expected)]
    out.print()
    print_table(["step", "time"], timings, right=frozenset({"time"}))
    return all(same)


def show(characters: Iterable[str], length: int) -> str:
    """Prints characters as they come; returns the text."""
    out = console()
    out.print(PRIME, style="bold", end="", markup=False)
    text = ""
    for character in characters:
        text += character
        if out.is_terminal:
            out.print(character, end="", markup=False)
            out.file.flush()
    out.print("" if out.is_terminal else text, markup=False)
    return text


def sample_in_lua(checkpoint: object, length: int) -> str:
    """Runs the Lua script on the same objects; returns its text."""
    characters: list[str] = []
    lua = relume.bridge.Lua()
    try:
        with progress("sampling", length) as advance:

            def write(character: str | bytes) -> None:
                text = character.decode() if isinstance(character, bytes) else character
                characters.append(text)
                advance(1)

            lua.run(str(EXAMPLES / "sample_charrnn.lua"), checkpoint, length, write)
    finally:
        lua.close()
    return show(characters, length)


def compare(language: str, text: str, expected: str) -> bool:
    """Prints whether two texts agree, or where they part."""
    out = console()
    if text == expected:
        out.print(f"[green]ok[/]  {language}: all {len(expected)} characters are Torch7's")
        return True
    same = next((i for i, (a, b) in enumerate(zip(text, expected, strict=False)) if a != b), 0)
    out.print(f"[bold red]no[/]  {language}: differs from character {same + 1}")
    out.print(f"    here    {text[same : same + 60]!r}", markup=False)
    out.print(f"    Torch7  {expected[same : same + 60]!r}", markup=False)
    return False
