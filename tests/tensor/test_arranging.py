"""Arranging, joining, taking apart and contracting, against NumPy."""

import itertools

import numpy as np
import pytest

import relume as rl

RANDOM = np.random.default_rng(7)
DTYPES = ["float32", "float64", "int64", "uint8", "float16", "bool"]


def array(*shape, dtype="float64"):
    return np.asarray(RANDOM.normal(size=shape) * 4).astype(dtype)


def layouts(values):
    """The same values row-major, transposed in memory, and with a negative stride."""
    yield rl.tensor(values)
    yield rl.tensor(np.ascontiguousarray(values.T)).permute(tuple(range(values.ndim))[::-1])
    yield rl.tensor(np.ascontiguousarray(np.flip(values))).flip(tuple(range(values.ndim)))


def check(function, reference, *arrays):
    for dtype in DTYPES:
        typed = [a.astype(dtype) for a in arrays]
        expected = reference(*typed)
        for given in zip(*(layouts(a) for a in typed), strict=True):
            result = function(*given)
            if isinstance(expected, list | tuple):
                assert len(result) == len(expected)
                pairs = zip(result, expected, strict=True)
            else:
                pairs = [(result, expected)]
            for mine, theirs in pairs:
                assert mine.shape == theirs.shape
                np.testing.assert_array_equal(mine.numpy(), theirs)


@pytest.mark.parametrize(
    ("source", "destination"), [(0, 2), (-1, 0), ((0, 1), (1, 2)), ((2, 0), (0, 1)), ((), ())]
)
def test_movedim(source, destination):
    check(
        lambda t: rl.movedim(t, source, destination),
        lambda a: np.moveaxis(a, source, destination),
        array(2, 3, 4),
    )


@pytest.mark.parametrize("k", [-5, -1, 0, 1, 2, 3, 4])
@pytest.mark.parametrize("dims", [(0, 1), (1, 0), (2, 0), (-1, 1)])
def test_rot90(k, dims):
    check(lambda t: rl.rot90(t, k, dims), lambda a: np.rot90(a, k, dims), array(2, 3, 4))


@pytest.mark.parametrize("repeats", [(2,), (2, 1), (1, 2, 3, 2), (), (0, 2)])
def test_tile(repeats):
    check(lambda t: rl.tile(t, repeats), lambda a: np.tile(a, repeats), array(2, 3))


@pytest.mark.parametrize("repeats", [0, 1, 3, [1, 0, 2]])
def test_repeat_interleave(repeats):
    given = rl.tensor(repeats) if isinstance(repeats, list) else repeats
    check(
        lambda t: rl.repeat_interleave(t, given, 1),
        lambda a: np.repeat(a, repeats, 1),
        array(2, 3, 2),
    )
    if isinstance(repeats, int):
        check(
            lambda t: rl.repeat_interleave(t, given), lambda a: np.repeat(a, repeats), array(2, 3)
        )


def test_unflatten_and_ravel():
    check(lambda t: rl.unflatten(t, 1, (3, -1)), lambda a: a.reshape(2, 3, 2, 4), array(2, 6, 4))
    check(rl.ravel, np.ravel, array(2, 3))


@pytest.mark.parametrize("name", ["fliplr", "flipud", "atleast_1d", "atleast_2d"])
def test_functions_of_one_tensor(name):
    check(getattr(rl, name), getattr(np, name), array(2, 3, 2))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_atleast(shape, dims):
    a = array(*shape)
    result = getattr(rl, f"atleast_{dims}d")(rl.tensor(a))
    np.testing.assert_array_equal(result.numpy(), getattr(np, f"atleast_{dims}d")(a))


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 2)])
def test_stacks(name, shape):
    if name == "column_stack" and len(shape) == 3:
        pytest.skip("NumPy's column_stack joins along the second dimension too")
    check(
        lambda a, b: getattr(rl, name)([a, b]),
        lambda a, b: getattr(np, name)([a, b]),
        array(*shape),
        array(*shape),
    )


@pytest.mark.parametrize("sections", [1, 2, 3, 7, [1, 3], [2, 2, 9], [-1], []])
def test_tensor_split(sections):
    check(
        lambda t: rl.tensor_split(t, sections, 1),
        lambda a: np.array_split(a, sections, 1),
        array(2, 5),
    )


def test_named_splits():
    a = array(2, 4, 6)
    for name in ("hsplit", "vsplit", "dsplit"):
        check(lambda t, f=name: getattr(rl, f)(t, 2), lambda x, f=name: getattr(np, f)(x, 2), a)
    with pytest.raises(ValueError, match="does not divide"):
        rl.hsplit(rl.ones(2, 5), 2)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
@pytest.mark.parametrize("sizes", [(3,), (2, 3), (2, 3, 4), (0, 2)])
def test_meshgrid(indexing, sizes):
    arrays = [array(n) for n in sizes]
    grids = rl.meshgrid(*map(rl.tensor, arrays), indexing=indexing)
    for mine, theirs in zip(grids, np.meshgrid(*arrays, indexing=indexing), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs)


