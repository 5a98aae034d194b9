"""Every network in the legacy files and in the golden corpus becomes every format, with proof.

The default run takes a part of them, another one for each format; RELUME_WHOLE_SWEEP=1 takes all.
"""

import os
import re
from pathlib import Path

import pytest

import relume as rl
from relume.converters import UnwritableError, coverage
from relume.converters.errors import FileFormatError
from relume.converters.formats import CannotConvert
from relume.converters.networks import networks_to_prove

LEGACY = Path(__file__).resolve().parents[3] / "shared" / "legacy_files" / "files"
WHOLE = bool(os.environ.get("RELUME_WHOLE_SWEEP"))
LARGEST = 3_000_000  # bytes of a file in the default run
NAMES = [file_format.name for file_format in coverage.TARGETS]


def part_of(things, number, every):
    """A part of some things; everything in a whole sweep."""
    things = list(things)
    return things if WHOLE else things[number % every :: every]


def is_small(path):
    return WHOLE or path.stat().st_size < LARGEST


def needs_what_runs(name):
    """Files of PyTorch are proved where PyTorch is installed."""
    if name == "pytorch":
        pytest.importorskip("torch")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not LEGACY.exists(), reason="needs ../shared/legacy_files")
@pytest.mark.parametrize("name", NAMES)
def test_legacy_files(tmp_path, name):
    """Each network converts and computes the same, or is refused with reasons."""
    needs_what_runs(name)
    file_format = coverage.TARGETS[NAMES.index(name)]
    files = [path for path in sorted(LEGACY.iterdir()) if is_small(path)]
    refused, converted = [], 0
    for path in part_of(files, NAMES.index(name), 12):
        try:
            root = rl.load(path)
        except FileFormatError:
            continue
        for place, network in networks_to_prove(root):
            target = tmp_path / f"net{file_format.suffixes[0]}"
            try:
                report = rl.convert(network, target)
            except CannotConvert as error:
                assert all(refusal.reason for refusal in error.refusals)
                refused.append(f"{path.name}:{place}")
                continue
            assert report.verified and report.proofs, f"{path.name}:{place}: {report}"
            converted += 1
    assert converted > len(refused)


T7 = Path(__file__).resolve().parents[1] / "data" / "t7"
NO_NETWORK = "there is no network to run in the file|there are \\d+ modules in the file"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_golden_files(tmp_path, name):
    """Each file that can be loaded converts with proof, or is refused with reasons."""
    needs_what_runs(name)
    ending = coverage.TARGETS[NAMES.index(name)].suffixes[0]
    converted = 0
    for path in part_of(sorted(T7.rglob("*.t7")), NAMES.index(name), 6):
        try:
            report = rl.convert(path, tmp_path / f"file{ending}")
        except FileFormatError:
            continue
        except CannotConvert as error:
            assert error.refusals and all(refusal.reason for refusal in error.refusals)
        except UnwritableError as error:
            assert error.problems
        except ValueError as error:
            assert re.match(NO_NETWORK, str(error)), path
        else:
            assert report.verified, f"{path.name}: {report}"
            converted += 1
    assert converted


def table():
    """The cells of the table in docs/converters.md, by class and format."""
    text = coverage.PAGE.read_text("utf-8")
    rows = text.partition(coverage.BEGIN)[2].partition(coverage.END)[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row[:1] == "|"]
    names = cells[0][1:]
    return {
        (row[0].strip("`"), name): cell
        for row in cells[2:]
        for name, cell in zip(names, row[1:], strict=True)
    }


def test_the_table_has_all_formats():
    cells = table()
    assert {name for _, name in cells} == set(NAMES)
    assert len({class_name for class_name, _ in cells}) > 150


GOLDEN = [
    (section, path.stem)
    for section in coverage.SECTIONS
    for path in sorted((coverage.ROOT / "tests" / "data" / section).glob("*.t7"))
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_golden_layers_do_what_the_table_says(name):
    """A class with "yes" converts in all its cases; the others not in all."""
    needs_what_runs(name)
    cells = table()
    file_format = coverage.TARGETS[NAMES.index(name)]
    for section, stem in part_of(GOLDEN, NAMES.index(name), 20):
        for case in coverage.cases(section, stem):
            cell = cells[case.class_name, name]
            if cell in (coverage.YES, "no"):
                answer = coverage.outcome(case, file_format)
                is_right = (answer == coverage.YES) == (cell == coverage.YES)
                assert is_right, f"{case.class_name}, {case.name}: {answer}, the table says {cell}"
