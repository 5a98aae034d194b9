"""Old layouts, classes of GPU packages, and what files leave out."""

import pytest
from golden_cases import DATA, difference
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn


@pytest.mark.parametrize("name", ["old_avgpool", "old_conv", "old_lookup"])
def test_old_files_give_what_torch7_gives(name):
    golden = rl.load(DATA / "misc" / f"{name}.t7")
    assert difference(golden.module.forward(golden.input), golden.output) < 1e-12


def weights(*shape):
    return rl.arange(float(nn.shape_layers.product(shape))).reshape(shape) / 10


def test_cudnn_layers_become_nn_layers():
    fields = {"nInputPlane": 2, "nOutputPlane": 4, "kW": 2, "kH": 3, "dW": 1, "dH": 1, "padW": 0}
    layer = loaded(
        "cudnn.SpatialConvolution",
        **fields, padH=0, groups=2, weight=weights(4 * 1 * 3 * 2), bias=weights(4),
        _type="torch.CudaTensor", fmode=1, input_offset=0,
    )  # fmt: skip
    assert type(layer) is nn.SpatialConvolution
    assert layer._origin == "cudnn.SpatialConvolution"
    assert layer._type == "torch.FloatTensor"
    assert "fmode" not in vars(layer)
    assert layer.forward(rl.ones(2, 4, 3)).shape == (4, 2, 2)
    # Two groups: each half of the output sees one plane.
    x = rl.zeros(2, 3, 2)
    x[0] = 1
    y = layer.forward(x).reshape(-1)
    per_output = layer.weight.reshape(4, 6).sum(1)
    expected = per_output * rl.tensor([1.0, 1.0, 0.0, 0.0]) + layer.bias
    assert difference(y, expected) < 1e-6


def test_cudnn_pooling_says_how_padding_counts():
    fields = {"kW": 3, "kH": 3, "dW": 1, "dH": 1, "padW": 1, "padH": 1, "ceil_mode": False}
    mode = "CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING"
    layer = loaded("cudnn.SpatialAveragePooling", mode=mode, **fields)
    assert layer.forward(rl.ones(1, 3, 3)).reshape(-1).tolist() == pytest.approx([1.0] * 9)
    mode = "CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING"
    layer = loaded("cudnn.SpatialAveragePooling", mode=mode, **fields)
    assert layer.forward(rl.ones(1, 3, 3))[0, 0, 0].item() == pytest.approx(4 / 9)


@pytest.mark.parametrize("name", ["ReLU", "Tanh", "Sigmoid", "SoftMax", "LogSoftMax"])
def test_cudnn_activations(name):
    layer = loaded(f"cudnn.{name}", mode="CUDNN_ACTIVATION", iSize=rl.Table(), nElem=1)
    x = rl.tensor([[-1.0, 0.5, 2.0]])
    assert difference(layer.forward(x), getattr(nn, name)().forward(x)) == 0


def test_running_std_of_old_batch_normalisation():
    std = rl.tensor([0.5, 2.0], dtype=rl.float64)
    layer = loaded(
        "nn.BatchNormalization",
        running_mean=rl.zeros(2, dtype=rl.float64), running_std=std, eps=1e-5, train=False,
    )  # fmt: skip
    y = layer.forward(rl.ones(3, 2, dtype=rl.float64))
    assert y[0].tolist() == pytest.approx([0.5, 2.0])


def test_leaky_relu_of_waifu2x():
    layer = loaded("nn.LeakyReLU", negative_scale=0.1, negative=rl.zeros(0))
    assert layer.forward(rl.tensor([-1.0, 2.0])).tolist() == pytest.approx([-0.1, 2.0])


def test_padding_in_one_field():
    layer = loaded(
        "nn.SpatialConvolutionMM", nInputPlane=1, nOutputPlane=1, kW=3, kH=3, padding=1,
        weight=weights(1, 9), bias=weights(1),
    )  # fmt: skip
    assert layer.forward(rl.ones(1, 4, 5)).shape == (1, 4, 5)


def doubles(*shape):
    return weights(*shape).to(rl.float64)


