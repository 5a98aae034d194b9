"""PyTorch source of layers of other packages: PyTorch computes what relume does, with gradients."""

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.converters import formats
from relume.converters.proof import running

torch = pytest.importorskip("torch")
FORMAT = formats.format_of("net.py")


def normal(*shape):
    return rl.randn(*shape, dtype=rl.float64)


# Rows: name -> the layer, and what it takes.
LAYERS = {
    "nn.Normalize2": (lambda: nn.lookup("nn.Normalize2")(), lambda: normal(2, 3, 4, 4)),
    "fbnn.L2Normalize": (lambda: nn.lookup("fbnn.L2Normalize")(), lambda: normal(3, 4)),
    "nn.ShaveImage": (lambda: nn.lookup("nn.ShaveImage")(1), lambda: normal(2, 3, 6, 6)),
    "nn.FeatExpander": (lambda: nn.lookup("nn.FeatExpander")(3), lambda: normal(2, 3)),
    "nn.SpatialUpSampling": (
        lambda: nn.lookup("nn.SpatialUpSampling")(2, 3),
        lambda: normal(2, 3, 4),
    ),
    "nn.StereoJoin1": (lambda: nn.lookup("nn.StereoJoin1")(), lambda: normal(4, 3, 2, 2)),
    "nn.ReverseSequence": (lambda: nn.lookup("nn.ReverseSequence")(), lambda: normal(4, 3)),
    "w2nn.ScaleTable": (
        lambda: nn.lookup("w2nn.ScaleTable")(),
        lambda: [normal(2, 3, 4, 4), normal(2, 3, 1, 1)],
    ),
    "nn.ExpandAs": (lambda: nn.lookup("nn.ExpandAs")(), lambda: [normal(2, 3), normal(2, 1)]),
    "w2nn.LeakyReLU": (lambda: nn.lookup("w2nn.LeakyReLU")(0.1), lambda: normal(2, 3)),
    "w2nn.InplaceClip01": (lambda: nn.lookup("w2nn.InplaceClip01")(), lambda: normal(2, 3)),
    "w2nn.DepthExpand2x": (lambda: nn.lookup("w2nn.DepthExpand2x")(), lambda: normal(2, 8, 3, 5)),
    "w2nn.GradWeight": (lambda: nn.lookup("w2nn.GradWeight")(0.5), lambda: normal(2, 8)),
    "SpatialSymmetricPadding": (
        lambda: nn.lookup("nn.SpatialSymmetricPadding")(2, 1, -1, 2),
        lambda: normal(2, 3, 4, 5),
    ),
    "NoBackprop": (lambda: nn.lookup("nn.NoBackprop")(nn.Linear(3, 2)), lambda: normal(2, 3)),
    "ModeSwitch": (
        lambda: nn.lookup("nn.ModeSwitch")(nn.Linear(3, 2), nn.Linear(3, 4)),
        lambda: normal(2, 3),
    ),
    "BatchBRNN": (lambda: nn.lookup("cudnn.BatchBRNN")(3, 4), lambda: normal(5, 2, 3)),
    "BatchBRNNReLU": (lambda: nn.lookup("cudnn.BatchBRNNReLU")(3, 4), lambda: normal(5, 2, 3)),
    "GramMatrix": (lambda: nn.lookup("nn.GramMatrix")(True), lambda: normal(2, 3, 4, 4)),
    "Unpool": (lambda: nn.lookup("nn.Unpool")(3, 3, 4, 4, 2), lambda: normal(2, 3, 4, 4)),
    "SpatialDownSampling": (
        lambda: nn.lookup("nn.SpatialDownSampling")(2, 3),
        lambda: normal(2, 3, 6, 6),
    ),
    "PixelSort": (lambda: nn.lookup("nn.PixelSort")(2), lambda: normal(2, 3, 6, 6)),
    "SpatialReSampling to a size": (
        lambda: nn.lookup("nn.SpatialReSampling")(oheight=7, owidth=3),
        lambda: normal(2, 3, 6, 6),
    ),
    "SpatialReSampling by factors": (
        lambda: nn.lookup("nn.SpatialReSampling")(rheight=1.5, rwidth=0.5),
        lambda: normal(3, 6, 6),
    ),
    "LookupTableGPU": (lambda: nn.lookup("nn.LookupTableGPU")(5, 3), lambda: rl.tensor([1, 2, 5])),
    "TemporalConvolutionFB": (
        lambda: nn.lookup("nn.TemporalConvolutionFB")(3, 4, 2),
        lambda: normal(2, 6, 3),
    ),
    "cudnnLSTM": (lambda: nn.lookup("cudnn.LSTM")(3, 4, 2), lambda: normal(5, 2, 3)),
    "cudnnBGRU": (lambda: nn.lookup("cudnn.BGRU")(3, 4, 2), lambda: normal(5, 2, 3)),
    "cudnnRNN": (lambda: nn.lookup("cudnn.RNNTanh")(3, 4, 1, True), lambda: normal(5, 2, 3)),
    "torch-rnn-LSTM": (
        lambda: nn.lookup("nn.LanguageModel")(["a", "b", "c"], "lstm", 4, 5, 2),
        lambda: rl.tensor([[1, 2, 3], [3, 2, 1]]),
    ),
    "torch-rnn-RNN": (
        lambda: nn.lookup("nn.LanguageModel")(["a", "b", "c"], "rnn", 4, 5, 1),
        lambda: rl.tensor([[1, 2, 3], [3, 2, 1]]),
    ),
    "TemporalAdapter": (
        lambda: nn.lookup("nn.TemporalAdapter")(nn.Linear(3, 2)),
        lambda: normal(2, 4, 3),
    ),
    "InstanceNorm": (lambda: nn.lookup("nn.InstanceNormalization")(3), lambda: normal(2, 3, 4, 4)),
    "ConstAffine": (lambda: nn.lookup("inn.ConstAffine")(3), lambda: normal(2, 3, 4, 4)),
    "SameResp": (
        lambda: nn.lookup("inn.SpatialSameResponseNormalization")(3),
        lambda: normal(2, 3, 6, 6),
    ),
    "SpatialLinear": (lambda: nn.lookup("nn.SpatialLinear")(3, 4), lambda: normal(2, 3, 4, 4)),
    "SpatialNorm": (
        lambda: nn.lookup("nn.SpatialNormalization")(3, rl.ones(3, 3, dtype=rl.float64)),
        lambda: normal(2, 3, 6, 6),
    ),
    "SpatialClassifier": (
        lambda: nn.lookup("nn.SpatialClassifier")(
            nn.Sequential().add(nn.Linear(3, 4)).add(nn.LogSoftMax())
        ),
        lambda: normal(2, 3, 4, 4),
    ),
    "SpatialPadding": (
        lambda: nn.lookup("nn.SpatialPadding")(1, -1, 2, 0),
        lambda: normal(3, 4, 4),
    ),
    "stn grid": (lambda: nn.lookup("nn.AffineGridGeneratorBHWD")(3, 4), lambda: normal(2, 2, 3)),
    "stn sampler": (
        lambda: nn.lookup("nn.BilinearSamplerBHWD")(),
        lambda: [normal(2, 5, 6, 3), normal(2, 3, 4, 2) * 0.5],
    ),
    "stn matrix": (
        lambda: nn.lookup("nn.AffineTransformMatrixGenerator")(True, True, True),
        lambda: normal(2, 4),
    ),
    "stn matrix2": (lambda: nn.lookup("nn.AffineTransformMatrixGenerator")(), lambda: normal(2, 6)),
    "SeqBLSTM": (lambda: nn.lookup("nn.SeqBLSTM")(3, 4), lambda: normal(5, 2, 3)),
    "SeqBGRU": (lambda: nn.lookup("nn.SeqBGRU")(3, 4), lambda: normal(5, 2, 3)),
    "RecLSTM": (lambda: nn.Sequencer(nn.lookup("nn.RecLSTM")(3, 4)), lambda: normal(5, 2, 3)),
    "RecGRU": (lambda: nn.Sequencer(nn.lookup("nn.RecGRU")(3, 4)), lambda: normal(5, 2, 3)),
    "LinearRNN": (lambda: nn.Sequencer(nn.lookup("nn.LinearRNN")(3, 4)), lambda: normal(5, 2, 3)),
    "onmt.LSTM": (
        lambda: nn.lookup("onmt.LSTM")(1, 3, 4, 0),
        lambda: [normal(2, 4), normal(2, 4), normal(2, 3)],
    ),
    "onmt.GlobalAttention": (
        lambda: nn.lookup("onmt.GlobalAttention")(4),
        lambda: [normal(2, 4), normal(2, 5, 4)],
    ),
    "Maxout": (lambda: nn.lookup("nn.Maxout")(3, 4, 2), lambda: normal(2, 3)),
    "SpatialBias": (lambda: nn.lookup("cudnn.SpatialBias")(3), lambda: normal(2, 3, 4, 4)),
    "VolSoftMax": (lambda: nn.lookup("cudnn.VolumetricSoftMax")(), lambda: normal(2, 3, 4, 4, 2)),
    "MeanSub": (
        lambda: nn.lookup("inn.MeanSubtraction")(normal(3, 4, 4)),
        lambda: normal(2, 3, 4, 4),
    ),
    "CReLU": (lambda: nn.CReLU(3), lambda: normal(2, 3, 4, 4)),
    "means over planes": (
        lambda: (
            nn.Sequential()
            .add(nn.SpatialConvolution(3, 4, 3, 3))
            .add(nn.Mean(3, 3))
            .add(nn.Mean(2, 2))
            .add(nn.Linear(4, 2))
            .add(nn.SoftMax())
        ),
        lambda: normal(2, 3, 6, 6),
    ),
}
# Layers whose gradients in Torch7 are not those of what they compute (recurrent ones keep only the
# last step in evaluation mode), or that have none.
OWN_GRADIENTS = set(
    """ModeSwitch NoBackprop LookupTableGPU torch-rnn-LSTM torch-rnn-RNN RecLSTM RecGRU
    LinearRNN""".split()
)


def as_arrays(value):
    return [as_arrays(v) for v in value] if isinstance(value, list) else value.numpy()


def difference(actual, expected):
    assert actual.shape == expected.shape
    return float(np.abs(actual - expected).max()) if actual.size else 0.0


@pytest.mark.parametrize("name", LAYERS)
def test_computes_the_same(name, tmp_path):
    make, make_input = LAYERS[name]
    layer, given = make(), as_arrays(make_input())
    FORMAT.write(layer, tmp_path / "net.py", formats.Options())
    outputs = FORMAT.run(tmp_path / "net.py", given)
    expected = running.run(layer, given)
    for output, value in zip(outputs, expected, strict=True):
        assert difference(output, value) < 1e-9
    if name in OWN_GRADIENTS:
        return
    ones = [np.ones_like(output) for output in outputs]
    gradients = FORMAT.gradients(tmp_path / "net.py", given, ones)
    for key, value in running.gradients(layer, given, ones).items():
        if key in gradients:
            assert difference(gradients[key], value) < 1e-9, key
