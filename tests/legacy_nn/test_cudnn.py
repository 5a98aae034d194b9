"""Classes of cudnn: what they are in nn, conversion both ways, and recurrent networks."""

import math

import numpy as np
import pytest
from golden_cases import difference
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn.cudnn.flat_weights import FlatWeights

DOUBLE = {"dtype": rl.float64}

# Every class of the bindings.
NAMES = """BatchNormalization SpatialBatchNormalization VolumetricBatchNormalization
ReLU ClippedReLU Tanh Sigmoid SoftMax LogSoftMax SpatialSoftMax SpatialLogSoftMax
VolumetricSoftMax VolumetricLogSoftMax SpatialConvolution SpatialDilatedConvolution
SpatialFullConvolution TemporalConvolution VolumetricConvolution VolumetricDilatedConvolution
VolumetricFullConvolution SpatialMaxPooling SpatialAveragePooling VolumetricMaxPooling
VolumetricAveragePooling SpatialCrossMapLRN SpatialDivisiveNormalization Dropout
SpatialCrossEntropyCriterion VolumetricCrossEntropyCriterion
RNN RNNReLU RNNTanh LSTM GRU BLSTM BGRU""".split()


@pytest.mark.parametrize("name", NAMES)
def test_every_class_is_there_under_its_name(name):
    cls = getattr(nn.cudnn, name)
    assert cls is nn.lookup(f"cudnn.{name}")
    assert cls.torch_typename == f"cudnn.{name}"


def test_clipped_relu_stops_at_its_ceiling():
    x = rl.tensor([-1.0, 3.0, 9.0])
    assert nn.cudnn.ClippedReLU(6).forward(x).tolist() == [0.0, 3.0, 6.0]
    layer = loaded("cudnn.ClippedReLU", ceiling=2.5, inplace=False)
    assert type(layer) is nn.HardTanh
    assert layer.forward(x).tolist() == [0.0, 2.5, 2.5]


@pytest.mark.parametrize("shape", [(3, 2, 2), (2, 3, 2, 2), (2, 3), (5,)])
def test_soft_maximum_of_cudnn_is_over_whole_samples(shape):
    x = rl.randn(*shape, **DOUBLE)
    exponentials = np.exp(x.numpy())
    axes = tuple(range(1 - len(shape) % 2, len(shape)))
    expected = exponentials / exponentials.sum(axes, keepdims=True)
    mode = "CUDNN_SOFTMAX_MODE_INSTANCE"
    read = loaded("cudnn.SoftMax", mode=mode, algorithm="CUDNN_SOFTMAX_ACCURATE")
    assert type(read) is nn.SoftMax
    for layer in (nn.cudnn.SoftMax(), read, rl.loads(rl.dumps(read))):
        assert difference(layer.forward(x), rl.tensor(expected)) < 1e-14
    assert difference(nn.cudnn.LogSoftMax().forward(x).exp(), rl.tensor(expected)) < 1e-14


def test_soft_maximum_with_the_mode_of_places_is_that_of_nn():
    x = rl.randn(2, 3, 2, 2, **DOUBLE)
    read = loaded("cudnn.SoftMax", mode="CUDNN_SOFTMAX_MODE_CHANNEL")
    for layer in (read, nn.cudnn.SpatialSoftMax()):
        assert difference(layer.forward(x), nn.SoftMax().forward(x)) == 0
        assert difference(layer.forward(x).sum(1), rl.ones(2, 2, 2, **DOUBLE)) < 1e-14


def grouped(convolution, part_of, x, groups):
    """A convolution in groups, as one convolution per group."""
    planes = x.shape[0] // groups
    return rl.cat([part_of(g).forward(x.narrow(0, g * planes, planes)) for g in range(groups)], 0)


def test_groups_of_planes_are_convolutions_of_their_own():
    layer = nn.cudnn.SpatialConvolution(4, 6, 3, 2, 1, 1, 1, 0, 2)
    assert layer.weight.shape == (6, 2, 2, 3)

    def part_of(group):
        part = nn.SpatialConvolution(2, 3, 3, 2, 1, 1, 1, 0)
        part.weight.copy_(layer.weight.narrow(0, 3 * group, 3))
        part.bias.copy_(layer.bias.narrow(0, 3 * group, 3))
        return part

    x = rl.randn(4, 5, 5, **DOUBLE)
    assert difference(layer.forward(x), grouped(layer, part_of, x, 2)) < 1e-12


