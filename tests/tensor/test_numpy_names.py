"""Functions that relume has by NumPy's names, against NumPy."""

import numpy as np
import pytest

import relume as rl

RANDOM = np.random.default_rng(11)
CUBE = RANDOM.standard_normal((3, 4, 5))
MATRIX = RANDOM.integers(-5, 6, (4, 6))
ROW = RANDOM.integers(0, 9, 7)
POINTS = RANDOM.standard_normal((50, 2))

# A name, and what the function of that name is called with.
CALLS = [
    ("append", (MATRIX, MATRIX[:2], 0)),
    ("append", (MATRIX, ROW)),
    ("append", (CUBE, CUBE, -1)),
    ("apply_over_axes", (None, CUBE, (0, 2))),
    ("around", (CUBE,)),
    ("array_split", (MATRIX, 4, 1)),
    ("array_split", (MATRIX, [1, 3])),
    ("broadcast_arrays", (MATRIX[:1], MATRIX[:, :1])),
    ("choose", (ROW % 3, [ROW, ROW * 10, 7])),
    ("compress", ([True, False, True], CUBE, 0)),
    ("compress", (ROW > 3, ROW)),
    ("copy", (MATRIX,)),
    ("delete", (MATRIX, 1, 0)),
    ("delete", (MATRIX, [0, -1, 0], 1)),
    ("delete", (MATRIX, slice(None, None, 2), 1)),
    ("delete", (ROW, ROW > 4)),
    ("delete", (CUBE, 3)),
    ("diag_indices", (4,)),
    ("diag_indices", (2, 3)),
    ("digitize", (CUBE, [-1.0, 0.0, 0.5])),
    ("digitize", (ROW, [1, 3, 5], True)),
    ("digitize", (ROW, [5, 3, 1])),
    ("digitize", (ROW, [5, 3, 1], True)),
    ("divmod", (MATRIX, 3)),
    ("divmod", (CUBE, -0.7)),
    ("ediff1d", (MATRIX,)),
    ("ediff1d", (ROW, [1, 2], 0)),
    ("expand_dims", (MATRIX, 1)),
    ("expand_dims", (MATRIX, (0, -1))),
    ("expand_dims", (MATRIX, (-1, 1))),
    ("extract", (MATRIX > 0, MATRIX)),
    ("histogram2d", (POINTS[:, 0], POINTS[:, 1])),
    ("histogram2d", (POINTS[:, 0], POINTS[:, 1], (3, 4), ((-1.0, 1.0), (0.0, 2.0)))),
    ("histogram2d", (POINTS[:, 0], POINTS[:, 1], [[-2.0, 0.0, 1.0], [0.0, 1.0]])),
    ("histogram2d", (POINTS[:, 0], POINTS[:, 1], 5, None, False, POINTS[:, 0] ** 2)),
    ("histogram2d", (POINTS[:, 0], POINTS[:, 1], [2, [-1.0, 0.0, 3.0]], None, True)),
    ("identity", (3,)),
    ("indices", ((2, 3),)),
    ("indices", ((4,),)),
    ("insert", (ROW, 2, 5)),
    ("insert", (ROW, 2, [5, 6])),
    ("insert", (ROW, [0, 7, 2], [5, 6, 8])),
    ("insert", (ROW, -1, 4)),
    ("insert", (MATRIX, 1, 9, 0)),
    ("insert", (MATRIX, 1, [1, 2, 3, 4], 1)),
    ("insert", (MATRIX, [1], [[1], [2], [3], [4]], 1)),
    ("insert", (MATRIX, slice(0, 4, 2), 7, 1)),
    ("iscomplex", (np.array([1j, 2.0]),)),
    ("iscomplex", (ROW,)),
    ("ix_", ([0, 2], [1, 2, 0])),
    ("lexsort", ((MATRIX[0], MATRIX[1], MATRIX[2] % 2),)),
    ("lexsort", ((MATRIX, MATRIX % 2),)),
    ("matrix_transpose", (CUBE,)),
    ("matvec", (CUBE, CUBE[0, 0])),
    ("mod", (MATRIX, 3)),
    ("modf", (CUBE * 3,)),
    ("permute_dims", (CUBE,)),
    ("permute_dims", (CUBE, (1, 2, 0))),
    ("piecewise", (CUBE, [CUBE < -1, CUBE > 0], [np.negative, 2.0, -1.0])),
    ("ptp", (CUBE,)),
    ("ptp", (CUBE, 1)),
    ("ptp", (CUBE, (0, 2))),
    ("resize", (ROW, (3, 5))),
    ("resize", (ROW, 3)),
    ("rollaxis", (CUBE, 2)),
    ("rollaxis", (CUBE, 0, 3)),
    ("rollaxis", (CUBE, -1, 1)),
    ("take_along_axis", (CUBE, CUBE.argsort(1), 1)),
    ("take_along_axis", (ROW, np.array([1, -1]), None)),
    ("tri", (3, 4, 1)),
    ("trim_zeros", (np.array([0, 0, 3, 0, 1, 0]),)),
    ("trim_zeros", (np.array([0, 0, 3, 0, 1, 0]), "b")),
    ("unstack", (CUBE,)),
    ("vecdot", (CUBE, CUBE[0])),
    ("vecdot", (CUBE + 1j, CUBE - 2j)),
    ("vecmat", (CUBE[0, :, 0], CUBE)),
]


