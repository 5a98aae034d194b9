"""Packed sequences, clipping, parameters as a vector, fused batch norm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relume as rl
from relume import nn
from relume.nn.utils import rnn

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def sequences(lengths, width=2):
    random = np.random.default_rng(sum(lengths))
    return [rl.tensor(random.standard_normal((n, width))) for n in lengths]


@given(LENGTHS, st.booleans())
def test_packing_and_padding_are_inverse(lengths, batch_first):
    items = sequences(lengths)
    padded = rnn.pad_sequence(items, batch_first, padding_value=-1.0)
    expected = np.full((len(lengths), max(lengths), 2), -1.0)
    for row, item in zip(expected, items, strict=True):
        row[: len(item)] = item.numpy()
    np.testing.assert_array_equal(
        padded.numpy(), expected if batch_first else expected.transpose(1, 0, 2)
    )
    packed = rnn.pack_padded_sequence(padded, lengths, batch_first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [sum(n > t for n in lengths) for t in range(max(lengths))]
    again, sizes = rnn.pad_packed_sequence(packed, batch_first, padding_value=-1.0)
    np.testing.assert_array_equal(again.numpy(), padded.numpy())
    assert sizes.tolist() == lengths
    for one, other in zip(rnn.unpack_sequence(packed), items, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_packing_lets_gradients_through():
    x = rl.ones(4, 2, 3, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, [4, 2])
    padded, _ = rnn.pad_packed_sequence(packed, total_length=6)
    assert padded.shape == (6, 2, 3)
    (padded * 2).sum().backward()
    np.testing.assert_array_equal(x.grad[:, 0].numpy(), 2)
    np.testing.assert_array_equal(x.grad[:, 1, 0].numpy(), [2, 2, 0, 0])


@pytest.mark.parametrize(
    "lengths, message", [([2], "batch"), ([0, 1], "between"), ([1, 2], "enforce"), ([9, 1], "5")]
)
def test_lengths_that_do_not_fit(lengths, message):
    with pytest.raises(ValueError, match=message):
        rnn.pack_padded_sequence(rl.ones(5, 2), lengths)


def test_padding_on_the_left():
    left = rnn.pad_sequence([rl.tensor([1, 2]), rl.tensor([3])], True, padding_side="left")
    assert left.tolist() == [[1, 2], [0, 3]]


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.5, float("inf")])
@pytest.mark.parametrize("limit", [0.1, 1e6])
def test_clip_grad_norm(norm_type, limit):
    parameters = [nn.Parameter(rl.randn(3, 2)), nn.Parameter(rl.randn(4)), nn.Parameter(rl.ones(1))]
    (parameters[0].square().sum() + parameters[1].exp().sum()).backward()
    before = np.concatenate([p.grad.numpy().ravel() for p in parameters[:2]])
    expected = np.linalg.norm(before, norm_type)
    total = nn.utils.clip_grad_norm_(iter(parameters), limit, norm_type)
    assert total.item() == pytest.approx(expected, rel=1e-5)
    after = np.concatenate([p.grad.numpy().ravel() for p in parameters[:2]])
    assert np.linalg.norm(after, norm_type) <= limit * (1 + 1e-5)
    np.testing.assert_allclose(after, before * min(1, limit / expected), rtol=1e-4)


def test_clip_grad_norm_of_nothing_and_of_nan():
    assert nn.utils.clip_grad_norm_([nn.Parameter(rl.ones(1))], 1.0).item() == 0
    bad = nn.Parameter(rl.ones(2))
    bad.grad = rl.tensor([float("nan"), 1.0])
    with pytest.raises(RuntimeError, match="nan"):
        nn.utils.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True)


def test_parameters_as_a_vector():
    layer = nn.Linear(3, 2)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    np.testing.assert_array_equal(
        vector[:6].detach().numpy(), layer.weight.detach().numpy().ravel()
    )
    nn.utils.vector_to_parameters(rl.arange(8.0), layer.parameters())
    assert layer.bias.tolist() == [6, 7] and layer.weight.requires_grad
    with pytest.raises(ValueError, match=r"\(8,\)"):
        nn.utils.vector_to_parameters(rl.ones(7), layer.parameters())


def trained(norm, x):
    norm.train()
    for _ in range(3):
        norm(x)
    return norm.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [nn.Conv2d, nn.ConvTranspose2d])
def test_fused_convolution_and_batch_norm(kind, bias):
    layer = kind(3, 4, 3, bias=bias).eval()
    x = rl.randn(2, 3, 6, 6)
    norm = nn.BatchNorm2d(4)
    nn.init.uniform_(norm.weight)
    nn.init.uniform_(norm.bias)
    trained(norm, layer(x).detach())
    fused = nn.utils.fuse_conv_bn_eval(layer, norm)
    expected = norm(layer(x)).detach().numpy()
    np.testing.assert_allclose(fused(x).detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_fused_linear_and_batch_norm():
    layer, x = nn.Linear(3, 4).eval(), rl.randn(5, 3)
    norm = trained(nn.BatchNorm1d(4), layer(x).detach())
    fused = nn.utils.fuse_linear_bn_eval(layer, norm)
    expected = norm(layer(x)).detach().numpy()
    np.testing.assert_allclose(fused(x).detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="eval"):
        nn.utils.fuse_linear_bn_eval(layer.train(), norm)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    layer = nn.Linear(4, 3)
    weight = layer.weight.detach().numpy().copy()
    nn.utils.weight_norm(layer, dim=dim)
    x = rl.randn(2, 4)
    layer(x).sum().backward()
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight, rtol=1e-5)
    assert layer.weight_g.grad is not None and layer.weight_v.grad is not None
    # The gradient of a direction is at a right angle to it.
    dot = (layer.weight_v.grad * layer.weight_v).sum().item()
    assert abs(dot) < 1e-4
    nn.utils.remove_weight_norm(layer)
    assert isinstance(layer.weight, nn.Parameter) and list(layer.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="no WeightNorm"):
        nn.utils.remove_weight_norm(layer)


def test_spectral_norm():
    rl.manual_seed(0)
    layer = nn.utils.spectral_norm(nn.Linear(6, 5), n_power_iterations=100)
    layer(rl.randn(2, 6)).sum().backward()
    largest = np.linalg.svd(layer.weight.detach().numpy())[1][0]
    assert largest == pytest.approx(1.0, abs=1e-3) and layer.weight_orig.grad is not None
    nn.utils.remove_spectral_norm(layer)
    assert isinstance(layer.weight, nn.Parameter)
