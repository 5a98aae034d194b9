"""From one kind of file to another, with proof: `relume.convert` and `relume.compare`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from relume.converters.atomic import staging
from relume.converters.formats import (
    Arrays,
    CannotConvert,
    Format,
    Options,
    Refusal,
    format_of,
)
from relume.converters.importing.source import as_network, with_weights
from relume.converters.loading import load_any, readable_format
from relume.converters.networks import (
    NoNetwork,
    find_network,
    networks_to_prove,
    with_one_type,
)
from relume.converters.object_tree import class_name
from relume.converters.object_tree import select as select_object
from relume.converters.proof import running
from relume.converters.proof.comparing import Proof, Side, prove, side_of_file, side_of_network
from relume.converters.proof.inputs import NoInputFound, generate
from relume.converters.proof.report import ConversionReport, ProofFailed, drawing_of, layer_rows
from relume.converters.weights import collect, streaming
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.errors import UnknownModuleError

__all__ = ["convert"]

# How much of the largest value may differ, by the numbers that are written.
TOLERANCES = {"": 1e-4, "float32": 1e-4, "float64": 1e-4, "float16": 2e-2}
MOST_NETWORKS = 8  # of one file that are run for the proof


@dataclass
class Conversion:
    """One conversion under way.

    Attributes:
        source: what is converted, with everything that was asked of it (`fold_bn`).
        original: the same before that, which the proof compares with.
        path: of the file that it came from; None where there is none.
    """

    source: Any
    original: Any
    path: Any
    format: Format
    options: Options
    input: Arrays
    verify: bool
    gradients: bool
    layers: bool
    report: ConversionReport


def convert(
    src: Any,
    dst: str | os.PathLike[str],
    *,
    input: Any = None,
    verify: bool = True,
    to: str = "",
    select: str = "",
    dtype: str = "",
    fold_bn: bool = False,
    layout: str = "torch",
    everything: bool = False,
    gradients: bool = False,
    layers: bool = False,
    into: Any = None,
    names: Any = None,
    progress: Callable[[int], None] = lambda steps: None,
    **more: Any,
) -> ConversionReport:
    """Converts a model or checkpoint to the format that the ending of `dst` tells, with proof.

    Files of weights (.npz, .safetensors, .h5) hold the tensors under their paths as names, and what
    else is needed to make the same object again; .t7 holds the whole object. Other formats hold one
    network.

    Unless `verify` is false, both sides are run on the same inputs before the file appears, and
    weights are read back and compared. A conversion that cannot be faithful writes nothing.

    Args:
        src: the path of a file, what `relume.load` returned, a module of PyTorch, or tensors by
            name.
        dst: the file to be written.
        input: what the network is run on for the proof: an array, or a list of them for a table;
            generated when it is None.
        verify: prove that the file computes the same.
        to: the name of the format, where the ending does not tell: "t7", "safetensors", ...
        select: the path of the object in the file that is meant, such as "protos.rnn".
        dtype: "float16", "float32" or "float64" for all floating numbers.
        fold_bn: take batch normalisation into the convolutions and linear layers before it.
        layout: "keras" for its names and orders of axes (files of weights).
        everything: take the buffers, gradients and last outputs of layers too (files of weights).
        gradients: compare gradients too, where the format gives them.
        layers: compare what each layer gives, even when the outputs agree.
        into: an old network, or the path of its file: it gets the tensors of `src` and is what is
            written, so that Lua code can go on with retrained weights.
        names: what the names of these tensors mean in the network; see
            `converters.importing.fill_weights`.
        progress: called with the number of tensors as they are written.
        more: options of one format.

    Raises:
        CannotConvert: (a ValueError) it would not be faithful; lists class, count and reason.
        ProofFailed: (a ValueError) it does not compute the same; its `report` says where.
        ValueError: an unknown ending, several networks, no input for the proof.

    >>> import os, tempfile
    >>> import relume as rl
    >>> path = os.path.join(tempfile.mkdtemp(), "w.npz")
    >>> report = convert({"weight": rl.ones([2, 3])}, path)
    >>> report.tensors, report.elements, report.verified
    (1, 6, True)
    """
    started = time.perf_counter()
    file_format = format_of(dst, to)
    check_options(file_format, dtype, layout, more)
    name = os.fspath(src) if isinstance(src, (str, os.PathLike)) else type(src).__name__
    is_plain = into is None and not (dtype or fold_bn or gradients or layers or input is not None)
    if is_plain and layout == "torch" and is_torch7_file(src):
        report = convert_large(src, Path(dst), file_format, select, verify, everything, progress)
        if report is not None:
            report.seconds = time.perf_counter() - started
            return report
    source = load_any(src) if isinstance(src, (str, os.PathLike)) else src
    if into is not None:
        source = with_weights(source, into, select, names)
        select = "" if file_format.any_object else select  # all of the file is written
    source = as_network(source)
    warning = ""
    if not file_format.any_object:
        source, warning = with_one_type(only_network(source, select, file_format))
    elif select:
        source = select_object(source, select)
    conversion = Conversion(
        source=source,
        original=source,
        path=src if isinstance(src, (str, os.PathLike)) else None,
        format=file_format,
        options=Options(None, dtype, layout, everything, progress, more),
        input=as_arrays(input),
        verify=verify,
        gradients=gradients,
        layers=layers,
        report=ConversionReport(name, os.fspath(dst), format=file_format.name),
    )
    if warning:
        conversion.report.warnings.append(warning)
    if fold_bn:
        from relume.converters.folding import folded

        conversion.source = folded(source)
    carry_out(conversion, Path(dst))
    conversion.report.seconds = time.perf_counter() - started
    return conversion.report


def only_network(source: Any, select: str, file_format: Format) -> Any:
    """The one network of an object, for formats that hold one.

    Raises:
        CannotConvert: it holds none.
        ValueError: several, so that one has to be selected.
    """
    try:
        return find_network(source, select)
    except NoNetwork as error:
        found = select_object(source, select) if select else source
        reason = str(error)
        if isinstance(found, Criterion):
            reason = "a criterion, of an output and a target; nn.CriterionTable(it) is a network"
        raise CannotConvert(file_format.name, [Refusal(class_name(found), 1, reason)]) from None


def convert_large(
    src: str | os.PathLike[str],
    dst: Path,
    file_format: Format,
    select: str,
    verify: bool,
    everything: bool,
    progress: Callable[[int], None],
) -> ConversionReport | None:
    """Converts a file in pieces, in little memory; None when it is not large, or for formats that
    cannot be written so."""
    target = streaming.TARGETS.get(file_format.name)
    outline = None if target is None else streaming.open_large(src, select)
    if target is None or outline is None:
        return None
    weights = collect(outline.root, everything=everything)
    report = ConversionReport(os.fspath(src), os.fspath(dst), format=file_format.name)
    report.tensors = len(weights.arrays)
    report.elements = sum(array.size for array in weights.arrays.values())
    report.aliases = weights.aliases
    with staging(dst) as staged:
        target.write(outline, weights, staged, progress)
        if verify:
            target.check(outline, weights, staged)
        report.bytes = staged.stat().st_size
    report.verified = report.read_back = verify
    report.warnings.append(
        "a large file: it was converted in pieces and compared byte for byte, and no network was "
        "run; `relume compare` does that"
    )
    return report


def is_torch7_file(source: Any) -> bool:
    is_path = isinstance(source, (str, os.PathLike))
    return is_path and os.path.exists(source) and readable_format(source).name == "t7"


def check_options(file_format: Format, dtype: str, layout: str, more: Mapping[str, Any]) -> None:
    if dtype not in TOLERANCES:
        raise ValueError(f"dtype is float16, float32 or float64, not {dtype!r}")
    if layout not in ("torch", "keras"):
        raise ValueError(f"layout is 'torch' or 'keras', not {layout!r}")
    for name in more:
        if name not in file_format.options:
            raise TypeError(
                f"convert has no option {name!r} for {file_format.name}; it has "
                f"{', '.join(file_format.options) or 'none of its own'}"
            )


def as_arrays(value: Any) -> Arrays:
    """What a user gives as an input, as arrays."""
    if value is None:
        return None
    if hasattr(value, "as_list"):  # a Table
        value = list(value)
    if isinstance(value, (list, tuple)) and not all(np.isscalar(element) for element in value):
        return [
            element if isinstance(element, (int, float)) else as_arrays(element)
            for element in value
        ]
    return value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)


def carry_out(conversion: Conversion, dst: Path) -> None:
    """Writes to a temporary place, proves, and moves the files to where they belong."""
    file_format, source = conversion.format, conversion.source
    refusals = file_format.check(source)
    if refusals:
        raise CannotConvert(file_format.name, refusals)
    weights = collect(source, everything=conversion.options.everything)
    if not weights.arrays and file_format.any_object and not holds_something(file_format, source):
        raise CannotConvert(file_format.name, [nothing_in(source)])
    report = conversion.report
    report.tensors = len(weights.arrays)
    report.elements = sum(array.size for array in weights.arrays.values())
    report.aliases = weights.aliases
    if not file_format.any_object:
        conversion.input = input_for(conversion, conversion.original)[0]
    options = replace(conversion.options, inputs=conversion.input)
    with staging(dst, conversion.path) as staged:
        file_format.write(source, staged, options)
        if conversion.verify:
            check_file(conversion, staged)
        report.bytes = sum(file.stat().st_size for file in staged.parent.iterdir())
        if not report.agrees:
            raise ProofFailed(report)
    report.verified = conversion.verify and (file_format.any_object or bool(report.proofs))


def holds_something(file_format: Format, source: Any) -> bool:
    """May an object without weights be written? t7 holds anything, a file of weights networks."""
    return file_format.name == "t7" or bool(networks_to_prove(source))


def nothing_in(source: Any) -> Refusal:
    reason = "there are no weights in it: no tensor that holds anything"
    return Refusal(class_name(source), 1, reason)


def input_for(conversion: Conversion, network: Any) -> tuple[Arrays, str]:
    """What a network is run on: what the user gave, or something generated."""
    if conversion.input is not None:
        return conversion.input, "the input that was given"
    made = generate(network)
    return made.arrays, made.text


# ---- the proof ----


def check_file(conversion: Conversion, path: Path) -> None:
    """Compares a file that was just written with what it was made from."""
    if conversion.format.any_object and conversion.format.load is not None:
        again = conversion.format.load(path)
        check_weights(conversion, again)
        conversion.report.read_back = True
        prove_networks(conversion, again)
    else:
        side = side_of_file(conversion.format, path)
        try:
            add_proof(conversion, "", conversion.original, side, conversion.input)
        except ModuleNotFoundError as missing:  # what runs such files is not installed
            conversion.report.warnings.append(
                f"not run: that needs {missing.name}, which is not installed"
            )


def check_weights(conversion: Conversion, again: Any) -> None:
    """Raises OSError when a file does not give back the weights, bit for bit.

    t7 has neither booleans nor tensors without dimensions: there the numbers must be the same.
    """
    read = collect(again, everything=True)
    names = read.by_every_name()
    keeps_types = conversion.format.name != "t7"
    options = conversion.options
    for name, array in collect(conversion.source, everything=options.everything).arrays.items():
        if name not in names:
            raise OSError(f"{name} is missing in the file that was just written")
        found = names[name]
        if options.dtype and array.dtype.kind == "f":
            array = array.astype(options.dtype)
        is_alike = (found.dtype, found.shape) == (array.dtype, array.shape)
        if not keeps_types and not is_alike and found.size == array.size:
            found = found.astype(array.dtype).reshape(array.shape)
        is_same = found.dtype == array.dtype and found.shape == array.shape
        if not is_same or not have_same_bytes(found, array):
            raise OSError(f"{name} differs in the file that was just written; is the disk full?")


def have_same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    """Are the elements of two arrays of one shape the same? What both repeat is looked at once."""
    steps = zip(a.strides, b.strides, strict=True)
    once = tuple(slice(1) if one == other == 0 else slice(None) for one, other in steps)
    return a[once].tobytes() == b[once].tobytes()


def prove_networks(conversion: Conversion, again: Any) -> None:
    """Runs the networks of an object and those that came back from the file."""
    originals = networks_to_prove(conversion.original)
    found = dict(networks_to_prove(again))
    warnings = conversion.report.warnings
    if len(originals) > MOST_NETWORKS:
        warnings.append(f"{len(originals)} networks; the first {MOST_NETWORKS} were run")
    for path, network in originals[:MOST_NETWORKS]:
        name = path or network.torch_typename
        if path not in found:
            raise OSError(f"{name} is missing in the file that was just written")
        try:
            inputs, _ = input_for(conversion, network)
            add_proof(conversion, path, network, side_of_network(found[path]), inputs)
        except (NoInputFound, UnknownModuleError) as error:
            warnings.append(f"{name} was not run: {error}")


def tolerance_for(conversion: Conversion, network: Any) -> float:
    """How much may differ: as much as the less precise side does from the truth."""
    own = str(running.dtype_of(network)).removeprefix("relume.")
    return max(TOLERANCES.get(own, 0.0), TOLERANCES[conversion.options.dtype])


def add_proof(
    conversion: Conversion, path: str, network: Any, other: Side, inputs: Arrays
) -> Proof:
    reference = side_of_network(network)
    written = dict(networks_to_prove(conversion.source)).get(path, network)
    if written is not network:  # folded: its layers are those of the file, not the original's
        reference = replace(reference, layers=side_of_network(written).layers)
    proof = prove(
        reference,
        other,
        inputs,
        path=path,
        tolerance=tolerance_for(conversion, network),
        gradients=conversion.gradients,
        layers=conversion.layers,
    )
    conversion.report.proofs.append(proof)
    conversion.report.layers += layer_rows(network, path)
    conversion.report.draw = drawing_of(network, inputs, conversion.report.draw)
    return proof
