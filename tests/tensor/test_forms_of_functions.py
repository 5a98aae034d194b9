"""Forms of functions that users of NumPy and PyTorch write, against NumPy."""

import numpy as np
import pytest

import relume as rl

RANDOM = np.random.default_rng(5)


def matrices(*shape):
    array = RANDOM.standard_normal(shape)
    return rl.from_numpy(array), array


@pytest.mark.parametrize("shape", [(1, 5), (5,), (3, 5)])
def test_cov_of_one_variable_is_a_number(shape):
    t, a = matrices(*shape)
    np.testing.assert_allclose(rl.cov(t).numpy(), np.cov(a), rtol=1e-12)
    np.testing.assert_allclose(rl.corrcoef(t).numpy(), np.corrcoef(a), rtol=1e-12)


def test_diff_of_order_0_is_the_input_alone():
    t, a = matrices(3, 4)
    np.testing.assert_array_equal(
        rl.diff(t, 0, 0, t[:1], t[:1]).numpy(), np.diff(a, 0, 0, a[:1], a[:1])
    )


def test_variance_without_a_correction_takes_the_usual_one():
    t, a = matrices(4, 5)
    t.requires_grad_()
    np.testing.assert_allclose(
        rl.var(t, 1, correction=None).detach().numpy(), a.var(1, ddof=1), rtol=1e-12
    )
    spread, _mean = rl.std_mean(t, 1, unbiased=False)
    np.testing.assert_allclose(spread.detach().numpy(), a.std(1), rtol=1e-12)
    assert rl.autograd.gradcheck(lambda x: rl.var(x, 1, correction=None), (t,))


def test_a_truth_value_is_no_dimension():
    with pytest.raises(TypeError, match="'dim' must be int or a tuple of ints, not bool"):
        rl.mean(rl.ones(2, 3), False)
    with pytest.raises(TypeError, match="not bool"):
        rl.sum(rl.ones(2, 3), True)


@pytest.mark.parametrize(("p", "order"), [("fro", "fro"), ("nuc", "nuc"), (None, None)])
def test_norms_by_name(p, order):
    t, a = matrices(4, 3)
    np.testing.assert_allclose(rl.norm(t, p).item(), np.linalg.norm(a, order), rtol=1e-12)
    np.testing.assert_allclose(t.norm(p=p).item(), np.linalg.norm(a, order), rtol=1e-12)


def test_norm_along_a_dimension_in_another_type():
    t, a = matrices(4, 3)
    result = rl.norm(t.float(), 3, dim=1, keepdim=True, dtype=rl.float64)
    expected = np.linalg.norm(a.astype(np.float32).astype(float), 3, 1, keepdims=True)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


