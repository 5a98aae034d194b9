"""Runs ONNX models by onnxruntime and compares them with the networks they were made of."""

import numpy as np
import onnx
import onnxruntime

import relume as rl
from relume.converters.onnx.format import feeds_of
from relume.legacy_nn import nested

LARGEST_DIFFERENCE = 1e-4  # relative to the largest value of the output, in float32


def arrays_of(activation):
    """The tensors of an activation as arrays, in nested lists."""
    if isinstance(activation, rl.Tensor):
        return activation.detach().numpy()
    return [arrays_of(element) for element in nested.elements(activation)]


def tensors_of(activation):
    if isinstance(activation, rl.Tensor):
        return [activation.detach()]
    if nested.is_table(activation):
        return [t for element in nested.elements(activation) for t in tensors_of(element)]
    return []  # numbers in an input


def run_network(network, inputs):
    """The outputs of a copy of a network in evaluate mode."""
    copy = nested.map_tensors(lambda tensor: tensor.detach().clone(), inputs)
    return [tensor.numpy() for tensor in tensors_of(network.clone().evaluate().forward(copy))]


def run_model(model, inputs):
    """The outputs of a model."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds_of(model, [tensor.numpy() for tensor in tensors_of(inputs)]))


def check_agreement(network, model, inputs, tolerance=LARGEST_DIFFERENCE):
    """Fails when a model gives something else than the network."""
    expected, actual = run_network(network, inputs), run_model(model, inputs)
    assert len(actual) == len(expected)
    for mine, other in zip(actual, expected, strict=True):
        assert mine.shape == other.shape
        finite = np.isfinite(other)
        scale = max(float(np.abs(other[finite].astype(np.float64)).max(initial=0)), 1e-2)
        np.testing.assert_allclose(
            mine.astype(np.float64), other.astype(np.float64), rtol=0, atol=tolerance * scale
        )


def free_sizes(model):
    """The names of the dimensions of inputs that may have any size."""
    dims = [dim for given in model.graph.input for dim in given.type.tensor_type.shape.dim]
    return {dim.dim_param for dim in dims if dim.dim_param}


def is_free(model, places):
    """Are these dimensions of inputs, (number, dim), one size that may be any?"""
    found = {}
    for number, given in enumerate(model.graph.input):
        for dim, size in enumerate(given.type.tensor_type.shape.dim):
            if size.dim_param:
                found.setdefault(size.dim_param, set()).add((number, dim))
    return set(places) in found.values()


def check_valid(model):
    onnx.checker.check_model(model, full_check=True)
