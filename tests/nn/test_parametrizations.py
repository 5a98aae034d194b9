"""Parameters that are computed: nn.utils.parametrize and the parametrizations."""

import copy
import pickle

import numpy as np
import pytest

import relume as rl
from relume import nn, optim
from relume.nn.utils import parametrizations, parametrize

MAPS = ["matrix_exp", "cayley", "householder"]
SHAPES = [(4, 4), (5, 3), (3, 5)]


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x):
        return x.triu()


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


def close(a, b, tolerance=1e-10):
    np.testing.assert_allclose(np.asarray(a.detach()), np.asarray(b.detach()), atol=tolerance)


def columns_of(weight):
    return weight if weight.shape[0] >= weight.shape[1] else weight.T


@pytest.mark.parametrize("trivialized", [True, False])
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_orthogonal_weights_stay_orthogonal_while_they_are_trained(shape, name, trivialized):
    layer = nn.Linear(shape[1], shape[0], dtype=rl.float64)
    parametrizations.orthogonal(layer, orthogonal_map=name, use_trivialization=trivialized)
    before = layer.weight.detach().clone()
    optimizer = optim.SGD(layer.parameters(), lr=0.3)
    for _ in range(3):
        layer(rl.randn(2, shape[1], dtype=rl.float64)).square().sum().backward()
        optimizer.step()
    columns = columns_of(layer.weight)
    close(columns.T @ columns, rl.eye(min(shape), dtype=rl.float64))
    assert (layer.weight - before).abs().max().item() > 1e-3


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MAPS)
def test_an_orthogonal_matrix_can_be_assigned(shape, name):
    layer = parametrizations.orthogonal(
        nn.Linear(shape[1], shape[0], dtype=rl.float64), orthogonal_map=name
    )
    wanted = rl.linalg.qr(rl.randn(max(shape), min(shape), dtype=rl.float64)).Q
    wanted = wanted if shape[0] >= shape[1] else wanted.T
    layer.weight = wanted
    close(layer.weight, wanted)


def test_maps_without_an_inverse_say_so():
    layer = parametrizations.orthogonal(nn.Linear(3, 3), use_trivialization=False)
    with pytest.raises(NotImplementedError, match="use_trivialization"):
        layer.weight = rl.eye(3)


def test_weight_norm_keeps_the_weight_and_splits_its_gradient():
    layer = nn.Conv2d(3, 4, 2, dtype=rl.float64)
    weight = layer.weight.detach().clone()
    parametrizations.weight_norm(layer)
    close(layer.weight, weight)
    length = layer.parametrizations.weight.original0
    close(length.flatten(), weight.flatten(1).norm(2, 1))
    # The gradient by the length is the one of the weight along its direction.
    direction = rl.randn(4, 3, 2, 2, dtype=rl.float64)
    (layer.weight * direction).sum().backward()
    along = (direction * weight).flatten(1).sum(1) / weight.flatten(1).norm(2, 1)
    close(length.grad.flatten(), along)


@pytest.mark.parametrize("layer", [nn.Linear(5, 3), nn.ConvTranspose2d(2, 3, 2)])
def test_spectral_norm_is_one(layer):
    layer = parametrizations.spectral_norm(copy.deepcopy(layer), n_power_iterations=50)
    weight = layer.weight.detach()
    rows = weight.transpose(0, 1) if weight.ndim > 2 else weight
    largest = rl.linalg.svdvals(rows.flatten(1))[0]
    assert abs(largest.item() - 1) < 1e-4
    layer.eval()
    assert rl.equal(layer.weight, layer.weight)


def test_parametrizations_follow_one_another_and_can_be_removed():
    layer = nn.Linear(3, 3, dtype=rl.float64)
    parameter = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    close(layer.weight, layer.weight.T)
    value = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Doubled())
    close(layer.weight, value)  # the inverse kept it
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(
        layer, "bias"
    )
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    layer.weight = 2 * value
    close(layer.weight, 2 * value)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is parameter
    close(layer.weight, 2 * value)
    assert list(layer.state_dict()) == ["bias", "weight"]


def test_buffers_are_parametrized_too():
    layer = nn.BatchNorm1d(3)
    parametrize.register_parametrization(layer, "running_var", Doubled())
    assert "parametrizations.running_var.original" in dict(layer.named_buffers())
    assert layer.running_var.tolist() == [1, 1, 1]


def test_parametrized_layers_are_copied_pickled_and_loaded():
    layer = parametrizations.weight_norm(nn.Linear(3, 2))
    x = rl.randn(4, 3)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        close(twin(x), layer(x), 0)
        assert twin.parametrizations.weight is not layer.parametrizations.weight
    other = parametrizations.weight_norm(nn.Linear(3, 2))
    other.load_state_dict(layer.state_dict())
    close(other(x), layer(x), 0)
    plain = nn.Linear(3, 2)
    parametrize.transfer_parametrizations_and_params(layer, plain)
    close(plain.weight, layer.weight, 0)


def test_a_cached_tensor_is_computed_once():
    calls = []

    class Counted(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 1

    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Counted())
    calls.clear()
    with parametrize.cached():
        layer(layer(rl.ones(1, 2)))
    assert len(calls) == 1
    layer(layer(rl.ones(1, 2)))
    assert len(calls) == 3


def test_what_does_not_fit_is_refused():
    class Longer(nn.Module):
        def forward(self, x):
            return rl.cat([x, x])

    with pytest.raises(ValueError, match="unsafe=True"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Longer())
    with pytest.raises(ValueError, match="no parameter or buffer 'wait'"):
        parametrize.register_parametrization(nn.Linear(2, 2), "wait", Doubled())
    with pytest.raises(ValueError, match="not parametrized"):
        parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")