def test_products_of_lists():
    a, b = [1, 2, 3], [4, 5]
    product = rl.cartesian_prod(rl.tensor(a), rl.tensor(b))
    assert product.tolist() == [list(pair) for pair in itertools.product(a, b)]
    for choose, replacement in (
        (itertools.combinations, False),
        (itertools.combinations_with_replacement, True),
    ):
        for r in (1, 2, 3, 4):
            mine = rl.combinations(rl.tensor(a), r, replacement)
            assert [tuple(row) for row in mine.tolist()] == list(choose(a, r))


@pytest.mark.parametrize("offset", [-2, 0, 1, 5])
def test_diagonals(offset):
    check(lambda t: rl.diag(t, offset), lambda a: np.diag(a, offset), array(3))
    check(lambda t: rl.diag(t, offset), lambda a: np.diag(a, offset), array(3, 4))
    check(lambda t: rl.diagflat(t, offset), lambda a: np.diagflat(a, offset), array(2, 2))


def test_diag_embed_puts_the_last_dimension_on_the_chosen_diagonal():
    a = array(2, 3)
    for offset, dim1, dim2 in [(0, -2, -1), (1, 0, 2), (-2, 2, 1)]:
        result = rl.diag_embed(rl.tensor(a), offset, dim1, dim2)
        diagonal = np.diagonal(result.numpy(), offset, dim1, dim2)
        np.testing.assert_array_equal(diagonal, a)
        assert np.count_nonzero(result.numpy()) == np.count_nonzero(a)


def test_replaced_parts():
    base = array(3, 4)
    base[0, 0] = np.nan
    t = rl.tensor(base)
    expected = base.copy()
    expected[:, 1] = 5
    np.testing.assert_array_equal(rl.select_scatter(t, rl.full((3,), 5.0), 1, 1).numpy(), expected)
    expected = base.copy()
    expected[0:3:2] = 5
    result = rl.slice_scatter(t, rl.full((2, 4), 5.0), 0, 0, 3, 2)
    np.testing.assert_array_equal(result.numpy(), expected)
    expected = base.copy()
    np.fill_diagonal(expected, 5)
    np.testing.assert_array_equal(rl.diagonal_scatter(t, rl.full((3,), 5.0)).numpy(), expected)


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij->ji", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->ij", (3, 3, 2)),
    ("ij->", (2, 3)),
    ("i,i", (3,), (3,)),
    ("i,j->ji", (3,), (4,)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bij,kj->bik", (5, 2, 3), (4, 3)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("...i,...i->...", (5, 2, 3), (2, 3)),
    ("i...->...i", (2, 3, 4)),
    ("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 2)),
    ("abc,cd,abe->de", (2, 3, 4), (4, 5), (2, 3, 2)),
    ("i,->i", (3,), ()),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,kj->k", (2, 3), (4, 3)),
    (" i j , j -> i ", (2, 3), (3,)),
    ("ij,jk->ik", (0, 3), (3, 2)),
    ("ij,jk->ik", (2, 0), (0, 2)),
]


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda case: case[0])
def test_einsum(case):
    equation, *shapes = case
    arrays = [array(*shape) for shape in shapes]
    result = rl.einsum(equation, *map(rl.tensor, arrays))
    expected = np.einsum(equation, *arrays)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk", [(2, 3)]),
        ("ij", [(2,)]),
        ("i->j", [(2,)]),
        ("i->ii", [(2,)]),
        ("i,i", [(2,), (3,)]),
        ("ii", [(2, 3)]),
        ("i.j", [(2, 3)]),
        ("i1", [(2, 3)]),
        ("", []),
    ],
)
def test_einsum_refuses(equation, shapes):
    with pytest.raises(ValueError, match="einsum"):
        rl.einsum(equation, *[rl.ones(shape) for shape in shapes])


@pytest.mark.parametrize("dims", [0, 1, 2, ([1, 2], [1, 0]), ([-1], [0]), (2, 0)])
def test_tensordot(dims):
    a = array(2, 3, 4)
    b = array(4, 3, 5) if dims != 2 else array(3, 4, 5)
    result = rl.tensordot(rl.tensor(a), rl.tensor(b), dims)
    np.testing.assert_allclose(result.numpy(), np.tensordot(a, b, dims), atol=1e-12)


def test_tensordot_repeats_dimensions_of_size_1():
    a, b = rl.randn(2, 1, 3, dtype=rl.float64), rl.randn(4, 2, 3, dtype=rl.float64)
    result = rl.tensordot(a, b, dims=([1, 2], [0, 2]))
    expected = np.einsum("axk,bck->ac", a.numpy(), b.numpy())
    np.testing.assert_allclose(result.numpy(), expected)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("kron", [(2, 3), (4, 2)]),
        ("kron", [(2,), (2, 3, 2)]),
        ("kron", [(), (2, 2)]),
        ("inner", [(2, 3), (4, 3)]),
        ("inner", [(3,), ()]),
        ("cross", [(4, 3), (4, 3)]),
        ("cross", [(3,), (2, 3)]),
    ],
)
def test_products(name, shapes):
    arrays = [array(*shape) for shape in shapes]
    result = getattr(rl, name)(*map(rl.tensor, arrays))
    np.testing.assert_allclose(result.numpy(), getattr(np, name)(*arrays), atol=1e-12)


