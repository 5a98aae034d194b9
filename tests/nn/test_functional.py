"""Functions of nn.functional against what mathematics says of them."""

import numpy as np
import pytest

import relume as rl
import relume.nn.functional as F

_random = np.random.default_rng(11)


def normal(*shape):
    return _random.standard_normal(shape)


def test_embedding_bag_divides_gradients_by_frequency():
    """Row 3 is looked up twice, so each time adds half; the value is that of a plain sum."""
    table = rl.tensor(normal(4, 2), requires_grad=True)
    numbers, starts = rl.tensor([0, 3, 3]), rl.tensor([0, 2])
    out = F.embedding_bag(numbers, table, starts, mode="sum", scale_grad_by_freq=True)
    expected = F.embedding_bag(numbers, table, starts, mode="sum")
    np.testing.assert_allclose(out.detach().numpy(), expected.detach().numpy())
    out.sum().backward()
    assert table.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


def test_cosine_similarity_of_short_vectors_divides_by_eps():
    a, b = rl.tensor([[1e-3, 0.0]]), rl.tensor([[3.0, 4.0]])
    assert F.cosine_similarity(a, b, eps=0.5).item() == pytest.approx(1e-3 / 0.5 * 0.6)


@pytest.mark.parametrize("shape", [(50, 7), (2000,)])
def test_layer_norm_gives_mean_0_and_variance_1(shape):
    x = normal(*shape) * 5 + 100
    y = F.layer_norm(rl.tensor(x), shape[-1:], eps=0.0).numpy()
    np.testing.assert_allclose(y.mean(-1), 0, atol=1e-10)
    np.testing.assert_allclose(y.std(-1), 1, atol=1e-10)


def test_layer_norm_keeps_digits_of_numbers_far_from_zero():
    x = rl.tensor([1e4, 1e4 + 1, 1e4 + 2], dtype=rl.float32)
    expected = np.array([-1, 0, 1]) / np.sqrt(2 / 3)
    np.testing.assert_allclose(F.layer_norm(x, (3,), eps=0.0).numpy(), expected, rtol=1e-5)


def test_group_norm_of_one_group_is_layer_norm():
    x = rl.tensor(normal(3, 4, 5))
    a, b = F.group_norm(x, 1), F.layer_norm(x, (4, 5))
    np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-12)


@pytest.mark.parametrize("dtype", [rl.float16, rl.bfloat16])
def test_half_precision(dtype):
    x = rl.tensor(normal(4, 6)).to(dtype)
    for function in (F.gelu, F.silu, lambda t: F.layer_norm(t, (6,)), lambda t: F.group_norm(t, 3)):
        result = function(x)
        assert result.dtype is dtype
        exact = function(x.double()).numpy()
        np.testing.assert_allclose(result.double().numpy(), exact, atol=0.03)


def test_alpha_dropout_keeps_mean_and_variance():
    rl.manual_seed(3)
    y = F.alpha_dropout(rl.tensor(normal(200_000)), 0.3, True).numpy()
    assert abs(y.mean()) < 0.02 and abs(y.std() - 1) < 0.02


def test_channel_dropout_drops_whole_channels():
    rl.manual_seed(3)
    y = F.dropout2d(rl.ones(20, 10, 3, 3), 0.5).numpy().reshape(200, 9)
    assert set(np.unique(y)) == {0.0, 2.0}
    assert (y == y[:, :1]).all()


def test_inplace_writes_into_the_input():
    for function in (F.relu, F.silu, F.relu6, F.selu, F.hardswish, F.mish):
        values = normal(5)
        x = rl.tensor(values)
        y = function(x, inplace=True)
        np.testing.assert_allclose(x.numpy(), function(rl.tensor(values)).numpy())
        assert y.data_ptr() == x.data_ptr() if hasattr(x, "data_ptr") else y is x


def test_in_place_forms_have_names_of_their_own():
    x = rl.tensor([-1.0, 2.0])
    assert F.relu_(x) is x and x.tolist() == [0.0, 2.0]
    assert F.threshold_(x, 1.0, -5.0).tolist() == x.tolist() == [-5.0, 2.0]


def test_inplace_has_the_same_gradient():
    x = rl.tensor(normal(5), requires_grad=True)
    F.selu(x * 2, inplace=True).sum().backward()
    y = rl.tensor(x.detach().numpy(), requires_grad=True)
    F.selu(y * 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy())


def test_gumbel_softmax_samples_by_the_probabilities():
    rl.manual_seed(5)
    logits = rl.tensor([0.2, 0.5, 0.3]).log().expand(20_000, 3)
    counts = F.gumbel_softmax(logits, hard=True).mean(0).numpy()
    np.testing.assert_allclose(counts, [0.2, 0.5, 0.3], atol=0.02)


