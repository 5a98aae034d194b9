"""Layers and the types of their inputs: none is converted silently; 16-bit layers compute."""

import numpy as np
import pytest

import relume as rl
from relume import nn

LAYERS = {
    "Linear": (lambda: nn.Linear(3, 2), (4, 3)),
    "Conv1d": (lambda: nn.Conv1d(3, 2, 2), (4, 3, 5)),
    "Conv2d": (lambda: nn.Conv2d(3, 2, 2), (4, 3, 5, 5)),
    "Conv3d": (lambda: nn.Conv3d(3, 2, 2), (4, 3, 5, 5, 5)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 2, 2), (4, 3, 5, 5)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (4, 3)),
    "LayerNorm": (lambda: nn.LayerNorm(3), (4, 3)),
    "GroupNorm": (lambda: nn.GroupNorm(1, 3), (4, 3, 2)),
    "LSTM": (lambda: nn.LSTM(3, 2), (5, 4, 3)),
    "GRU": (lambda: nn.GRU(3, 2), (5, 4, 3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_an_input_of_another_floating_type_is_refused(name):
    make, shape = LAYERS[name]
    layer, x = make(), rl.randn(shape, dtype=rl.float64)
    with pytest.raises((TypeError, ValueError), match=r"float64.*float32"):
        layer(x)
    assert first(layer(x.float())).dtype is rl.float32
    assert first(layer.double()(x)).dtype is rl.float64


def first(output):
    return output[0] if isinstance(output, tuple) else output


def test_the_message_says_how_to_convert():
    with pytest.raises(TypeError, match=r"\.to\(relume\.float32\).*\.to\(relume\.float64\)"):
        nn.Linear(3, 2)(rl.ones(1, 3, dtype=rl.float64))


def test_statistics_of_16_bit_batch_norms_may_be_wider():
    layer = nn.BatchNorm1d(3)
    assert layer(rl.randn(4, 3, dtype=rl.float16)).dtype is rl.float16


def test_another_library_s_tensor_is_named_in_full():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"not torch\.Tensor; relume\.from_dlpack"):
        nn.Linear(3, 2)(torch.ones(1, 3))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_of_16_bits(name, kind):
    """As the layer of 32 bits with the same weights, to the type's precision."""
    rl.manual_seed(2)
    layer = getattr(nn, name)(3, 4, num_layers=2, bidirectional=True)
    half = getattr(nn, name)(3, 4, num_layers=2, bidirectional=True, dtype=kind)
    half.load_state_dict(layer.state_dict())
    x = rl.randn(5, 2, 3)
    expected, (output, state) = layer(x)[0], half(x.to(kind))
    state = state[0] if isinstance(state, tuple) else state
    assert output.dtype == kind and state.dtype == kind
    tolerance = 0.005 if kind == "float16" else 0.03
    np.testing.assert_allclose(
        output.detach().float().numpy(), expected.detach().numpy(), atol=tolerance
    )
    output.sum().backward()
    assert half.weight_hh_l0.grad.dtype == kind
    cell = getattr(nn, f"{name}Cell")(3, 4, dtype=kind)
    result = cell(x[0].to(kind))
    assert (result[0] if isinstance(result, tuple) else result).dtype == kind


def test_complex_numbers_go_through_padding_lookup_and_running_products():
    z = rl.tensor(np.arange(6).reshape(2, 3) * (1 + 2j) + 1)
    np.testing.assert_allclose(rl.cumprod(z, 1).numpy(), np.cumprod(z.numpy(), 1))
    np.testing.assert_allclose(
        nn.functional.pad(z, (1, 2), value=1j).numpy(),
        np.pad(z.numpy(), ((0, 0), (1, 2)), constant_values=1j),
    )
    rows = nn.functional.embedding(rl.tensor([1, 0, 1]), z)
    np.testing.assert_allclose(rows.numpy(), z.numpy()[[1, 0, 1]])
    leaf = z.clone().requires_grad_()
    indices = rl.tensor([1, 0, 1])
    assert rl.autograd.gradcheck(lambda z: rl.cumprod(z, 1), [leaf])
    assert rl.autograd.gradcheck(lambda z: nn.functional.pad(z, (1, 2)), [leaf])
    assert rl.autograd.gradcheck(lambda z: nn.functional.embedding(indices, z), [leaf])


def test_complex_gradients_of_real_tensors_are_refused():
    x = rl.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: gradient * 1j)
    with pytest.raises(TypeError, match=r"real\(\)"):
        y.sum().backward()


@pytest.mark.parametrize("target", [-1, 3])
def test_classes_that_do_not_exist_are_refused(target):
    with pytest.raises(IndexError, match=f"class {target}"):
        nn.functional.multi_margin_loss(rl.ones(2, 3), rl.tensor([target, 0]))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: rl.linalg.inv(rl.zeros(2, 2)), r"linalg\.inv\(\)"),
        (lambda: rl.linalg.cholesky(rl.zeros(2, 3)), r"linalg\.cholesky\(\)"),
        (lambda: nn.functional.fold(rl.ones(6, 2), 2, 3), "fold"),
        (lambda: rl.tensor_split(rl.ones(3), "a"), r"tensor_split\(\)"),
        (lambda: rl.randint(5, 2, (3,)), r"randint\(\)"),
        (lambda: rl.median(rl.ones(2), "a"), r"median\(\)"),
    ],
)
def test_messages_name_what_was_called(call, name):
    with pytest.raises((ValueError, TypeError), match=name):
        call()
