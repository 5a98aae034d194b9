"""`relume convert`: a model of a file in another format, with proof; or all files of a folder."""

from __future__ import annotations

import json as json_format
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relume.command_line.output import bytes_text, console, print_table, progress, status
from relume.command_line.run import read_input
from relume.converters import UnwritableError, object_tree
from relume.converters.conversion import convert as convert_model
from relume.converters.errors import FileFormatError
from relume.converters.formats import CannotConvert, format_of
from relume.converters.loading import load_any
from relume.converters.proof.inputs import NoInputFound
from relume.converters.proof.report import ConversionReport, ProofFailed, check_report_path
from relume.converters.weights import collect
from relume.converters.weights.streaming import LARGE

# What is "no" and not a mistake of the user's: an answer per exception.
ANSWERS: tuple[tuple[type[Exception], str], ...] = (
    (CannotConvert, "refused"),
    (UnwritableError, "refused"),
    (ProofFailed, "differs"),
    (NoInputFound, "no input"),
)


def convert(
    source: Path,
    destination: Path,
    *,
    to: str,
    select: str,
    input: Path | None,
    options: Mapping[str, Any],
    report: Path | None,
    json: bool,
) -> bool:
    """Returns False when it cannot be converted, or does not compute the same."""
    arrays = None if input is None else read_input(input)
    if source.is_dir():
        job = Job(source, destination, to, report, {**options, "select": select, "input": arrays})
        return convert_folder(job, json=json)
    format_of(destination, to)
    if report is not None:
        check_report_path(report)
    source_or_root: Any = source
    count = 0
    if not source.exists() or source.stat().st_size < LARGE:
        with status(f"reading {source}"):
            source_or_root = load_any(source)
            if select and not options.get("into"):  # which says where the new weights go
                source_or_root, select = object_tree.select(source_or_root, select), ""
            count = len(collect(source_or_root, everything=bool(options.get("everything"))).arrays)
    try:
        with progress("writing", count) as advance:
            made = convert_model(
                source_or_root,
                destination,
                to=to,
                select=select,
                input=arrays,
                layers=report is not None,
                progress=advance,
                **options,
            )
    except ProofFailed as error:
        show(error.report, source, report, json)
        return False
    except tuple(kind for kind, _ in ANSWERS) as error:
        tell_refusal(source, error, json)
        return False
    show(made, source, report, json)
    return True


def read_names(path: Path) -> dict[str, str]:
    """A JSON file that says for names of tensors which of the network's they are."""
    names = json_format.loads(path.read_text())
    if not isinstance(names, dict):
        raise ValueError(f"{path} should hold one object: a name of the network for each name")
    return {str(name): str(meant) for name, meant in names.items()}


def show(made: ConversionReport, source: Path, path: Path | None, json: bool) -> None:
    made.source = str(source)
    if path is not None:
        made.save(path)
    if json:
        print(made.to_json())
        return
    print(made)
    for alias, name in list(made.aliases.items())[:MOST_ALIASES]:
        print(f"  {alias} is {name}")
    if len(made.aliases) > MOST_ALIASES:
        print(f"  ... and {len(made.aliases) - MOST_ALIASES} more")


MOST_ALIASES = 20


def tell_refusal(source: Path, error: Exception, json: bool) -> None:
    if json:
        refusals = [vars(refusal) for refusal in getattr(error, "refusals", [])]
        print(json_format.dumps({"source": str(source), "error": str(error), "refusals": refusals}))
    else:
        console(error=True).print(f"cannot convert {source}: {error}", markup=False)


# ---- folders ----


@dataclass
class Outcome:
    """What became of one file."""

    file: str
    result: str
    reason: str = ""
    networks: int = 0
    difference: float | None = None
    bytes: int = 0


@dataclass
class Job:
    """A folder to be converted.

    Attributes:
        source, destination: the folders.
        to: the name of the format.
        reports: the folder for a page about each file; None for none.
        options: of every conversion.
    """

    source: Path
    destination: Path
    to: str
    reports: Path | None
    options: Mapping[str, Any]


def convert_folder(job: Job, *, json: bool) -> bool:
    """Converts every model under a folder; returns whether all that are models became files."""
    if not job.to:
        raise ValueError("say with --to which format the files of a folder are to become")
    if job.reports is not None and job.reports.suffix in (".html", ".json", ".txt"):
        raise ValueError(
            f"every file of a folder gets a report of its own: give --report a folder, not "
            f"{job.reports}"
        )
    source, ending = job.source, format_of("", job.to).suffixes[0]
    files = sorted(path for path in source.rglob("*") if path.is_file())
    stems = Counter(file.with_suffix("") for file in files)
    outcomes = []
    with progress("converting", len(files)) as advance:
        for file in files:
            inner = file.relative_to(source)
            is_alone = stems[file.with_suffix("")] == 1  # else net.t7 and net.ascii become one
            name = inner.with_suffix(ending) if is_alone else Path(f"{inner}{ending}")
            outcomes.append(convert_one(file, name, job))
            advance(1)
    if json:
        print(json_format.dumps([vars(outcome) for outcome in outcomes]))
    else:
        print_outcomes(outcomes)
    return all(outcome.result in ("converted", "skipped") for outcome in outcomes)


def convert_one(file: Path, name: Path, job: Job) -> Outcome:
    outcome = Outcome(str(file.relative_to(job.source)), "converted")
    place = job.destination / name
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        layers = job.reports is not None
        report = convert_model(file, place, to=job.to, layers=layers, **job.options)
        save_report(report, name, job)
    except FileFormatError as error:
        outcome.result, outcome.reason = "skipped", str(error).split("\n")[0]
    except Exception as error:  # one file must not stop the others
        answers = [answer for kind, answer in ANSWERS if isinstance(error, kind)]
        outcome.result = answers[0] if answers else "refused"
        outcome.reason = " ".join(str(error).split())
        if isinstance(error, ProofFailed):
            save_report(error.report, name, job)
    else:
        outcome.networks = len(report.proofs)
        outcome.difference = max((p.relative or 0.0 for p in report.proofs), default=None)
        outcome.bytes = report.bytes
    return outcome


def save_report(report: ConversionReport, name: Path, job: Job) -> None:
    if job.reports is not None:
        page = job.reports / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        report.save(page)


def print_outcomes(outcomes: list[Outcome]) -> None:
    rows = [
        [
            outcome.file,
            outcome.result,
            outcome.networks or "",
            "" if outcome.difference is None else f"{outcome.difference:.1e}",
            bytes_text(outcome.bytes) if outcome.bytes else "",
            outcome.reason[:120],
        ]
        for outcome in outcomes
    ]
    columns = ["file", "result", "networks", "difference", "size", "reason"]
    print_table(columns, rows, right=frozenset({"networks", "difference", "size"}))
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.result] = counts.get(outcome.result, 0) + 1
    print("\n" + ", ".join(f"{count} {result}" for result, count in counts.items()))
