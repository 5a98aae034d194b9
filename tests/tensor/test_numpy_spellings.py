"""What NumPy's users write to make arrays and indices, ask and fill, against NumPy."""

import numpy as np
import pytest

import relume as rl

RANDOM = np.random.default_rng(12)
MATRIX = RANDOM.standard_normal((4, 5))
WHOLE = RANDOM.integers(-9, 9, (3, 4))
ROW = RANDOM.standard_normal(5)
COMPLEX = RANDOM.integers(0, 3, 9) + 1j * RANDOM.integers(-2, 3, 9)

# The same expression in either library; `t` makes its tensor or array.
EXPRESSIONS = [
    "lib.array([[1, 2], [3, 4]])",
    "lib.array([1, 2], ndmin=3)",
    "lib.array(t(MATRIX), copy=True)",
    "lib.ascontiguousarray(t(MATRIX).T)",
    "lib.ascontiguousarray(5)",
    "lib.bartlett(6)",
    "lib.blackman(5)",
    "lib.hamming(6)",
    "lib.hanning(7)",
    "lib.kaiser(6, 4.0)",
    "lib.diag_indices_from(t(np.ones((3, 3))))",
    "lib.tril_indices_from(t(MATRIX), -1)",
    "lib.triu_indices_from(t(MATRIX), 1)",
    "lib.block([[t(MATRIX), t(MATRIX[:, :1])], [t(MATRIX[:2]), t(MATRIX[:2, :1])]])",
    "lib.block([t(MATRIX[0]), 3.0])",
    "lib.mgrid[0:3, 1:7:2]",
    "lib.mgrid[0:1:5j]",
    "lib.mgrid[0:2, 0:1:3j]",
    "lib.ogrid[0:3, 0:2]",
    "lib.r_[1:4, 0, 5]",
    "lib.r_[t(MATRIX[0]), 0.0]",
    "lib.c_[t(MATRIX[0]), t(MATRIX[1])]",
    "t(MATRIX)[lib.s_[1:, ::2]]",
    "t(MATRIX)[lib.index_exp[2]]",
    "lib.array_equal(t(MATRIX), t(MATRIX.copy()))",
    "lib.array_equal(t([np.nan]), t([np.nan]))",
    "lib.array_equal(t([np.nan]), t([np.nan]), equal_nan=True)",
    "lib.array_equal(t(MATRIX), t(MATRIX[:2]))",
    "lib.array_equiv(t(np.ones((2, 3))), t(np.ones(3)))",
    "lib.array_equiv(t(np.ones(2)), t(np.ones(3)))",
    "lib.iscomplexobj(t(COMPLEX))",
    "lib.isrealobj(t(MATRIX))",
    "lib.ndim(t(MATRIX))",
    "lib.shape([[1, 2, 3]])",
    "lib.size(t(MATRIX))",
    "lib.size(t(MATRIX), 1)",
    "list(lib.ndindex(2, 3))",
    "list(lib.ndindex((2, 1)))",
    "list(lib.ndenumerate(t(WHOLE[:2, :2])))",
    "lib.real_if_close(t(MATRIX + 1e-20j))",
    "lib.real_if_close(t(COMPLEX))",
    "lib.spacing(t(MATRIX))",
    "lib.sort_complex(t(COMPLEX))",
    "lib.histogram_bin_edges(t(MATRIX), 4)",
    "lib.histogram_bin_edges(t(MATRIX), 3, (-1, 2))",
    "lib.nanpercentile(t([1.0, np.nan, 4.0, 9.0]), 30)",
    "lib.poly(t([1.0, -2.0, 0.5]))",
    "lib.poly(t(MATRIX[:3, :3]))",
    "lib.polyadd([1, 2], [3, 4, 5])",
    "lib.polysub([1, 2, 3], [4, 5])",
    "lib.polymul([1, 2, 3], [4, 5])",
    "lib.polydiv(t([2.0, 3.0, 1.0, 5.0]), t([1.0, 2.0]))",
    "lib.polydiv(t([2.0]), t([1.0, 2.0]))",
    "lib.polyder([3, 2, 1], 2)",
    "lib.polyint(t([3.0, 2.0]), 2)",
    "lib.expand_dims(t(MATRIX), 0)",
    "divmod(t(WHOLE), 4)",
    "divmod(7.5, t(MATRIX))",
    "t(MATRIX).std(ddof=1)",
    "t(MATRIX).var(axis=0, ddof=0)",
    "lib.var(t(MATRIX), axis=1, ddof=2, keepdims=True)",
    "lib.euler_gamma",
    "lib.flip(t(MATRIX), axis=1)",
    "lib.roll(t(MATRIX), 2, axis=0)",
    "lib.nanstd(t(MATRIX), axis=0, keepdims=True).shape",
    "lib.nanmax(t(MATRIX), axis=1)",
    "lib.nancumsum(t(MATRIX), axis=1)",
    "lib.percentile(t(MATRIX), 30, axis=0, keepdims=True)",
    "lib.average(t(MATRIX), axis=1)",
    "lib.unique(t(WHOLE), axis=0).shape",
    "lib.gradient(t(ROW), axis=0)[0] if lib is rl else lib.gradient(t(ROW), axis=0)",
    "lib.unwrap(t(MATRIX * 9), axis=0)",
    "lib.take_along_axis(t(MATRIX), t(MATRIX).argsort(1), axis=1)",
    "f'{t(2.5):.1f} {t(3)}'",
    "len(t(MATRIX).argpartition(2, 1))",
]