def test_groups_of_volumes():
    layer = nn.VolumetricConvolution(2, 4, 2, 2, 2)
    halves = layer.weight.narrow(1, 0, 1).clone()
    layer.groups, layer.weight = 2, halves

    def part_of(group):
        part = nn.VolumetricConvolution(1, 2, 2, 2, 2)
        part.weight.copy_(halves.narrow(0, 2 * group, 2))
        part.bias.copy_(layer.bias.narrow(0, 2 * group, 2))
        return part

    x = rl.randn(2, 3, 3, 3, **DOUBLE)
    assert difference(layer.forward(x), grouped(layer, part_of, x, 2)) < 1e-12


def test_padH_of_sequences_adds_frames_of_zeros_at_both_ends():
    layer = nn.cudnn.TemporalConvolution(3, 2, 3, 1, 1)
    x = rl.randn(4, 3, **DOUBLE)
    zeros = rl.zeros(1, 3, **DOUBLE)
    plain = nn.TemporalConvolution(3, 2, 3)
    plain.weight, plain.bias = layer.weight, layer.bias
    expected = plain.forward(rl.cat([zeros, x, zeros], 0))
    assert difference(layer.forward(x), expected) < 1e-12
    read = loaded(
        "cudnn.TemporalConvolution", inputFrameSize=3, outputFrameSize=2, kW=3, kH=3, dW=1, dH=1,
        padW=0, padH=1, nInputPlane=1, nOutputPlane=2, weight=layer.weight, bias=layer.bias,
    )  # fmt: skip
    assert difference(read.forward(x), expected) < 1e-12


def test_average_pooling_steps_by_its_window():
    layer = nn.cudnn.SpatialAveragePooling(2, 2)
    assert layer.forward(rl.ones(1, 4, 4)).shape == (1, 2, 2)
    volumes = nn.cudnn.VolumetricAveragePooling(3, 3, 3, 1, 1, 1, 1, 1, 1)
    corner = volumes.forward(rl.ones(1, 3, 3, 3))[0, 0, 0, 0].item()
    assert corner == pytest.approx(8 / 27)
    volumes.count_include_pad = False
    assert volumes.forward(rl.ones(1, 3, 3, 3))[0, 0, 0, 0].item() == pytest.approx(1)


def test_the_first_normalisations_wrote_k_as_a_capital():
    layer = loaded("cudnn.SpatialCrossMapLRN", size=3, alpha=0.3, beta=1.0, K=2.0)
    y = layer.forward(rl.ones(1, 1, 1, **DOUBLE))
    assert y.item() == pytest.approx(1 / (2 + 0.3 / 3))


def test_dropout_scales_in_training_and_not_in_evaluation():
    layer, x = loaded("cudnn.Dropout", p=0.5, inplace=False, train=True), rl.ones(100, **DOUBLE)
    assert set(layer.forward(x).tolist()) == {0.0, 2.0}
    layer.evaluate()
    assert difference(layer.forward(x), x) == 0


def test_what_is_saved_is_read_as_layers_of_nn(tmp_path):
    net = nn.cudnn.convert(example_net(), "cudnn")
    net.evaluate()
    x = rl.randn(1, 2, 6, 6, **DOUBLE)
    rl.save(net, tmp_path / "net.t7")
    again = rl.load(tmp_path / "net.t7")
    assert type(again.get(1)) is nn.SpatialConvolution
    assert difference(again.forward(x), net.forward(x)) < 1e-12
    recurrent, sequence = nn.cudnn.BGRU(3, 4, 2), rl.randn(4, 2, 3, **DOUBLE)
    rl.save(recurrent, tmp_path / "rnn.t7")
    read = rl.load(tmp_path / "rnn.t7")
    assert read.torch_typename == "cudnn.BGRU"
    assert difference(read.forward(sequence), recurrent.forward(sequence)) == 0