def test_the_loss_of_an_alignment_of_one_step_is_its_logarithm():
    scores = rl.tensor([[[0.2, 0.5, 0.3]]]).log()
    loss = F.ctc_loss(scores, rl.tensor([[1]]), [1], [1], reduction="none")
    assert loss.item() == pytest.approx(-np.log(0.5), rel=1e-6)


def brute_force_ctc(log_probs, target, blank):
    """Sums over all paths of classes that say the target."""
    import itertools

    total = 0.0
    for path in itertools.product(range(log_probs.shape[1]), repeat=log_probs.shape[0]):
        said = [c for i, c in enumerate(path) if i == 0 or c != path[i - 1]]
        if [c for c in said if c != blank] == target:
            total += np.exp(sum(log_probs[t, c] for t, c in enumerate(path)))
    return -np.log(total)


@pytest.mark.parametrize("target", [[], [1], [1, 2], [1, 1], [2, 1, 2]])
def test_ctc_loss_is_the_sum_over_all_paths(target):
    log_probs = normal(5, 3)
    loss = F.ctc_loss(
        rl.tensor(log_probs), rl.tensor(target, dtype=rl.int64), [5], [len(target)],
        reduction="sum",
    )  # fmt: skip
    assert loss.item() == pytest.approx(brute_force_ctc(log_probs, target, 0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.cross_entropy(rl.zeros(2, 3), rl.tensor([0, 3])), "3 classes"),
        (lambda: F.nll_loss(rl.zeros(2, 3), rl.tensor([0, 1, 2])), "target must have shape"),
        (lambda: F.mse_loss(rl.zeros(2), rl.zeros(2), reduction="men"), "reduction"),
        (lambda: F.layer_norm(rl.zeros(2, 3), (4,)), "normalized_shape"),
        (lambda: F.group_norm(rl.zeros(2, 3), 2), "must divide"),
        (lambda: F.glu(rl.zeros(3)), "even size"),
        (lambda: F.gelu(rl.zeros(3), approximate="x"), "approximate"),
        (lambda: F.one_hot(rl.tensor([5]), 3), "classes"),
        (lambda: F.embedding_bag(rl.tensor([9]), rl.zeros(3, 2), rl.tensor([0])), "table of 3"),
        (lambda: F.binary_cross_entropy(rl.tensor([2.0]), rl.tensor([1.0])), "between 0 and 1"),
        (lambda: F.ctc_loss(rl.zeros(2, 1, 3), rl.tensor([[0]]), [2], [1]), "blank"),
        (lambda: F.dropout2d(rl.zeros(3)), "dimensions"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises((ValueError, IndexError), match=words):
        call()


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_a_loss_warns_when_shapes_broadcast(name):
    with pytest.warns(UserWarning, match=r"\(3, 1\) and target of shape \(3,\)"):
        getattr(rl.nn.functional, name)(rl.ones(3, 1), rl.ones(3))


def test_batch_norm_needs_more_than_one_value_per_channel_in_training():
    with pytest.raises(ValueError, match="more than one value per channel"):
        rl.nn.BatchNorm1d(4)(rl.ones(1, 4))
    assert rl.nn.BatchNorm1d(4).eval()(rl.ones(1, 4)).shape == (1, 4)


def test_batch_norm_loads_a_checkpoint_of_before_batches_were_counted():
    layer = rl.nn.BatchNorm1d(2)
    state = dict(layer.state_dict())
    del state["num_batches_tracked"]
    assert str(layer.load_state_dict(state)) == "<All keys matched successfully>"
    assert layer.num_batches_tracked.item() == 0


def test_kl_div_has_no_logarithm_of_negative_targets():
    inputs, targets = rl.tensor([-1.0, -1.0, -1.0]), rl.tensor([0.5, 0.0, -0.5])
    losses = F.kl_div(inputs, targets, reduction="none").tolist()
    assert losses[:2] == [pytest.approx(0.5 * np.log(0.5) + 0.5), 0.0]
    assert np.isnan(losses[2])


def test_a_single_number_is_a_batch_of_its_own():
    x, label = rl.tensor(0.3), rl.tensor(0)
    assert F.multi_margin_loss(x, label).item() == 0.0
    assert F.multilabel_margin_loss(x, label).item() == 0.0
    one = F.kl_div(rl.tensor(-1.0), rl.tensor(0.5), reduction="batchmean")
    assert one.item() == pytest.approx(0.5 * np.log(0.5) + 0.5)