def tensors(value):
    if isinstance(value, np.ndarray):
        return rl.tensor(value)
    if isinstance(value, list | tuple) and any(isinstance(x, np.ndarray) for x in value):
        return type(value)(tensors(x) for x in value)
    return value


def assert_same(actual, expected):
    if isinstance(expected, list | tuple):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_same(one, other)
        return
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name, arguments", CALLS, ids=[name for name, _ in CALLS])
def test_function_gives_what_numpy_gives(name, arguments):
    reference = getattr(np, name, None)
    if reference is None:
        pytest.skip("this NumPy is older than the function")
    if name == "apply_over_axes":
        expected = reference(np.sum, *arguments[1:])
        arguments = (rl.sum, *arguments[1:])
    else:
        expected = reference(*arguments)
    assert_same(getattr(rl, name)(*map(tensors, arguments)), expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    "function", [lambda v: v.sum(), lambda v: v[:2], lambda v: v[:2, None] * v[None, :3]]
)
def test_a_function_along_an_axis(axis, function):
    expected = np.apply_along_axis(function, axis, CUBE)
    assert_same(rl.apply_along_axis(function, axis, rl.tensor(CUBE)), expected)


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_totals_with_their_start(name, start):
    totals = np.cumsum(CUBE, 1) if name == "cumulative_sum" else np.cumprod(CUBE, 1)
    first = np.full((3, 1, 5), float(name == "cumulative_prod"))
    expected = np.concatenate([first, totals], 1) if start else totals
    assert_same(getattr(rl, name)(rl.tensor(CUBE), axis=1, include_initial=bool(start)), expected)


@pytest.mark.parametrize("kth", [0, 3, -1, (1, 2)])
def test_partitions_have_the_kth_element_in_its_place(kth):
    ordered, chosen = np.sort(MATRIX, 1), rl.argpartition(rl.tensor(MATRIX), kth, 1)
    for place in (kth,) if isinstance(kth, int) else kth:
        parted = rl.partition(rl.tensor(MATRIX), kth, 1).numpy()
        np.testing.assert_array_equal(parted[:, place], ordered[:, place])
        taken = np.take_along_axis(MATRIX, chosen.numpy(), 1)
        np.testing.assert_array_equal(taken[:, place], ordered[:, place])


def test_values_put_along_an_axis():
    ours, theirs = rl.tensor(CUBE), CUBE.copy()
    at = CUBE.argmax(1, keepdims=True)
    rl.put_along_axis(ours, rl.tensor(at), 0.5, 1)
    np.put_along_axis(theirs, at, 0.5, 1)
    assert_same(ours, theirs)


def test_points_in_cells_of_three_dimensions():
    points = RANDOM.standard_normal((40, 3))
    counts, edges = rl.histogramdd(rl.tensor(points), (2, 3, 4))
    expected, limits = np.histogramdd(points, (2, 3, 4))
    assert_same(counts, expected)
    assert_same(edges, list(limits))


def test_a_function_of_indices():
    ours = rl.fromfunction(lambda i, j: i * 10 + j, (3, 4))
    np.testing.assert_array_equal(ours, np.fromfunction(lambda i, j: i * 10 + j, (3, 4)))


@pytest.mark.parametrize(
    "arguments, numbers",
    [
        ((1, 4), [1, 2, 3, 4]),
        ((0, 1, 0.25), [0, 0.25, 0.5, 0.75, 1]),
        ((3, -3, -2), [3, 1, -1, -3]),
        ((2, 2), [2]),
    ],
)
def test_a_range_holds_its_end(arguments, numbers):
    assert rl.range(*arguments).tolist() == numbers


def test_integers_are_counted_between_edges_that_are_none():
    points = np.arange(4)
    counts, *edges = rl.histogram2d(rl.tensor(points), rl.tensor(points), 2)
    expected, *limits = np.histogram2d(points, points, 2)
    assert_same(counts, expected)
    assert_same(edges, limits)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: rl.insert(x, 1, 3.0, 0),
        lambda x: rl.delete(x, 1, 1),
        lambda x: rl.append(x, rl.ones(1, 3, dtype=rl.float64), 0),
        lambda x: rl.choose(rl.tensor([[0, 1, 0]]), [x, x * x]),
        lambda x: rl.ptp(x, 1),
        lambda x: rl.apply_along_axis(lambda row: row * row[0], 1, x),
        lambda x: rl.vecdot(x, x),
        lambda x: rl.piecewise(x, [x > 0], [lambda v: v * v, lambda v: v.exp()]),
        lambda x: rl.take_along_axis(x, rl.tensor([[0, 1, 1]]), 0),
    ],
)
def test_gradients_flow_through_numpy_names(function):
    x = rl.tensor(RANDOM.standard_normal((2, 3)), requires_grad=True)
    assert rl.autograd.gradcheck(function, (x,))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: rl.expand_dims(x, 4), IndexError),
        (lambda x: rl.expand_dims(x, (0, 0)), ValueError),
        (lambda x: rl.delete(x, 3, 0), IndexError),
        (lambda x: rl.insert(x, 5, 0, 0), IndexError),
        (lambda x: rl.append(x, x, 2), IndexError),
        (lambda x: rl.partition(x, 3), ValueError),
        (lambda x: rl.piecewise(x, [x > 0], []), ValueError),
        (lambda x: rl.cumulative_sum(x), ValueError),
        (lambda x: rl.histogramdd(x, (2, 2)), ValueError),
    ],
)
def test_wrong_arguments_are_refused(call, error):
    with pytest.raises(error):
        call(rl.zeros(2, 3))