def test_cross_entropy_of_planes_and_volumes():
    x = rl.randn(2, 3, 2, 4, **DOUBLE)
    labels = (rl.arange(16) % 3 + 1).reshape(2, 2, 4)
    criterion = nn.cudnn.SpatialCrossEntropyCriterion()
    rows = x.permute(0, 2, 3, 1).reshape(-1, 3)
    expected = nn.CrossEntropyCriterion().forward(rows, labels.reshape(-1))
    assert criterion.forward(x, labels) == pytest.approx(expected, rel=1e-12)
    volumes = nn.cudnn.VolumetricCrossEntropyCriterion()
    deep, deep_labels = x.reshape(2, 3, 1, 2, 4), labels.reshape(2, 1, 2, 4)
    assert volumes.forward(deep, deep_labels) == pytest.approx(expected, rel=1e-12)
    gradient = volumes.backward(deep, deep_labels)
    assert difference(gradient.reshape(x.shape), criterion.backward(x, labels)) < 1e-12
    with pytest.raises(ValueError, match="expected an input of NxCxHxW"):
        criterion.forward(x, labels[0])


def example_net():
    net = nn.Sequential()
    net.add(nn.SpatialConvolution(2, 3, 3, 3)).add(nn.SpatialBatchNormalization(3)).add(nn.ReLU())
    net.add(
        nn.ConcatTable().add(nn.SpatialMaxPooling(2, 2)).add(nn.SpatialAveragePooling(2, 2, 2, 2))
    )
    net.add(nn.JoinTable(1, 3)).add(nn.SpatialConvolutionMM(6, 2, 1, 1)).add(nn.View(-1))
    return net.add(nn.LogSoftMax())


def test_networks_convert_to_cudnn_and_back():
    net, x = example_net(), rl.randn(2, 2, 6, 6, **DOUBLE)
    net.evaluate()
    expected = net.forward(x)
    converted = nn.cudnn.convert(net, "cudnn")
    assert "cudnn.SpatialConvolution(6 -> 2, 1x1)" in str(converted)
    assert converted.get(4).get(2).mode.endswith("COUNT_INCLUDE_PADDING")
    assert difference(converted.forward(x), expected) < 1e-12
    back = nn.cudnn.convert(converted, "nn")
    assert "cudnn" not in str(back)
    assert difference(back.forward(x), expected) < 1e-12


def test_conversion_leaves_out_what_it_is_told_to():
    net = nn.cudnn.convert(example_net(), "cudnn", lambda layer: isinstance(layer, nn.ReLU))
    assert net.get(3).torch_typename == "nn.ReLU"
    assert net.get(1).torch_typename == "cudnn.SpatialConvolution"
    with pytest.raises(ValueError, match="cudnn"):
        nn.cudnn.convert(net, "cuda")


def test_conversion_reaches_into_graphs():
    x = nn.Identity()()
    graph = nn.gModule([x], [nn.Tanh()(nn.Linear(2, 2)(x))])
    nn.cudnn.convert(graph, "cudnn")
    assert [m.torch_typename for m in graph.modules][-1] == "cudnn.Tanh"
    assert graph.forward(rl.zeros(2, **DOUBLE)).shape == (2,)


# ---- recurrent networks ----


def test_vector_of_weights_has_all_matrices_before_all_biases():
    layout = FlatWeights(3, 4, 2, 2, 4, False)
    flat = rl.arange(float(layout.count()), **DOUBLE)
    matrices, biases = layout.matrices(flat), layout.biases(flat)
    sizes = [[m.numel() for m in layer] for layer in matrices]
    assert sizes == [[12] * 4 + [16] * 4] * 2 + [[32] * 4 + [16] * 4] * 2
    assert matrices[0][0][0].item() == 0
    assert biases[0][0][0].item() == sum(map(sum, sizes))
    assert biases[-1][-1][-1].item() == layout.count() - 1


def test_helpers_change_the_weights():
    net = nn.cudnn.LSTM(3, 4)
    net.biases()[0][1].fill_(1)  # the forget gate
    start = net.weight.numel() - 8 * 4
    assert net.weight[start + 4 : start + 8].tolist() == [1.0] * 4


def test_skipped_input_goes_into_every_gate_as_it_is():
    skipping = nn.cudnn.GRU(3, 3, 2)
    skipping.inputMode = "CUDNN_SKIP_INPUT"
    skipping.reset()
    plain = nn.cudnn.GRU(3, 3, 2)
    assert plain.weight.numel() - skipping.weight.numel() == 3 * 3 * 3
    identity = rl.cat([rl.eye(3, **DOUBLE).reshape(-1)] * 3, 0)
    plain.weight.copy_(rl.cat([identity, skipping.weight], 0))
    x = rl.randn(4, 2, 3, **DOUBLE)
    assert difference(skipping.forward(x), plain.forward(x)) < 1e-12
    g = rl.randn(4, 2, 3, **DOUBLE)
    assert difference(skipping.backward(x, g), plain.backward(x, g)) < 1e-12
    assert difference(skipping.gradWeight, plain.gradWeight[27:]) < 1e-12
    with pytest.raises(ValueError, match="CUDNN_SKIP_INPUT"):
        unequal = nn.cudnn.GRU(2, 3)
        unequal.inputMode = "CUDNN_SKIP_INPUT"
        unequal.reset()


