"""Statistics, differences and integrals composed of other ops, against NumPy and SciPy."""

import numpy as np
import pytest
from arrays import arrays, dims
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

import relume as rl

RANDOM = np.random.default_rng(11)
NAN = float("nan")


def close(tensor, array, rtol=1e-12):
    np.testing.assert_allclose(tensor.numpy(), array, rtol=rtol, atol=rtol)


@given(st.data())
def test_counting(data):
    array = data.draw(arrays())
    dim = data.draw(st.none() | dims(array)) if array.ndim else None
    got = rl.from_numpy(array).count_nonzero(dim)
    np.testing.assert_array_equal(got.numpy(), np.count_nonzero(array, dim))


@pytest.mark.parametrize("dim", [None, 0, 1, (0, 1)])
def test_sums_without_nan(dim):
    array = RANDOM.standard_normal((3, 5))
    array[0, 1] = array[2, 3] = NAN
    close(rl.nansum(rl.from_numpy(array), dim), np.nansum(array, dim))
    close(rl.nanmean(rl.from_numpy(array), dim), np.nanmean(array, dim))
    close(rl.nanmean(rl.from_numpy(array), dim, True), np.nanmean(array, dim, keepdims=True))


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_pairs_of_statistics(dim):
    array = RANDOM.standard_normal((4, 6))
    x = rl.from_numpy(array)
    low, high = rl.aminmax(x, dim=dim)
    np.testing.assert_array_equal(low.numpy(), array.min(dim))
    np.testing.assert_array_equal(high.numpy(), array.max(dim))
    variance, mean = rl.var_mean(x, dim)
    close(variance, array.var(dim, ddof=1))
    close(mean, array.mean(dim))
    deviation, mean = rl.std_mean(x, dim, correction=0, keepdim=True)
    close(deviation, array.std(dim, keepdims=True))
    close(mean, array.mean(dim, keepdims=True))


@pytest.mark.parametrize("correction", [0, 1])
def test_covariance(correction):
    array = RANDOM.standard_normal((3, 7))
    repeats, reliability = RANDOM.integers(1, 5, 7), RANDOM.uniform(0.1, 1, 7)
    x, f, a = (rl.from_numpy(v) for v in (array, repeats, reliability))
    close(rl.cov(x, correction=correction), np.cov(array, ddof=correction))
    close(rl.cov(x[0], correction=correction), np.cov(array[0], ddof=correction))
    for weights in ({"fweights": f}, {"aweights": a}, {"fweights": f, "aweights": a}):
        arrays_of = {name: weight.numpy() for name, weight in weights.items()}
        got = rl.cov(x, correction=correction, **weights)
        close(got, np.cov(array, ddof=correction, **arrays_of))
    close(rl.corrcoef(x), np.corrcoef(array))
    assert rl.corrcoef(x[0]).item() == 1


@given(st.data())
def test_differences(data):
    array = data.draw(arrays(min_dims=1))
    dim = data.draw(dims(array))
    n = data.draw(st.integers(0, 3))
    np.testing.assert_array_equal(rl.from_numpy(array).diff(n, dim).numpy(), np.diff(array, n, dim))


def test_differences_with_ends():
    x = np.arange(6.0).reshape(2, 3) ** 2
    ends = np.ones((2, 1))
    got = rl.diff(rl.from_numpy(x), 1, -1, rl.from_numpy(ends), rl.from_numpy(ends))
    close(got, np.diff(x, 1, -1, ends, ends))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_integrals(dim):
    y = RANDOM.standard_normal((4, 5))
    x = np.sort(RANDOM.standard_normal(y.shape[dim]))
    a, b = rl.from_numpy(y), rl.from_numpy(x)
    close(rl.trapezoid(a, dx=0.5, dim=dim), np.trapezoid(y, dx=0.5, axis=dim))
    close(rl.trapezoid(a, b, dim=dim), np.trapezoid(y, x, axis=dim))
    close(rl.trapz(a, dim=dim), np.trapezoid(y, axis=dim))
    expected = integrate.cumulative_trapezoid(y, x, axis=dim)
    close(rl.cumulative_trapezoid(a, b, dim=dim), expected)
    with pytest.raises(ValueError, match="gives no place"):
        rl.trapezoid(a, rl.zeros(9), dim=dim)


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, np.inf, -np.inf])
def test_norms_of_any_order(p):
    array = RANDOM.standard_normal((3, 4))
    array[1, 2] = 0
    close(rl.norm(rl.from_numpy(array), p), np.linalg.norm(array.reshape(-1), p))
    close(rl.norm(rl.from_numpy(array), p, 1), np.linalg.norm(array, p, 1))
    other = RANDOM.standard_normal((3, 4))
    distance = np.linalg.norm((array - other).reshape(-1), p)
    close(rl.dist(rl.from_numpy(array), rl.from_numpy(other), p), distance)


def test_trace_and_renorm():
    array = RANDOM.standard_normal((3, 5))
    close(rl.trace(rl.from_numpy(array)), np.trace(array))
    assert rl.trace(rl.tensor([[1, 2], [3, 4]])).item() == 5
    lengths = np.linalg.norm(rl.renorm(rl.from_numpy(array), 2, 0, 1.0).numpy(), 2, 1)
    np.testing.assert_allclose(lengths, np.minimum(np.linalg.norm(array, 2, 1), 1), rtol=1e-6)
    with pytest.raises(ValueError, match="at least two dimensions"):
        rl.renorm(rl.ones(3), 2, 0, 1)


def test_third_order_gradients_of_cumprod_with_zeros():
    x = rl.tensor([0.5, 0.0, 2.0, 0.0, -1.0], dtype=rl.float64, requires_grad=True)
    weights = rl.arange(1, 6).to(rl.float64)
    (first,) = rl.grad((x.cumprod(0) * weights).sum(), [x], create_graph=True)
    v = x.detach().numpy()
    expected = [
        sum(weights[k].item() * np.prod(np.delete(v[: k + 1], i)) for k in range(i, 5))
        for i in range(5)
    ]
    np.testing.assert_allclose(first.detach().numpy(), expected)
    (second,) = rl.grad(first.sum(), [x], create_graph=True)
    (third,) = rl.grad((second * second).sum(), [x])
    assert np.isfinite(third.numpy()).all()
