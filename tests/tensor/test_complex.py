"""complex64 and complex128 tensors."""

import cmath
import contextlib
import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relume as rl

random = np.random.default_rng(7)


def _numbers(*shape, dtype=np.complex128):
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)


# ---- making, reading, printing ----


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1j, 2], rl.complex64),
        (1 + 2j, rl.complex64),
        ([[True, 1j], [0.5, 2]], rl.complex64),
        (np.array([1j]), rl.complex128),
        (np.complex64(1j), rl.complex64),
        ([np.complex128(1j)], rl.complex64),
    ],
)
def test_a_tensor_of_complex_numbers(data, dtype):
    made = rl.tensor(data)
    assert made.dtype == dtype
    np.testing.assert_array_equal(made.numpy(), np.array(data).astype(dtype.numpy))


def test_complex_numbers_fit_into_no_real_type():
    with pytest.raises(TypeError, match="complex"):
        rl.tensor([1j], dtype=rl.float32)


def test_back_to_python():
    z = rl.tensor([[1 + 2j, -3j]])
    assert z.tolist() == [[1 + 2j, -3j]]
    assert z[0, 0].item() == 1 + 2j
    assert complex(z[0, 0]) == 1 + 2j and complex(rl.tensor(2)) == 2
    assert cmath.isclose(cmath.exp(z[0, 1]), cmath.exp(-3j))
    assert bool(z[0, 1]) and not bool(rl.tensor(0j))
    for convert in (int, float):
        with pytest.raises(TypeError, match="complex"):
            convert(z[0, 0])
    with pytest.raises(IndexError):
        rl.zeros(3)[rl.tensor([1j])]


def test_printing():
    assert repr(rl.tensor([1 + 2j])) == "tensor([1.+2.j], dtype=complex64)"


def test_numpy_shares_memory_both_ways():
    array = _numbers(3, 4)
    z = rl.from_numpy(array[::2, ::-1])
    np.testing.assert_array_equal(z.numpy(), array[::2, ::-1])
    z[0, 0] = 5j
    assert array[0, 3] == 5j
    assert np.asarray(memoryview(z)).dtype == np.complex128


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_dlpack_both_ways(dtype):
    array = _numbers(2, 3, dtype=dtype)
    np.testing.assert_array_equal(np.from_dlpack(rl.from_dlpack(array)), array)


def test_pickle_and_copy():
    z = rl.tensor(_numbers(2, 3))
    for other in (pickle.loads(pickle.dumps(z)), copy.deepcopy(z)):
        assert other.dtype == rl.complex128
        np.testing.assert_array_equal(other.numpy(), z.numpy())


# ---- types ----


def test_types_of_results():
    for a in (rl.bool_, rl.int64, rl.float16, rl.bfloat16, rl.float32, rl.complex64):
        assert (rl.ones(1, dtype=a) * rl.ones(1, dtype=rl.complex64)).dtype == rl.complex64
    assert (rl.ones(1, dtype=rl.float64) * rl.ones(1, dtype=rl.complex64)).dtype == rl.complex128
    assert (rl.ones(1, dtype=rl.float64) * 1j).dtype == rl.complex128
    assert (rl.ones(1) * 1j).dtype == rl.complex64
    assert (rl.arange(2) + 1j).dtype == rl.complex64
    assert (rl.ones(1, dtype=rl.complex128) * 1j).dtype == rl.complex128
    assert (rl.ones(1, dtype=rl.complex64) * 2.5).dtype == rl.complex64
    assert rl.full((2,), 1j).dtype == rl.complex64
    assert rl.complex64.is_complex and not rl.complex64.is_floating_point
    assert rl.is_complex(rl.tensor(1j)) and not rl.is_floating_point(rl.tensor(1j))


@pytest.mark.parametrize("other", ["bool", "uint8", "int64", "float16", "float32", "float64"])
def test_casts(other):
    z = rl.tensor([1.5 + 2j, 0, 3j])
    np.testing.assert_array_equal(
        z.to(other).numpy(),
        z.numpy().astype(other) if other == "bool" else z.numpy().real.astype(other),
    )
    plain = rl.tensor([1, 0, 1], dtype=other)
    np.testing.assert_array_equal(plain.to(rl.complex128).numpy(), [1, 0, 1])