def test_remembered_states_make_two_halves_one_sequence():
    whole, halves = nn.cudnn.LSTM(3, 4, 2), nn.cudnn.LSTM(3, 4, 2, False, 0, True)
    halves.weight.copy_(whole.weight)
    x = rl.randn(6, 2, 3, **DOUBLE)
    expected = whole.forward(x)
    for _ in range(2):
        first, second = halves.forward(x[:3]).clone(), halves.forward(x[3:]).clone()
        assert difference(rl.cat([first, second], 0), expected) < 1e-12
        halves.resetStates()


@pytest.mark.parametrize("name", ["LSTM", "BGRU", "RNNTanh"])
def test_scale_second_backward_and_modern_face(name):
    net, x = getattr(nn.cudnn, name)(2, 3, 2), rl.randn(4, 2, 2, **DOUBLE)
    y = net.forward(x)
    g = rl.randn(*y.shape, **DOUBLE)
    gradient = net.backward(x, g).clone()
    once = net.gradWeight.clone()
    net.backward(x, g, 0.5)
    assert difference(net.gradWeight, once * 1.5) < 1e-12
    net.zeroGradParameters()
    leaf = x.clone().requires_grad_()
    (net(leaf) * g).sum().backward()
    assert difference(leaf.grad, gradient) < 1e-12
    assert difference(net.gradWeight, once) < 1e-12
    assert rl.autograd.gradcheck(net, [leaf])


def test_dropout_between_layers_only_in_training():
    net, x = nn.cudnn.LSTM(3, 4, 2, False, 0.5), rl.randn(4, 2, 3, **DOUBLE)
    net.training()
    assert difference(net.forward(x).clone(), net.forward(x)) > 0
    net.evaluate()
    assert difference(net.forward(x).clone(), net.forward(x)) == 0


def test_evaluation_keeps_no_tape_until_backward_is_asked_for():
    net, x, g = nn.cudnn.LSTM(3, 4), rl.randn(4, 2, 3, **DOUBLE), rl.randn(4, 2, 4, **DOUBLE)
    y = net.forward(x)
    gradient = net.backward(x, g)
    net.evaluate()
    assert difference(net.forward(x), y) == 0
    assert net._record is None
    assert difference(net.backward(x, g), gradient) < 1e-12


def test_clones_types_flat_parameters_and_clear_state():
    net, x = nn.cudnn.GRU(3, 4, 2), rl.randn(4, 2, 3, **DOUBLE)
    y = net.forward(x)
    copy = net.clone()
    assert difference(copy.forward(x), y) == 0
    flat, _ = copy.getParameters()
    assert flat.numel() == net.weight.numel()
    assert copy.clearState().forward(x).shape == y.shape
    assert net.float().forward(x.to(rl.float32)).dtype == rl.float32


def test_initial_weights_lie_within_the_bound():
    weight = nn.cudnn.LSTM(3, 16).weight
    assert weight.abs().amax().item() <= 1 / math.sqrt(16)
    assert weight.abs().amax().item() > 0.2


def test_wrong_sizes_say_what_was_expected():
    net = nn.cudnn.LSTM(3, 4, 2)
    with pytest.raises(ValueError, match="steps x batch x 3"):
        net.forward(rl.zeros(5, 3, **DOUBLE))
    net.hiddenInput = rl.zeros(1, 2, 4, **DOUBLE)
    with pytest.raises(ValueError, match="2x2x4"):
        net.forward(rl.zeros(5, 2, 3, **DOUBLE))
    net.resetStates()
    net.hiddenSize = 5
    with pytest.raises(ValueError, match="call reset"):
        net.forward(rl.zeros(5, 2, 3, **DOUBLE))
    net.mode = "CUDNN_RNN"
    with pytest.raises(ValueError, match="CUDNN_GRU"):
        net.reset()