def in_numpy(expression):
    return eval(expression, {**globals(), "lib": np, "t": np.array})


def in_relume(expression):
    return eval(expression, {**globals(), "lib": rl, "t": lambda x: rl.tensor(np.array(x))})


def assert_same(ours, theirs):
    if isinstance(theirs, list | tuple) and not isinstance(theirs, str):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12, atol=1e-12)
    else:
        assert ours == theirs


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    assert_same(in_relume(expression), in_numpy(expression))


@pytest.mark.parametrize(
    "coefficients", [[2.0, -3.0, 1.0], [1.0, 0, 4.0], [0, 1.0, 5.0, 0, 0], [3.0]]
)
def test_roots(coefficients):
    expected = np.sort_complex(np.roots(coefficients))
    ours = rl.sort_complex(rl.roots(rl.tensor(np.array(coefficients))))
    np.testing.assert_allclose(ours.numpy(), expected, atol=1e-10)


@pytest.mark.parametrize(
    "write",
    [
        lambda lib, a, mask: lib.fill_diagonal(a, 7),
        lambda lib, a, mask: lib.copyto(a, 5),
        lambda lib, a, mask: lib.copyto(a, 5, where=mask),
        lambda lib, a, mask: lib.putmask(a, mask, [1, 2, 3]),
        lambda lib, a, mask: lib.place(a, mask, [1, 2, 3]),
    ],
)
def test_writing(write):
    expected, ours = WHOLE.copy(), rl.tensor(WHOLE)
    write(np, expected, WHOLE > 2)
    write(rl, ours, rl.tensor(WHOLE > 2))
    np.testing.assert_array_equal(ours.numpy(), expected)


def test_shared_memory_is_told():
    a = rl.ones(4)
    assert rl.shares_memory(a, a[2:]) and not rl.shares_memory(a, a.clone())
    assert rl.asanyarray(a) is a and rl.array(a) is not a
    with pytest.raises(ValueError, match="cannot share"):
        rl.array([1.0], copy=False)


def test_bits_are_counted():
    numbers = np.array([0, 1, 255, -3, 2**40 + 1])
    counted = [bin(abs(int(n))).count("1") for n in numbers]
    assert rl.bitwise_count(rl.tensor(numbers)).tolist() == counted


def test_nothing_has_no_largest_element():
    with pytest.raises(ValueError, match=r"^max\(\): there are no elements"):
        rl.max(rl.zeros(0))


def test_dim_and_axis_are_one_argument():
    with pytest.raises(TypeError, match="either dim or axis"):
        rl.nanvar(rl.ones(2, 2), dim=0, axis=1)
    largest = rl.max(rl.tensor(MATRIX), axis=1, keepdims=True)
    np.testing.assert_array_equal(largest.values, MATRIX.max(1, keepdims=True))


def test_histogram_of_points_in_several_dimensions():
    points, weights = RANDOM.standard_normal((5, 4, 2)), RANDOM.uniform(size=(5, 4))
    expected, edges = np.histogramdd(
        points.reshape(-1, 2), (3, 4), ((-1, 1), (0, 2)), weights=weights.reshape(-1)
    )
    ours, own_edges = rl.histogramdd(
        rl.tensor(points), (3, 4), (-1.0, 1.0, 0.0, 2.0), weight=rl.tensor(weights)
    )
    assert_same(ours, expected)
    assert_same(own_edges, list(edges))