def test_tolerances_of_each_matrix():
    left, right = np.linalg.qr(RANDOM.standard_normal((2, 4, 4)))[0]
    a = np.stack([left * [4.0, 2.0, 1.0, 0.5] @ right] * 3)
    tolerances = np.array([0.1, 1.5, 3.0])
    t, given = rl.from_numpy(a), rl.from_numpy(tolerances)
    assert rl.linalg.matrix_rank(t, atol=given, rtol=0.0).tolist() == [4, 2, 1]
    assert rl.linalg.matrix_rank(t, rtol=given / 4).tolist() == [4, 2, 1]
    expected = np.stack(
        [np.linalg.pinv(x, each / 4) for x, each in zip(a, tolerances, strict=True)]
    )
    np.testing.assert_allclose(rl.linalg.pinv(t, rtol=given / 4).numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(rl.linalg.pinv(t, atol=given).numpy(), expected, atol=1e-12)


def test_pinv_of_hermitian_matrices_reads_their_lower_triangles():
    _, a = matrices(4, 4)
    symmetric = np.tril(a) + np.tril(a, -1).T
    result = rl.linalg.pinv(rl.from_numpy(a), hermitian=True)
    np.testing.assert_allclose(result.numpy(), np.linalg.pinv(symmetric), atol=1e-10)


@pytest.mark.parametrize("pad", [(-1, 2), (2, -1), (-1, -1), (1, 0)])
def test_circular_padding_repeats_what_negative_padding_leaves(pad):
    a = np.arange(10.0).reshape(2, 1, 5)
    before, after = pad
    left = a[..., max(0, -before) : 5 + min(0, after)]
    expected = np.pad(left, [(0, 0), (0, 0), (max(before, 0), max(after, 0))], "wrap")
    t = rl.from_numpy(a).requires_grad_()
    result = rl.nn.functional.pad(t, pad, "circular")
    np.testing.assert_array_equal(result.detach().numpy(), expected)
    assert rl.autograd.gradcheck(lambda x: rl.nn.functional.pad(x, pad, "circular"), (t,))


def test_repeats_must_add_up_to_the_given_size():
    t, repeats = rl.arange(3), rl.tensor([2, 0, 1])
    assert rl.repeat_interleave(t, repeats, 0, output_size=3).tolist() == [0, 0, 2]
    with pytest.raises(ValueError, match="output_size is 4, but the repeats add up to 3"):
        rl.repeat_interleave(t, repeats, 0, output_size=4)


def test_one_weight_of_prelu_serves_a_single_number():
    x = rl.tensor(-2.0, dtype=rl.float64, requires_grad=True)
    w = rl.tensor([0.25], dtype=rl.float64, requires_grad=True)
    result = rl.prelu(x, w)
    assert result.shape == () and result.item() == -0.5
    assert rl.autograd.gradcheck(rl.prelu, (x, w))


def test_tensors_like_this_one_take_a_device_and_a_gradient():
    t = rl.ones(2, dtype=rl.float64)
    made = t.new_full((3,), 2, device="cpu", requires_grad=True)
    assert made.dtype == rl.float64 and made.requires_grad
    assert t.new_tensor([1], requires_grad=True).requires_grad
    assert rl.ones(4, 3).sum_to_size(1, 3).tolist() == [[4.0, 4.0, 4.0]]


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("unbiased", [True, False])
def test_unbiased_may_be_given_by_position(name, unbiased):
    t, a = matrices(4, 5)
    function, reference = getattr(rl, name), getattr(np, name)
    np.testing.assert_allclose(function(t, unbiased), reference(a, ddof=int(unbiased)), rtol=1e-12)
    np.testing.assert_allclose(
        getattr(t, name)(1, unbiased, True), reference(a, 1, ddof=int(unbiased), keepdims=True)
    )
    spread, mean = getattr(rl, f"{name}_mean")(t, (0,), unbiased)
    np.testing.assert_allclose(spread, reference(a, 0, ddof=int(unbiased)), rtol=1e-12)
    np.testing.assert_allclose(mean, a.mean(0), rtol=1e-12)


def test_softmax_of_another_type():
    t, a = matrices(3, 4)
    e = np.exp(a.astype(np.float32).astype(np.float64))
    for result in (rl.softmax(t.float(), 1, dtype=rl.float64), t.float().softmax(1, rl.float64)):
        np.testing.assert_allclose(result.numpy(), e / e.sum(1, keepdims=True), rtol=1e-12)
    logs = rl.log_softmax(t.float(), 1, dtype=rl.float64)
    np.testing.assert_allclose(np.exp(logs), e / e.sum(1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("reduce, join", [("add", np.add), ("multiply", np.multiply)])
def test_scatter_joins_with_what_is_there(reduce, join):
    t, a = matrices(3, 4)
    source, values = matrices(2, 4)
    index = np.array([[0, 1, 2, 0], [0, 2, 2, 1]])
    expected, filled = a.copy(), a.copy()
    places = (index, np.arange(4)[None].repeat(2, 0))
    join.at(expected, places, values)
    join.at(filled, places, 2.5)
    at = rl.tensor(index)
    np.testing.assert_allclose(rl.scatter(t, 0, at, source, reduce=reduce), expected, rtol=1e-12)
    np.testing.assert_allclose(t.scatter(0, at, 2.5, reduce=reduce), filled, rtol=1e-12)
    assert t.scatter_(0, at, source, reduce=reduce) is t
    np.testing.assert_allclose(t, expected, rtol=1e-12)


def test_scatter_takes_a_named_value():
    t = rl.zeros(2, 2)
    assert t.scatter(1, rl.tensor([[0], [1]]), value=3).tolist() == [[3, 0], [0, 3]]


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.var("all"),
        lambda t: t.var(0, True, False, 1),
        lambda t: t.softmax(1, dtypo=rl.float64),
        lambda t: t.scatter(0, t.long(), t, reduce="add", mode="x"),
        lambda t: t.view(object()),
        lambda t: rl.scatter(t),
        lambda t: rl.softmax(t),
    ],
)
def test_a_call_that_no_form_takes_is_refused_with_the_usage(call):
    with pytest.raises(TypeError, match="argument"):
        call(rl.ones(2, 2))


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: rl.conv1d(rl.ones(1, 3) > 0, rl.ones(1, 1, 2) > 0), "conv1d"),
        (lambda: rl.conv3d(rl.ones(1, 3, 3, 3), rl.ones(1, 2, 1, 2, 2)), "conv3d"),
        (lambda: rl.vstack([rl.ones(2), rl.ones(3)]), "vstack"),
        (lambda: rl.addbmm(rl.ones(2, 2), rl.ones(3, 2, 2), rl.ones(3, 3, 2)), "addbmm"),
        (lambda: rl.linalg.inv(rl.ones(2, 3)), "linalg.inv"),
        (lambda: rl.tensor([1]).add_(1.5), "add_"),
    ],
)
def test_errors_name_the_function_that_was_called(call, name):
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    assert str(error.value).startswith((f"{name}:", f"{name}()"))
