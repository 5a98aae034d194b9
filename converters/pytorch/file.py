"""PyTorch source as a kind of file: `net.py`, with `net.pt` and `net.safetensors` beside it."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from relume.converters import safetensors
from relume.converters.formats import Arrays, CannotConvert, Options, Refusal
from relume.converters.object_tree import walk
from relume.converters.proof import running
from relume.converters.pytorch import state_dict_file
from relume.converters.pytorch.building import NO_COUNTERPART, typename
from relume.converters.pytorch.generating import Source, generate
from relume.converters.pytorch.traced import Example, examples_of, may_be_traced
from relume.legacy_nn.module import Module

__all__ = ["check", "gradients", "layers", "run", "write"]

# What the metadata of the safetensors file tells beside the format.
OLD_TENSORS = "old_tensors"  # names of the old network's tensors by those of the new one's
OLD_LAYERS = "old_layers"
ALIASES = "aliases"


def check(net: Any) -> list[Refusal]:
    """What of a network has no counterpart, by class. Layers without a rule are traced when it is
    written, on the input that is known then."""
    found = generate(net).refusals
    modules = net.walk() if isinstance(net, Module) else []
    traced = {typename(module) for module in modules if may_be_traced(module)}
    return [r for r in found if r.reason != NO_COUNTERPART or r.class_name not in traced]


def write(net: Any, path: Path, options: Options) -> None:
    """Writes the source, and the weights twice beside it: for `torch.load` and as safetensors."""
    name = str(options.more.get("class_name") or "Net")
    source = generate(net, name, str(options.more.get("origin") or ""), examples(net, options))
    if source.refusals:
        raise CannotConvert("pytorch", source.refusals)
    arrays = converted(source.arrays(), options.dtype)
    path.write_text(source.text, encoding="utf-8")
    state_dict_file.write(path.with_suffix(".pt"), arrays)
    distinct = {name: arrays[name] for name in source.weights}
    safetensors.write(path.with_suffix(".safetensors"), distinct, metadata_of(net, source))
    options.progress(len(distinct))


def examples(net: Any, options: Options) -> dict[int, Example]:
    """What layers without a rule get when the network runs."""
    if options.inputs is None:
        return {}
    return examples_of(net, running.activation(net, options.inputs))


def converted(arrays: dict[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """Floating arrays in another type; those that are one stay one."""
    if not dtype:
        return arrays
    made: dict[int, np.ndarray] = {}
    for array in arrays.values():
        is_floating = array.dtype.kind == "f"
        made.setdefault(id(array), array.astype(dtype) if is_floating else array)
    return {name: made[id(array)] for name, array in arrays.items()}


def metadata_of(net: Any, source: Source) -> dict[str, str]:
    """Where the tensors and layers of the file were in the old network, as JSON."""
    nodes = walk(net, skip_scratch=True)
    paths = {id(node.value): node.path for node in nodes}
    tensors = {
        name: {
            "paths": [paths.get(id(tensor), "") for tensor in weight.tensors],
            "shapes": [list(tensor.shape) for tensor in weight.tensors],
            "keeps_order": weight.form.keeps_order,
        }
        for name, weight in source.weights.items()
    }
    layers = {name: paths[id(m)] for name, m in source.layers.items() if id(m) in paths}
    return {
        "format": "pt",
        OLD_TENSORS: json.dumps(tensors),
        OLD_LAYERS: json.dumps(layers),
        ALIASES: json.dumps(source.aliases),
    }


# ---- running the file, for the proof ----


def load_module(path: Path) -> Any:
    """The generated file as a module of Python of its own."""
    name = f"_relume_generated_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    written = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = written
    return module


def activation(network: Any, inputs: Arrays, requires_grad: bool = False) -> Any:
    """Arrays as tensors of PyTorch, in tuples where there are lists."""
    import torch

    if isinstance(inputs, (list, tuple)):
        return tuple(activation(network, element, requires_grad) for element in inputs)
    tensor = torch.from_numpy(np.array(inputs))
    if tensor.is_floating_point():
        like = next((p for p in network.state_dict().values() if p.is_floating_point()), tensor)
        tensor = tensor.to(like.dtype).requires_grad_(requires_grad)
    return tensor


def apply(network: Any, given: Any) -> Any:
    """What a network gives; a loss takes {input, target}."""
    takes_two = "target" in inspect.signature(network.forward).parameters
    return network(*given) if takes_two else network(given)


def flat(output: Any) -> list[Any]:
    """The tensors of nested tuples, in order."""
    if isinstance(output, (list, tuple)):
        return [tensor for element in output for tensor in flat(element)]
    return [output]


def arrays_of(output: Any) -> list[np.ndarray]:
    return [np.asarray(getattr(value, "detach", lambda v=value: v)()) for value in flat(output)]


def run(path: Path, inputs: Arrays) -> list[np.ndarray]:
    """The outputs of the written file: arrays, nested tuples flattened in order.

    Raises:
        ImportError: PyTorch is not installed.
    """
    import torch

    network = load_module(path).load()
    with torch.no_grad():
        return arrays_of(apply(network, activation(network, inputs)))


def gradients(
    path: Path, inputs: Arrays, output_gradients: list[np.ndarray]
) -> dict[str, np.ndarray]:
    """The gradients by the names of the old network: "input" ("input.1", ...), and the paths of
    parameters that the new network has as they were."""
    import torch

    from relume.converters.proof.running import input_names

    network = load_module(path).load()
    given = activation(network, inputs, requires_grad=True)
    outputs = flat(apply(network, given))
    pairs = [
        (value, torch.from_numpy(np.array(gradient)).to(value.dtype).reshape(value.shape))
        for value, gradient in zip(outputs, output_gradients, strict=True)
        if value.requires_grad
    ]
    if pairs:
        torch.autograd.backward([value for value, _ in pairs], [g for _, g in pairs])
    found = {
        name: tensor.grad.numpy()
        for name, tensor in zip(input_names(inputs), flat(given), strict=True)
        if tensor.grad is not None
    }
    old = json.loads(safetensors.read(path.with_suffix(".safetensors"))[1][OLD_TENSORS])
    for name, parameter in network.named_parameters():
        tensor = old.get(name)
        if tensor and tensor["keeps_order"] and parameter.grad is not None:
            found[tensor["paths"][0]] = parameter.grad.numpy().reshape(tensor["shapes"][0])
    return found


def layers(path: Path, inputs: Arrays) -> dict[str, list[np.ndarray]]:
    """What each layer gives, by the paths of the old network, in order."""
    import torch

    network = load_module(path).load()
    old = json.loads(safetensors.read(path.with_suffix(".safetensors"))[1][OLD_LAYERS])
    found: dict[str, list[np.ndarray]] = {}

    def note(old_path: str) -> Any:
        return lambda module, given, output: found.update({old_path: arrays_of(output)})

    for name, module in network.named_modules():
        if name in old:
            module.register_forward_hook(note(old[name]))
    with torch.no_grad():
        found[""] = arrays_of(apply(network, activation(network, inputs)))
    return found