def test_chain_matmul_and_addbmm():
    matrices = [array(2, 30), array(30, 4), array(4, 20), array(20, 3)]
    result = rl.chain_matmul(*map(rl.tensor, matrices))
    np.testing.assert_allclose(result.numpy(), np.linalg.multi_dot(matrices), atol=1e-9)
    x, a, b = array(2, 4), array(3, 2, 5), array(3, 5, 4)
    result = rl.addbmm(*map(rl.tensor, (x, a, b)), beta=2, alpha=-1)
    np.testing.assert_allclose(result.numpy(), 2 * x - (a @ b).sum(0), atol=1e-12)
    x[:] = np.nan
    result = rl.addbmm(*map(rl.tensor, (x, a, b)), beta=0)
    np.testing.assert_allclose(result.numpy(), (a @ b).sum(0), atol=1e-12)


def test_creation():
    np.testing.assert_allclose(rl.logspace(-1, 2, 5).numpy(), np.logspace(-1, 2, 5), rtol=1e-6)
    powers = rl.logspace(0, 3, 4, base=2, dtype=rl.float64)
    assert powers.tolist() == [1, 2, 4, 8]
    x = array(4)
    for count, increasing in [(None, False), (3, True), (0, False)]:
        result = rl.vander(rl.tensor(x), count, increasing)
        np.testing.assert_allclose(result.numpy(), np.vander(x, count, increasing))
    for rows, columns, offset in [(3, 3, 0), (2, 4, 1), (4, 2, -1), (0, 3, 0), (3, 3, -5)]:
        for name in ("tril_indices", "triu_indices"):
            mine = getattr(rl, name)(rows, columns, offset)
            theirs = getattr(np, name)(rows, offset, columns)
            np.testing.assert_array_equal(mine.numpy(), np.stack(theirs))


def test_random_functions():
    rl.manual_seed(3)
    drawn = rl.randint(2, 5, (1000,))
    assert sorted(set(drawn.tolist())) == [2, 3, 4]
    assert rl.randint(4, (2, 3), dtype=rl.uint8).dtype == rl.uint8
    assert rl.randint_like(rl.zeros(3), 1).tolist() == [0, 0, 0]
    values = rl.normal(rl.tensor([0.0, 50.0]), rl.tensor([[1.0], [0.0]]))
    assert values.shape == (2, 2)
    assert values[1].tolist() == [0, 50]
    assert rl.normal(5.0, 0.0, (2,)).tolist() == [5, 5]
    with pytest.raises(ValueError, match="less than high"):
        rl.randint(3, 3, (1,))
    with pytest.raises(TypeError, match="size"):
        rl.normal(0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: rl.movedim(rl.ones(2, 3), (0, 0), (0, 1)), ValueError),
        (lambda: rl.movedim(rl.ones(2, 3), 0, 5), IndexError),
        (lambda: rl.rot90(rl.ones(2), 1), IndexError),
        (lambda: rl.rot90(rl.ones(2, 2), 1, (0, 0)), ValueError),
        (lambda: rl.unflatten(rl.ones(6), 0, (4, 2)), ValueError),
        (lambda: rl.repeat_interleave(rl.ones(3), rl.tensor([1, 2])), ValueError),
        (lambda: rl.repeat_interleave(rl.ones(3), -1), ValueError),
        (lambda: rl.diag(rl.ones(2, 2, 2)), ValueError),
        (lambda: rl.diag_embed(rl.ones(2), 0, 1, 1), ValueError),
        (lambda: rl.meshgrid(rl.ones(2, 2)), ValueError),
        (lambda: rl.meshgrid(rl.ones(2), indexing="yx"), ValueError),
        (lambda: rl.hstack([]), ValueError),
        (lambda: rl.tensor_split(rl.ones(3), 0), ValueError),
        (lambda: rl.cross(rl.ones(2), rl.ones(2)), ValueError),
        (lambda: rl.tensordot(rl.ones(2, 3), rl.ones(2, 3), 1), ValueError),
        (lambda: rl.select_scatter(rl.ones(2, 3), rl.ones(2), 0, 0), ValueError),
        (lambda: rl.tril_indices(-1, 2), ValueError),
        (lambda: rl.broadcast_shapes((2,), (3,)), ValueError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error):
        call()


def test_tensor_split_by_the_name_of_what_it_is_given():
    t, a = rl.arange(7), np.arange(7)
    for parts, where in (
        (t.tensor_split(sections=3), 3),
        (rl.tensor_split(t, indices=[1, 4]), [1, 4]),
    ):
        expected = np.array_split(a, where)
        assert [part.tolist() for part in parts] == [part.tolist() for part in expected]
    with pytest.raises(TypeError, match="one of"):
        rl.tensor_split(t)
    with pytest.raises(TypeError, match="one of"):
        rl.tensor_split(t, 2, indices=[1])
