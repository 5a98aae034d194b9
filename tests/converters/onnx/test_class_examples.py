"""The layers of other packages and of known models, which no golden case shows, as ONNX models:
what the examples in their documentation run."""

import doctest
import importlib
import pkgutil

import pytest
from onnx_running import check_agreement, check_valid

import relume as rl
from relume import legacy_nn as nn
from relume.converters.onnx import export
from relume.converters.onnx.refusals import check
from relume.legacy_nn import cudnn, models, nested, packages
from relume.legacy_nn.module import Module

# They compute in float16 where the model does in float32, or take the place of another layer.
NOT_COMPARED = {"nn.HalfPrecision", "nn.FunctionWrapper"}
# Whose examples run no layer of their own, or only such as no model can stand for.
NOTHING_TO_COMPARE = set(
    """
    cudnn.bases cudnn.conversion cudnn.flat_weights cudnn.names models.adaptive_softmax
    models.autoencoders models.binary_network models.densecap models.densecap.captions
    models.densecap.criterions models.densecap.model models.densecap.region_pooling
    models.densecap.regions models.hierarchical_softmax models.holder models.image_pyramids
    models.image_scaling models.mc_cnn models.memory_networks models.neuralconvo models.opennmt
    models.opennmt.dictionary models.opennmt.encoders models.opennmt.sentence_criterion
    models.opennmt.seq2seq models.opennmt.sequencers models.residual models.small_vision
    models.taped models.text_recognition models.texture_encoding models.vector_functions
    packages.fbcunn packages.fbnn_criterions packages.fbnn_dropout packages.nnx_criterions
    packages.nnx_pyramids packages.nnx_trees packages.unsup
    """.split()
)
MODULES = [
    found.name
    for package in (cudnn, models, packages)
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


class Caught:
    """The outermost calls of layers while examples run: copies of the layers, and what they got."""

    def __init__(self, monkeypatch):
        self.calls = []
        self.depth = 0
        for method in ("forward", "__call__"):
            monkeypatch.setattr(Module, method, self.listening(getattr(Module, method)))

    def listening(self, original):
        def method(module, *inputs, **options):
            is_outermost = self.depth == 0 and len(inputs) == 1 and not options
            if is_outermost and nested.tensors_in(inputs[0]):
                self.depth += 1
                taken = nested.map_tensors(lambda tensor: tensor.detach().clone(), inputs[0])
                self.calls.append((module.clone(), taken))
                self.depth -= 1
            self.depth += 1
            try:
                return original(module, *inputs, **options)
            finally:
                self.depth -= 1

        return method


@pytest.mark.parametrize("name", MODULES)
def test_examples_become_models(name, monkeypatch):
    module = importlib.import_module(name)
    with monkeypatch.context() as patch:
        caught = Caught(patch)
        runner = doctest.DocTestRunner(verbose=False)
        for example in doctest.DocTestFinder(exclude_empty=True).find(module, name):
            runner.run(example, out=lambda text: None)
    first = {layer.torch_typename: (layer, inputs) for layer, inputs in reversed(caught.calls)}
    compared = 0
    for kind, (layer, inputs) in first.items():
        if kind in NOT_COMPARED or check(layer) or not runs(layer, inputs):
            continue
        model = export(layer, inputs, dynamic=False)
        check_valid(model)
        check_agreement(layer, model, inputs)
        compared += 1
    assert bool(compared) != (name.removeprefix("relume.legacy_nn.") in NOTHING_TO_COMPARE)


def runs(layer, inputs):
    """Some examples show what goes wrong."""
    try:
        output = layer.clone().evaluate().forward(nested.map_tensors(rl.clone, inputs))
    except Exception:
        return False
    return bool(nested.tensors_in(output)) and isinstance(layer, nn.Module)