CONVOLUTION = {"nInputPlane": 2, "nOutputPlane": 3, "kW": 3, "kH": 2}
OLD = [
    # class, what an old file has, input, size of the output
    ("nn.SpatialConvolution", {**CONVOLUTION, "dW": 1, "dH": 1, "weight": doubles(3, 12),
                               "bias": doubles(3)}, doubles(2, 5, 6), (3, 4, 4)),
    ("nn.SpatialConvolutionMM", {**CONVOLUTION, "weight": doubles(3, 2, 2, 3),
                                 "bias": doubles(3)}, doubles(2, 5, 6), (3, 4, 4)),
    ("nn.SpatialMaxPooling", {"kW": 2, "kH": 2, "dW": 2, "dH": 2, "indices": doubles(2, 2, 3)},
     doubles(2, 5, 6), (2, 2, 3)),
    ("nn.SpatialPadding", {"pad_l": 1, "pad_r": 2, "pad_t": 0, "pad_b": 1}, doubles(2, 5, 6),
     (2, 6, 9)),
    ("nn.Replicate", {"nfeatures": 3}, doubles(5), (3, 5)),
    ("nn.Padding", {"dim": 1, "pad": 2, "nInputDim": 1}, doubles(3), (5,)),
    ("nn.LookupTable", {"weight": doubles(5, 3)}, rl.tensor([1, 5]), (2, 3)),
    ("nn.TemporalMaxPooling", {"kW": 2}, doubles(6, 3), (5, 3)),
    ("nn.View", {"size": rl.tensor([-1]).storage(), "numElements": 1}, doubles(2, 3), (6,)),
    ("nn.DepthConcat", {"dimension": 1, "modules": rl.Table([nn.Identity(), nn.Identity()])},
     doubles(2, 4, 4), (4, 4, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("typename", "fields", "x", "size"), OLD)
def test_fields_that_old_files_leave_out(typename, fields, x, size):
    layer = loaded(typename, **fields)
    y = layer.forward(x)
    assert y.shape == size
    assert layer.backward(x, rl.ones_like(y)).shape == x.shape


def test_old_padding_puts_zeros_behind():
    assert loaded("nn.Padding", dim=1, pad=1, nInputDim=1).forward(rl.ones(2)).tolist() == [1, 1, 0]
    padded = loaded("nn.SpatialPadding", pad_l=1, pad_r=0, pad_t=0, pad_b=0, val=7)
    assert padded.forward(rl.ones(1, 1, 1)).tolist() == [[[7.0, 1.0]]]


def test_the_first_average_pooling_gave_sums():
    layer = loaded("nn.SpatialAveragePooling", kW=2, kH=2, dW=2, dH=2)
    assert layer.forward(rl.ones(1, 2, 2)).tolist() == [[[4.0]]]


def test_stripped_files_get_gradients_and_buffers_when_needed():
    layer = loaded("nn.Linear", weight=weights(2, 3), bias=weights(2))
    assert "gradWeight" not in vars(layer)
    layer.forward(rl.ones(3))
    layer.backward(rl.ones(3), rl.ones(2))
    assert layer.gradWeight.tolist() == [[1.0] * 3] * 2
    assert layer.gradBias.tolist() == [1.0, 1.0]


def test_parameters_decide_the_type_of_mixed_files():
    layer = loaded(
        "nn.Linear", weight=weights(2, 3), bias=weights(2), _type="torch.DoubleTensor",
        gradWeight=rl.zeros(2, 3, dtype=rl.float64), output=rl.zeros(0, dtype=rl.float64),
    )  # fmt: skip
    assert layer.type() == "torch.FloatTensor"
    assert layer.gradWeight.dtype == rl.float32


def test_functions_in_the_place_of_methods_are_kept_but_not_called():
    golden = rl.load(DATA / "nn" / "Copy_function.t7").cases[1]
    module = golden.module
    assert set(module._lua_functions) == {"updateOutput", "updateGradInput"}
    assert difference(module.forward(golden.input), golden.output) == 0


def test_graphs_without_stored_order_and_input_count():
    case = rl.load(DATA / "nngraph" / "gModule.t7").cases[5]
    fields = dict(vars(case.module))
    for name in ("forwardnodes", "backwardnodes", "nInputs"):
        fields.pop(name)
    graph = loaded("nn.gModule", **fields)
    assert difference(graph.forward(case.input), case.output) < 1e-10
    assert difference(graph.backward(case.input, case.gradOutput), case.gradInput) < 1e-10