# ---- arithmetic ----

UNARY = {
    name: getattr(np, name)
    for name in """sqrt exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh
    conj angle square reciprocal isnan isinf isfinite logical_not""".split()
}
UNARY |= {"neg": np.negative, "abs": np.abs, "asin": np.arcsin, "acos": np.arccos}
UNARY |= {"atan": np.arctan, "sign": lambda z: z / np.abs(z)}
UNARY |= {"sigmoid": lambda z: 1 / (1 + np.exp(-z)), "rsqrt": lambda z: 1 / np.sqrt(z)}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name, dtype):
    z = _numbers(3, 5, dtype=dtype)[:, ::2]
    result = getattr(rl, name)(rl.from_numpy(z)).numpy()
    expected = UNARY[name](z)
    assert result.dtype == expected.dtype
    tolerance = 1e-5 if dtype == np.complex64 else 1e-12
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power}
BINARY |= {"eq": np.equal, "ne": np.not_equal, "logical_and": np.logical_and}


@pytest.mark.parametrize("name", BINARY)
@given(
    a=st.complex_numbers(max_magnitude=20, allow_nan=False),
    b=st.complex_numbers(min_magnitude=0.1, max_magnitude=5, allow_nan=False),
)
@settings(max_examples=40, deadline=None)
def test_functions_of_two_numbers(name, a, b):
    first, second = np.array([a, b, 0]), np.array([b, b, b])
    with np.errstate(all="ignore"):
        expected = BINARY[name](first, second)
    result = getattr(rl, name)(rl.tensor(first), rl.tensor(second)).numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
    with_number = getattr(rl, name)(rl.tensor(first), b).numpy()
    np.testing.assert_allclose(with_number, expected, rtol=1e-9, atol=1e-9)


def test_operators_with_numbers():
    x = np.array([1.0, 2.0])
    t = rl.tensor(x)
    for function in (
        lambda v: v + 1j,
        lambda v: 1j - v,
        lambda v: v * (2 - 1j),
        lambda v: 1j / v,
        lambda v: v**1j,
        lambda v: (1 + 1j) ** v,
        lambda v: v == 1j,
        lambda v: v * np.complex64(2j),
    ):
        np.testing.assert_allclose(function(t).numpy(), function(x), rtol=1e-6)


def test_in_place_arithmetic_keeps_the_type():
    z = rl.tensor([1j, 2j])
    z += 1
    z *= 2j
    assert z.tolist() == [-2 + 2j, -4 + 2j]
    real = rl.ones(2)
    with pytest.raises(TypeError, match="complex64"):
        real *= 1j


def test_reductions():
    z = _numbers(3, 4, 5)
    t = rl.from_numpy(z)
    for dims in (None, 0, 1, 2, (0, 2)):
        for name in ("sum", "mean", "prod", "any", "all"):
            dim = () if dims is None else (dims,)
            np.testing.assert_allclose(
                getattr(t, name)(*dim).numpy(), getattr(z, name)(*dim), rtol=1e-10
            )
    np.testing.assert_allclose(t.cumsum(1).numpy(), z.cumsum(1))
    large = _numbers(100_003)
    np.testing.assert_allclose(rl.from_numpy(large).sum().item(), large.sum(), rtol=1e-10)


