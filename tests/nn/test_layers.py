"""Layers whose results are random or depend on what they saw before."""

import math

import numpy as np
import pytest

import relume as rl
from relume import nn


@pytest.fixture(autouse=True)
def seeded():
    rl.manual_seed(7)


def near_share(values, share):
    """Is the share of True values what it should be, give or take five deviations?"""
    return abs(values.mean() - share) < 5 * math.sqrt(share * (1 - share) / values.size)


@pytest.mark.parametrize("p", [0.0, 0.2, 0.7, 1.0])
def test_dropout_keeps_the_mean(p):
    layer, x = nn.Dropout(p), rl.ones(100, 100)
    y = layer(x).numpy()
    assert near_share(y == 0, p) or p in (0, 1)
    np.testing.assert_allclose(y[y != 0], 1 / (1 - p) if p < 1 else 0, rtol=1e-6)
    assert (y == 0).all() == (p == 1)
    np.testing.assert_array_equal(layer.eval()(x).numpy(), 1)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_dropout_of_channels(dimensions):
    layer = getattr(nn, f"Dropout{dimensions}d")(0.3)
    y = layer(rl.ones(50, 40, *[3] * dimensions)).numpy().reshape(50, 40, -1)
    assert (y == y[:, :, :1]).all() and near_share(y[:, :, 0] == 0, 0.3)


@pytest.mark.parametrize("kind", [nn.AlphaDropout, nn.FeatureAlphaDropout])
def test_alpha_dropout_keeps_mean_and_variance(kind):
    y = kind(0.3)(rl.randn(300, 300, 3)).numpy()
    assert abs(y.mean()) < 0.05 and abs(y.var() - 1) < 0.05


def test_dropout_in_place_and_its_gradient():
    x = rl.ones(1000, requires_grad=True)
    y = nn.Dropout(0.4, inplace=True)(x * 1)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.Dropout(1.5)


def test_rrelu():
    layer, x = nn.RReLU(0.1, 0.4), -rl.ones(5000)
    slopes = -layer(x).numpy()
    assert slopes.min() >= 0.1 and slopes.max() <= 0.4 and abs(slopes.mean() - 0.25) < 0.01
    np.testing.assert_allclose(layer.eval()(x).numpy(), -0.25, rtol=1e-6)


def test_batch_norm_remembers_what_it_saw():
    random = np.random.default_rng(1)
    batches = [random.standard_normal((8, 3)) * 2 + 5 for _ in range(4)]
    recent = nn.BatchNorm1d(3, momentum=0.25).double()
    average = nn.BatchNorm1d(3, momentum=None).double()
    mean, variance = np.zeros(3), np.ones(3)
    for batch in batches:
        recent(rl.tensor(batch))
        average(rl.tensor(batch))
        mean += 0.25 * (batch.mean(0) - mean)
        variance += 0.25 * (batch.var(0, ddof=1) - variance)
    np.testing.assert_allclose(recent.running_mean.numpy(), mean)
    np.testing.assert_allclose(recent.running_var.numpy(), variance)
    np.testing.assert_allclose(average.running_mean.numpy(), np.mean(batches, (0, 1)))
    assert average.num_batches_tracked.item() == 4
    x = random.standard_normal((5, 3))
    expected = (x - mean) / np.sqrt(variance + 1e-5)
    np.testing.assert_allclose(recent.eval()(rl.tensor(x)).detach().numpy(), expected)
    recent.reset_running_stats()
    np.testing.assert_array_equal(recent.running_var.numpy(), 1)


def test_batch_norm_loads_what_is_older_than_its_count():
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    assert layer.load_state_dict(state).missing_keys == []


@pytest.mark.parametrize("kind, shape", [(nn.BatchNorm2d, (3, 4)), (nn.InstanceNorm1d, (3,))])
def test_norms_say_which_dimensions_they_need(kind, shape):
    with pytest.raises(ValueError, match="dimensions"):
        kind(4)(rl.ones(shape))


def test_embedding():
    layer = nn.Embedding(6, 3, padding_idx=-1)
    assert layer.padding_idx == 5 and layer.weight[5].abs().sum().item() == 0
    layer(rl.tensor([0, 2, 2, 5])).sum().backward()
    np.testing.assert_array_equal(layer.weight.grad[:, 0].numpy(), [1, 0, 2, 0, 0, 0])
    frozen = nn.Embedding.from_pretrained(rl.eye(3))
    assert not frozen.weight.requires_grad and frozen.num_embeddings == 3
    with pytest.raises(ValueError, match="padding_idx"):
        nn.Embedding(3, 2, padding_idx=3)


def test_embedding_with_short_rows():
    layer = nn.Embedding(5, 4, max_norm=1.0)
    y = layer(rl.tensor([1, 3]))
    assert (y.norm(2, 1) <= 1 + 1e-5).all()
    assert layer.weight[0].norm().item() > 1  # was not used


def test_transposed_convolution_reaches_the_wanted_size():
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    x = rl.randn(1, 2, 5, 5)
    for size in (9, 10):
        assert layer(x, output_size=(size, size)).shape == (1, 3, size, size)
    with pytest.raises(ValueError, match="from 9 to 10"):
        layer(x, output_size=(11, 9))


@pytest.mark.parametrize(
    "act, message",
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "groups"),
        (lambda: nn.Conv2d(3, 4, (3, 3, 3)), "2 numbers"),
        (lambda: nn.Conv1d(3, 4, 3, stride=2, padding="same"), "stride"),
        (lambda: nn.Conv1d(3, 4, 3, padding_mode="mirror"), "mirror"),
        (lambda: nn.ConvTranspose1d(3, 4, 3, padding_mode="reflect"), "zeros"),
        (lambda: nn.GroupNorm(2, 3), "groups"),
        (lambda: nn.Hardtanh(1.0, -1.0), "larger"),
        (lambda: nn.LSTM(3, 4, dropout=2.0), "dropout"),
        (lambda: nn.GRU(3, 0), "positive"),
        (lambda: nn.RNN(3, 4, nonlinearity="sin"), "nonlinearity"),
        (lambda: nn.LSTM(3, 4)(rl.ones(5, 2, 4)), "size 3"),
        (lambda: nn.MultiheadAttention(5, 2), "multiple"),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"), "activation"),
        (lambda: nn.MultiMarginLoss(p=3), "p must be"),
        (lambda: nn.FractionalMaxPool2d(2), "output"),
        (lambda: nn.Unflatten(5, (2, 2))(rl.ones(4)), "range"),
    ],
)
def test_mistakes_are_explained(act, message):
    with pytest.raises((ValueError, IndexError), match=message):
        act()
