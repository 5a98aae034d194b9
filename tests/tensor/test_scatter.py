"""Writing at indices, against plain loops over NumPy arrays; in-place forms."""

import numpy as np
import pytest

import relume as rl

RANDOM = np.random.default_rng(11)
DTYPES = ["float32", "float64", "int64", "int16", "uint8", "float16"]


def values(*shape, dtype="float64"):
    return RANDOM.integers(0, 9, shape).astype(dtype)


def scattered(base, dim, index, source, write):
    """write(old, new) at each place that the index names, in row-major order."""
    result = base.copy()
    for place in np.ndindex(*index.shape):
        target = list(place)
        target[dim] = index[place]
        new = source[place] if isinstance(source, np.ndarray) else source
        result[tuple(target)] = write(result[tuple(target)], new)
    return result


CASES = [((4,), 0, (6,)), ((3, 4), 0, (5, 3)), ((3, 4), 1, (2, 6)), ((2, 3, 4), 1, (2, 5, 3))]


@pytest.mark.parametrize(("shape", "dim", "index_shape"), CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scatter_and_scatter_add(shape, dim, index_shape, dtype):
    base, source = values(*shape, dtype=dtype), values(*index_shape, dtype=dtype)
    index = RANDOM.integers(-shape[dim], shape[dim], index_shape)
    t, i, s = rl.tensor(base), rl.tensor(index), rl.tensor(source)
    for name, given, write in [
        ("scatter", (s, source), lambda old, new: new),
        ("scatter", (3, 3), lambda old, new: new),
        ("scatter_add", (s, source), lambda old, new: old + new),
    ]:
        mine, theirs = given
        expected = scattered(base, dim, index, theirs, write)
        np.testing.assert_array_equal(getattr(rl, name)(t, dim, i, mine).numpy(), expected)
        changed = rl.tensor(np.asfortranarray(base))
        assert getattr(changed, f"{name}_")(dim, i, mine) is changed
        np.testing.assert_array_equal(changed.numpy(), expected)
    np.testing.assert_array_equal(t.numpy(), base)


REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "mean": np.mean,
    "amax": np.max,
    "amin": np.min,
}


@pytest.mark.parametrize("how", REDUCTIONS)
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(("shape", "dim", "index_shape"), CASES)
def test_scatter_reduce(how, include_self, shape, dim, index_shape):
    base, source = values(*shape), values(*index_shape)
    index = RANDOM.integers(0, shape[dim], index_shape)
    arrived = {}
    for place in np.ndindex(*index_shape):
        target = list(place)
        target[dim] = index[place]
        arrived.setdefault(tuple(target), []).append(source[place])
    expected = base.copy()
    for target, new in arrived.items():
        expected[target] = REDUCTIONS[how]([*([base[target]] if include_self else []), *new])
    arguments = (dim, rl.tensor(index), rl.tensor(source), how)
    result = rl.scatter_reduce(rl.tensor(base), *arguments, include_self=include_self)
    np.testing.assert_allclose(result.numpy(), expected)
    changed = rl.tensor(base)
    changed.scatter_reduce_(*arguments, include_self=include_self)
    np.testing.assert_allclose(changed.numpy(), expected)


def test_extremes_keep_nan():
    x = rl.tensor([1.0, 2.0])
    for how in ("amax", "amin"):
        result = x.scatter_reduce(0, rl.tensor([0, 0]), rl.tensor([float("nan"), 5.0]), how)
        assert np.isnan(result[0].item())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_writes_at_a_vector_of_indices(dtype, dim):
    base = values(3, 4, 5, dtype=dtype)
    index = np.array([2, 0, -1, 2])
    row = [3, 4, 5]
    row[dim] = 4
    source = values(*row, dtype=dtype)
    place = [slice(None)] * 3
    added, copied, filled = base.copy(), base.copy(), base.copy()
    for k, i in enumerate(index):
        place[dim] = i
        at = tuple(place)
        piece = np.take(source, k, dim)
        added[at] = (added[at] + piece).astype(dtype)
        copied[at] = piece
        filled[at] = 7
    t, i, s = rl.tensor(base), rl.tensor(index), rl.tensor(source)
    for name, argument, expected in [
        ("index_add", s, added),
        ("index_copy", s, copied),
        ("index_fill", 7, filled),
    ]:
        np.testing.assert_array_equal(getattr(rl, name)(t, dim, i, argument).numpy(), expected)
        changed = rl.tensor(base)
        getattr(changed, f"{name}_")(dim, i, argument)
        np.testing.assert_array_equal(changed.numpy(), expected)
    reduced = rl.index_reduce(t, dim, i, s, "amax", include_self=False)
    expected = base.copy()
    for target in {int(k) % base.shape[dim] for k in index}:
        place[dim] = target
        chosen = [
            np.take(source, k, dim) for k, v in enumerate(index) if v % base.shape[dim] == target
        ]
        expected[tuple(place)] = np.max(chosen, 0)
    np.testing.assert_array_equal(reduced.numpy(), expected)


