"""`relume run`: a network of a file, on an array."""

from __future__ import annotations

import json as json_format
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import relume
from relume import legacy_nn
from relume.command_line.layers import describe, print_layers
from relume.command_line.output import Stopwatch, status
from relume.converters.atomic import replacing
from relume.converters.networks import find_network
from relume.converters.proof.running import dtype_of
from relume.tensor.printing import size_text


def run(
    file: Path,
    *,
    input: Path,
    output: Path | None,
    layers: bool,
    save_layers: Path | None,
    compare: Path | None,
    tolerance: float,
    select: str,
    json: bool,
) -> bool:
    """Returns False when the layers were compared and one differs."""
    given = read_input(input)
    check_endings(output, save_layers, compare)
    with status(f"reading {file}"):
        network = find_network(relume.load(file), select)
    network.evaluate()
    given = cast(given, dtype_of(network))
    is_traced = layers or save_layers is not None or compare is not None
    watch = Stopwatch()
    with status("running"), relume.no_grad():
        trace = network.forward(given, trace=True) if is_traced else None
        result = trace.output if trace is not None else network.forward(given)
    seconds = watch.seconds()
    differences = trace.compare(compare, tolerance) if trace and compare is not None else []
    if output is not None:
        write_output(output, result)
    if trace is not None and save_layers is not None:
        trace.save(save_layers)
    if json:
        answer = {"output": shape_of(result), "seconds": seconds}
        if trace is not None:
            answer["layers"] = describe(trace, differences)
        print(json_format.dumps(answer))
    else:
        if trace is not None:
            print_layers(trace, differences)
            print()
        target = f", written to {output}" if output is not None else ""
        size = shape_text(shape_of(result))
        print(f"{network.torch_typename}: output {size} in {seconds:.3f} s{target}")
    return not any(difference.differs for difference in differences)


def check_endings(output: Path | None, save_layers: Path | None, compare: Path | None) -> None:
    if output is not None and output.suffix not in (".npy", ".npz"):
        raise ValueError(f"--output should end in .npy or .npz, got {str(output)!r}")
    for option, path in (("--save-layers", save_layers), ("--compare", compare)):
        if path is not None and path.suffix != ".npz":
            raise ValueError(f"{option} should name an .npz file, got {str(path)!r}")


def read_input(path: Path) -> Any:
    """An array, or for an .npz with several a table of its arrays in their order."""
    try:
        loaded = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise ValueError(
            f"{path} is no .npy or .npz file of numbers; write one with numpy.save(path, array)"
        ) from None
    if isinstance(loaded, np.ndarray):
        return input_tensor(path, loaded)
    with loaded:
        tensors = [input_tensor(f"{path}: {name}", loaded[name]) for name in loaded]
    return tensors[0] if len(tensors) == 1 else relume.Table(tensors)


def input_tensor(where: Any, array: np.ndarray) -> Any:
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{where} holds {array.dtype}, which no network takes; "
            "make it real numbers, such as array.astype('float32')"
        )
    return relume.tensor(array)


def cast(value: Any, dtype: Any) -> Any:
    return legacy_nn.nested.map_tensors(lambda tensor: tensor.to(dtype), value)


def write_output(path: Path, result: Any) -> None:
    tensors = legacy_nn.nested.tensors_in(result)
    arrays = [tensor.detach().numpy() for tensor in tensors]
    if path.suffix == ".npy" and len(arrays) != 1:
        raise ValueError(
            f"the output is a table of {len(arrays)} tensors; name a file that ends in .npz"
        )
    with replacing(path) as temporary, open(temporary, "wb") as file:
        if path.suffix == ".npy":
            np.save(file, arrays[0], allow_pickle=False)
        else:
            named: dict[str, Any] = {str(i): array for i, array in enumerate(arrays, start=1)}
            np.savez(file, **named)


def shape_text(shape: list) -> str:
    """[2, 3] as 2x3, the shapes of a table in braces."""
    if any(isinstance(size, list) for size in shape):
        return "{" + ", ".join(shape_text(part) for part in shape) + "}"
    return size_text(shape)


def shape_of(value: Any) -> Any:
    if isinstance(value, relume.Tensor):
        return list(value.shape)
    return [shape_of(element) for element in legacy_nn.nested.elements(value)]