@pytest.mark.parametrize(
    ("first", "second"),
    [((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((5, 1, 2, 3), (2, 3, 4))],
)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_of_matrices(first, second, dtype):
    a, b = _numbers(*first, dtype=dtype), _numbers(*second, dtype=dtype)
    result = (rl.from_numpy(a) @ rl.from_numpy(b)).numpy()
    assert result.dtype == dtype
    np.testing.assert_allclose(result, a @ b, rtol=1e-4 if dtype == np.complex64 else 1e-10)
    np.testing.assert_allclose((rl.from_numpy(a) @ rl.from_numpy(b.real)).numpy(), a @ b.real, 1e-4)


def test_addmm_and_adjoint():
    a, b, c = _numbers(3, 3), _numbers(3, 4), _numbers(4, 3)
    result = rl.addmm(*(rl.from_numpy(x) for x in (a, b, c)), beta=0.5, alpha=2)
    np.testing.assert_allclose(result.numpy(), 0.5 * a + 2 * (b @ c))
    np.testing.assert_array_equal(rl.from_numpy(b).mH.numpy(), b.conj().T)


# ---- parts ----


def test_parts_are_views():
    z = rl.tensor([1 + 2j, 3 - 1j])
    z.real[0] = 7
    z.imag[1] = 9
    assert z.tolist() == [7 + 2j, 3 + 9j]
    parts = z.view_as_real()
    assert parts.tolist() == [[7, 2], [3, 9]]
    assert rl.view_as_complex(parts).data_ptr() == z.data_ptr()
    with pytest.raises(TypeError, match="imag"):
        _ = rl.ones(2).imag
    with pytest.raises(ValueError, match="size must be 2"):
        rl.view_as_complex(rl.ones(3))
    with pytest.raises(ValueError, match="contiguous"):
        rl.view_as_complex(rl.ones(2, 5).T)


def test_complex_and_polar():
    x, y = random.normal(size=(2, 3)), random.normal(size=3)
    a, b = rl.from_numpy(x), rl.from_numpy(y)
    np.testing.assert_array_equal(rl.complex(a, b).numpy(), x + 1j * y)
    np.testing.assert_allclose(rl.polar(a, b).numpy(), x * np.exp(1j * y))
    assert rl.complex(rl.tensor(np.inf), rl.tensor(0.0)).item() == complex(np.inf, 0)
    with pytest.raises(TypeError, match="real"):
        rl.complex(rl.tensor(1j), b)


# ---- moving elements ----


def test_moving_elements():
    z = _numbers(4, 5)
    t = rl.from_numpy(z)
    index = rl.tensor([2, 0, 2])
    np.testing.assert_array_equal(t[index].numpy(), z[[2, 0, 2]])
    np.testing.assert_array_equal(t[:, index].numpy(), z[:, [2, 0, 2]])
    np.testing.assert_array_equal(t.T.contiguous().numpy(), z.T)
    np.testing.assert_array_equal(rl.cat([t, t.real]).numpy(), np.concatenate([z, z.real]))
    np.testing.assert_array_equal(rl.stack([t, t]).numpy(), np.stack([z, z]))
    np.testing.assert_array_equal(t.roll(2, 1).numpy(), np.roll(z, 2, 1))
    np.testing.assert_array_equal(t.tril().numpy(), np.tril(z))
    np.testing.assert_array_equal(t[t.real > 0].numpy(), z[z.real > 0])
    np.testing.assert_array_equal(t.index_add(0, index, t[:3]).numpy()[2], z[2] + z[0] + z[2])
    np.testing.assert_array_equal(rl.where(t.real > 0, t, 1j).numpy(), np.where(z.real > 0, z, 1j))
    np.testing.assert_array_equal(t.nonzero().numpy(), np.argwhere(z))
    t[1] = 3 - 1j
    assert (z[1] == 3 - 1j).all()
    big = _numbers(70, 90)
    np.testing.assert_array_equal(rl.from_numpy(big).T.contiguous().numpy(), big.T)


# ---- what complex numbers cannot do ----


@pytest.mark.parametrize(
    "name", ["lt", "maximum", "floor", "sort", "amax", "argmax", "softmax", "mode", "topk", "relu"]
)
def test_an_op_without_complex_numbers_says_so(name):
    z = rl.tensor([1j, 2j])
    row = next(r for r in rl._C.registry() if r["name"] == name)
    arguments = {"lt": [z], "maximum": [z], "softmax": [0], "topk": [1]}.get(name, [])
    with pytest.raises(TypeError, match=f"{name}.*complex"):
        rl._C.ops[row["name"]](z, *arguments)


def test_every_op_takes_or_refuses_complex_tensors():
    """No op may crash, or drop the imaginary part on the way."""
    for row in rl._C.registry():
        function = rl._C.ops[row["name"]]
        for arguments in (["z"], ["z", "z"], ["z", 1], ["z", "z", "z"], ["z", 0, "i", "z"]):
            made = [
                {"z": _complex_square(), "i": rl.zeros(2, 2, dtype="int64")}.get(a, a)
                for a in arguments
            ]
            with contextlib.suppress(TypeError, ValueError, RuntimeError, IndexError):
                function(*made)


def _complex_square():
    return rl.tensor([[1 + 1j, 2], [3, 4j]])