def test_put_and_masked_scatter():
    base = values(3, 4)
    t = rl.tensor(base)
    expected = base.copy()
    expected.reshape(-1)[[5, 0, 11]] = [1, 2, 3]
    places, new = rl.tensor([5, 0, -1]), rl.tensor([1.0, 2.0, 3.0], dtype=rl.float64)
    np.testing.assert_array_equal(rl.put(t, places, new).numpy(), expected)
    added = rl.put(t, rl.tensor([5, 5, 0]), new, accumulate=True).numpy() - base
    assert added.reshape(-1)[[5, 0]].tolist() == [3, 3]
    mask = RANDOM.uniform(size=(3, 4)) > 0.5
    source = values(12)
    expected = base.copy()
    expected[mask] = source[: mask.sum()]
    result = rl.masked_scatter(t, rl.tensor(mask), rl.tensor(source))
    np.testing.assert_array_equal(result.numpy(), expected)
    t.masked_scatter_(rl.tensor(mask), rl.tensor(source))
    np.testing.assert_array_equal(t.numpy(), expected)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_along_a_dimension(dim):
    a = values(3, 4)
    index = np.argsort(a, dim)
    taken = rl.take_along_dim(rl.tensor(a), rl.tensor(index), dim)
    np.testing.assert_array_equal(taken.numpy(), np.take_along_axis(a, index, dim))
    one = index.take([0], dim)
    taken = rl.take_along_dim(rl.tensor(a), rl.tensor(one), dim)
    np.testing.assert_array_equal(taken.numpy(), np.take_along_axis(a, one, dim))
    expected = a.copy()
    np.put_along_axis(expected, one, 50, dim)
    result = rl.put_along_dim(rl.tensor(a), rl.tensor(one), 50, dim)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_places_that_are_not_0():
    a = values(3, 4) % 3
    np.testing.assert_array_equal(rl.argwhere(rl.tensor(a)).numpy(), np.argwhere(a))
    for mine, theirs in zip(rl.tensor(a).nonzero(as_tuple=True), np.nonzero(a), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs)
    for mine, theirs in zip(rl.where(rl.tensor(a) > 0), np.where(a > 0), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs)


def test_an_argument_may_be_what_is_written():
    x = rl.tensor([1.0, 2.0, 3.0])
    x.scatter_add_(0, rl.tensor([0, 1, 2]), x)
    assert x.tolist() == [2, 4, 6]
    i = rl.tensor([2, 0, 1])
    i.scatter_(0, i, rl.tensor([7, 8, 9]))
    assert i.tolist() == [8, 9, 7]
    y = rl.arange(6.0)
    y[1:].index_copy_(0, rl.arange(5), y[:5])
    assert y.tolist() == [0, 0, 1, 2, 3, 4]


def test_empty_indices_change_nothing():
    x, nothing = rl.ones(2, 3), rl.empty(0, dtype=rl.int64)
    assert rl.index_add(x, 0, nothing, rl.empty(0, 3)).tolist() == x.tolist()
    assert rl.index_fill(x, 1, nothing, 5).tolist() == x.tolist()
    assert rl.scatter(x, 0, rl.empty(0, 3, dtype=rl.int64), 5).tolist() == x.tolist()
    assert rl.put(x, nothing, rl.empty(0)).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x, i: x.scatter(0, i + 3, 1.0), IndexError),
        (lambda x, i: x.scatter_(0, i - 9, 1.0), IndexError),
        (lambda x, i: x.scatter(0, i.float(), 1.0), TypeError),
        (lambda x, i: x.scatter(0, rl.tensor([[0]]), 1.0), ValueError),
        (lambda x, i: x.scatter_add(0, i, rl.ones(1)), ValueError),
        (lambda x, i: x.scatter_reduce(0, i, rl.ones(2), "most"), ValueError),
        (lambda x, i: x.index_add(0, i, rl.ones(3)), ValueError),
        (lambda x, i: x.index_copy(0, i + 9, rl.ones(2)), IndexError),
        (lambda x, i: x.index_fill(0, rl.tensor([[0]]), 1.0), ValueError),
        (lambda x, i: x.index_fill(0, i, rl.ones(2)), ValueError),
        (lambda x, i: x.put(i, rl.ones(3)), ValueError),
        (lambda x, i: x.masked_scatter(rl.tensor([True, True, True]), rl.ones(2)), ValueError),
        (lambda x, i: x.masked_scatter(i, rl.ones(2)), TypeError),
        (lambda x, i: x.expand(2, 3).scatter_(1, rl.tensor([[0]]), 1.0), ValueError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error):
        call(rl.zeros(3), rl.tensor([0, 2]))


def test_a_vector_of_indices_repeats_the_element_of_a_0d_tensor():
    x = rl.tensor(3.0, requires_grad=True)
    row = rl.gather(x, 0, rl.tensor([0, -1, 0]))
    row.backward(rl.tensor([1.0, 2.0, 4.0]))
    assert row.tolist() == [3.0, 3.0, 3.0]
    assert x.grad.tolist() == 7.0
    assert rl.gather(rl.tensor([5.0, 6.0]), 0, rl.tensor(1)).tolist() == 6.0


def test_masked_scatter_repeats_what_is_smaller_than_the_mask():
    x = rl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    source = rl.tensor([7.0, 8.0, 9.0], requires_grad=True)
    mask = rl.tensor([[True, False, True], [False, False, True]])
    wide = x.masked_scatter(mask, source)
    wide.backward(rl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert wide.tolist() == [[7.0, 2.0, 8.0], [1.0, 2.0, 9.0]]
    assert x.grad.tolist() == [4.0, 7.0, 0.0]
    assert source.grad.tolist() == [1.0, 3.0, 6.0]
    with pytest.raises(ValueError, match="masked_scatter_"):
        rl.zeros(3).masked_scatter_(mask, rl.ones(3))
