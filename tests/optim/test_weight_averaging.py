"""optim.swa_utils: averages of weights."""

import copy

import numpy as np
import pytest

import relume as rl
from relume import nn, optim
from relume.optim import swa_utils


def trained(model, steps):
    """The model's weights after each of some random steps."""
    for _ in range(steps):
        with rl.no_grad():
            for parameter in model.parameters():
                parameter.add_(rl.randn(parameter.shape))
        yield model.weight.detach().numpy().copy()


def test_the_mean_of_all_weights():
    model = nn.Linear(3, 2)
    averaged = swa_utils.AveragedModel(model)
    seen = []
    for weight in trained(model, 5):
        seen.append(weight)
        averaged.update_parameters(model)
    np.testing.assert_allclose(averaged.module.weight.detach().numpy(), np.mean(seen, 0), rtol=1e-5)
    assert averaged.n_averaged.item() == 5
    assert averaged(rl.ones(1, 3)).shape == (1, 2)


@pytest.mark.parametrize(
    "options",
    [
        {"avg_fn": swa_utils.get_ema_avg_fn(0.9)},
        {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9)},
    ],
    ids=["each", "lists"],
)
def test_moving_averages(options):
    model = nn.Linear(3, 2)
    averaged = swa_utils.AveragedModel(model, **options)
    expected = None
    for weight in trained(model, 4):
        expected = weight if expected is None else 0.9 * expected + 0.1 * weight
        averaged.update_parameters(model)
    np.testing.assert_allclose(averaged.module.weight.detach().numpy(), expected, rtol=1e-4)
    other = swa_utils.AveragedModel(model, **options)
    other.load_state_dict(averaged.state_dict())
    assert other.n_averaged.item() == 4


@pytest.mark.parametrize("use_buffers", [True, False])
def test_buffers_are_averaged_or_copied(use_buffers):
    model = nn.BatchNorm1d(1)
    averaged = swa_utils.AveragedModel(model, use_buffers=use_buffers)
    for value in (2.0, 4.0):
        model.running_mean.fill_(value)
        model.num_batches_tracked.add_(1)
        averaged.update_parameters(model)
    assert averaged.module.running_mean.item() == (3.0 if use_buffers else 4.0)
    assert averaged.module.num_batches_tracked.item() == 2


def test_statistics_of_batch_norms_are_computed_anew():
    data = rl.randn(40, 3) * 2 + 1
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1)).eval()
    swa_utils.update_bn([(batch, None) for batch in data.split(10)], model)
    batches = data.numpy().reshape(4, 10, 3)
    np.testing.assert_allclose(model[0].running_mean.numpy(), batches.mean((0, 1)), rtol=1e-4)
    variances = batches.var(1, ddof=1).mean(0)
    np.testing.assert_allclose(model[0].running_var.numpy(), variances, rtol=1e-4)
    assert model[0].momentum == 0.1 and not model.training


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 4])
def test_rates_are_annealed(strategy, epochs):
    optimizer = optim.SGD([rl.ones(1, requires_grad=True)], lr=1.0)
    schedule = swa_utils.SWALR(
        optimizer, swa_lr=0.1, anneal_epochs=epochs, anneal_strategy=strategy
    )
    rates = []
    for _ in range(6):
        rates.append(optimizer.param_groups[0]["lr"])
        schedule.step()
    share = np.minimum(np.arange(6) / epochs, 1) if epochs else np.ones(6)
    if strategy == "cos":
        share = (1 - np.cos(np.pi * share)) / 2
    np.testing.assert_allclose(rates, 0.1 * share + (1 - share))


def test_the_average_is_a_copy():
    model = nn.Linear(1, 1)
    averaged = swa_utils.AveragedModel(model)
    twin = copy.deepcopy(averaged)
    with rl.no_grad():
        model.weight.add_(1)
    assert rl.equal(twin.module.weight, averaged.module.weight)
    with pytest.raises(ValueError, match="not both"):
        swa_utils.AveragedModel(
            model, avg_fn=swa_utils.get_swa_avg_fn(), multi_avg_fn=swa_utils.get_swa_multi_avg_fn()
        )
