"""Writes the table of classes and formats in docs/converters.md: what can become what.

Every golden case of a class (a layer and an input, which a real Torch7 ran) is converted to every
format, with proof. Run it after a change: `python -m relume.converters.coverage`.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import relume
from relume import legacy_nn
from relume.converters.conversion import convert
from relume.converters.formats import FORMATS, CannotConvert, Format
from relume.converters.proof.report import ProofFailed

__all__ = ["Case", "cases", "outcome", "page_section"]

ROOT = Path(relume.__file__).parent
PAGE = ROOT / "docs" / "converters.md"
SECTIONS = ("nn", "nngraph", "rnn", "dpnn")
BEGIN = "<!-- Written by python -m relume.converters.coverage; do not edit. -->\n"
END = "<!-- End of the table. -->\n"
YES = "yes"
TARGETS = [row for row in FORMATS if not row.is_source_only]


class Case(NamedTuple):
    """A layer that Torch7 ran.

    Attributes:
        class_name: "nn.Linear".
        name: what is special about it.
        module, input: as saved.
    """

    class_name: str
    name: str
    module: Any
    input: Any


def cases(section: str, only: str = "*") -> Iterator[Case]:
    """The golden cases of a section that are one forward of a layer."""
    for path in sorted((ROOT / "tests" / "data" / section).glob(f"{only}.t7")):
        for case in relume.load(path).cases:
            module = case.get("module")
            if isinstance(module, legacy_nn.Module) and "input" in case:
                yield Case(module.torch_typename, case.name, module, case.input)


def outcome(case: Case, file_format: Format) -> str:
    """ "yes", or why the case cannot be converted to a format."""
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        path = Path(folder) / f"layer{file_format.suffixes[0]}"
        try:
            convert(case.module, path, input=case.input)
        except CannotConvert as error:
            return "; ".join(str(refusal) for refusal in error.refusals)
        except ProofFailed as error:
            return f"differs from {error.report.proofs[0].first_difference or 'the outputs'} on"
        except Exception as error:  # an answer of the table, whatever it is
            return f"{type(error).__name__}: {error}".split("\n")[0]
    return YES


def cell(outcomes: list[str]) -> str:
    """What the table says of the cases of a class."""
    good = outcomes.count(YES)
    if good == len(outcomes):
        return YES
    return f"{good} of {len(outcomes)}" if good else "no"


def page_section() -> str:
    """The table, and the reasons below it."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    reasons: dict[tuple[str, str], str] = {}
    for section in SECTIONS:
        for case in cases(section):
            for file_format in TARGETS:
                answer = outcome(case, file_format)
                found[case.class_name][file_format.name].append(answer)
                if answer != YES:
                    reasons.setdefault((case.class_name, file_format.name), answer)
    names = [file_format.name for file_format in TARGETS]
    lines = [
        f"| class | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
        *(
            f"| `{name}` | {' | '.join(cell(found[name][format_name]) for format_name in names)} |"
            for name in sorted(found)
        ),
        "",
        *(
            f"- `{name}`, {format_name}: {' '.join(reason.split())}"
            for (name, format_name), reason in sorted(reasons.items())
        ),
    ]
    counts = f"{len(found)} classes with golden cases.\n\n"
    return BEGIN + counts + "\n".join(lines) + "\n" + END


def replaced(page: str, section: str) -> str:
    """A page with another table."""
    before, _, rest = page.partition(BEGIN)
    return before + section + rest.partition(END)[2]


def main() -> None:
    warnings.simplefilter("ignore")
    PAGE.write_text(replaced(PAGE.read_text("utf-8"), page_section()), "utf-8")
    print(f"wrote the table in {PAGE}", file=sys.stderr)


if __name__ == "__main__":
    main()
