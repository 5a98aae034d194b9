"""ONNX as a format that a network can be converted to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from relume.converters.formats import (
    Arrays,
    CannotConvert,
    Options,
    Refusal,
    flatten,
    reading,
)
from relume.converters.onnx.exporting import LAYERS, OPSET, export
from relume.converters.onnx.refusals import check
from relume.converters.proof.running import activation

EXTERNAL_FROM = 1024  # bytes: smaller initialisers stay in the file itself

__all__ = ["check", "layers", "run", "write"]

LARGEST_FILE = 2**31 - 2**24  # bytes that fit into one file, with something for the rest


def write(network: Any, path: Path, options: Options) -> None:
    """Writes a network as an ONNX file; weights beyond 2 GB go to a file beside it."""
    if options.inputs is None:
        raise ValueError("ONNX needs an example of the network's input: give input=")
    model = export(
        network,
        activation(network, options.inputs),
        dtype=options.dtype or "float32",
        dynamic=options.more.get("dynamic", True),
        opset=options.more.get("opset", OPSET),
    )
    is_large = sum(len(tensor.raw_data) for tensor in model.graph.initializer) > LARGEST_FILE
    if options.more.get("external_data", is_large):
        onnx.save_model(
            model,
            path,
            save_as_external_data=True,
            location=f"{path.stem}.data",
            size_threshold=EXTERNAL_FROM,
        )
    else:
        onnx.save_model(model, path)
    try:
        onnx.checker.check_model(str(path), full_check=not is_large)
    except Exception as error:  # a mistake of this exporter: say so before anything is kept
        raise CannotConvert("onnx", [Refusal("the network", 1, f"not valid: {error}")]) from error


def run(path: Path, inputs: Arrays) -> list[np.ndarray]:
    """The outputs of a file, by onnxruntime where it is installed."""
    model = read_model(path)
    return run_file(path, feeds_of(model, inputs))


def read_model(path: Path) -> onnx.ModelProto:
    """The model in a file, without the weights beside it.

    Raises:
        FileFormatError: it is no such file, or a damaged one.
    """
    with reading("onnx", path):
        model = onnx.load_model(path, load_external_data=False)
        if not model.graph.output:
            raise ValueError("there is no graph in it")
    return model


def feeds_of(model: onnx.ModelProto, inputs: Arrays) -> dict[str, np.ndarray]:
    """Arrays by the names of the inputs, in their types. Numbers in tables are in the model."""
    feeds = {}
    arrays = flatten(inputs)
    if len(arrays) > len(model.graph.input):
        arrays = [array for array in arrays if array.ndim]
    for given, array in zip(model.graph.input, arrays, strict=True):
        kind = onnx.helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
        feeds[given.name] = array.astype(kind)
    return feeds


def run_file(path: Path | bytes, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of a model, by onnxruntime; by ONNX's reference where that is not installed, or
    has no kernel for the model's numbers, as for convolutions of float64."""
    source = str(path) if isinstance(path, Path) else path
    try:
        session = session_of(source)
    except (ImportError, NotSupported):
        from onnx.reference import ReferenceEvaluator

        return list(ReferenceEvaluator(source).run(None, feeds))
    return list(session.run(None, feeds))


class NotSupported(Exception):
    """onnxruntime has no kernel for a node."""


def session_of(source: str | bytes) -> Any:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(source, settings, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as error:
        raise NotSupported(str(error)) from error


def layers(path: Path, inputs: Arrays) -> dict[str, list[np.ndarray]]:
    """What each layer gives, by its path: the file says which values those are."""
    model = onnx.load_model(path)
    feeds = feeds_of(model, inputs)
    noted = {entry.key: entry.value for entry in model.metadata_props}
    values: dict[str, list[str]] = json.loads(noted.get(LAYERS, "{}"))
    wanted = dict.fromkeys(name for names in values.values() for name in names)
    own = [output.name for output in model.graph.output]
    model.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(name) for name in wanted if name not in own
    )
    names = [output.name for output in model.graph.output]
    found = dict(zip(names, run_file(model.SerializeToString(), feeds), strict=True))
    return {layer: [found[name] for name in names] for layer, names in values.items()}
