"""Element-wise ops against NumPy: values, types, layouts, special numbers, out= and in place."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import relume as rl

FLOATS = ["float32", "float64"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
EXACT = {"rtol": 0, "atol": 0}

# name -> (NumPy's function, lowest and highest argument, units in the last place allowed)
UNARY = {
    "neg": (np.negative, -5, 5, 0),
    "abs": (np.abs, -5, 5, 0),
    "sign": (np.sign, -5, 5, 0),
    "square": (np.square, -5, 5, 0),
    "reciprocal": (np.reciprocal, 0.1, 5, 0.5),
    "sqrt": (np.sqrt, 0, 9, 0.5),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 9, 1.5),
    "exp": (np.exp, -80, 80, 1),
    "expm1": (np.expm1, -20, 50, 2),
    "log": (np.log, 1e-6, 1e6, 1),
    "log1p": (np.log1p, -0.99, 100, 1.5),
    "log2": (np.log2, 1e-6, 1e6, 1),
    "log10": (np.log10, 1e-6, 1e6, 2),
    "sin": (np.sin, -10, 10, 1),
    "cos": (np.cos, -10, 10, 1),
    "tan": (np.tan, -1.5, 1.5, 1.5),
    "asin": (np.arcsin, -1, 1, 1.25),
    "acos": (np.arccos, -1, 1, 1),
    "atan": (np.arctan, -10, 10, 1),
    "sinh": (np.sinh, -10, 10, 2),
    "cosh": (np.cosh, -10, 10, 2),
    "tanh": (np.tanh, -12, 12, 4),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -60, 60, 2.5),
    "floor": (np.floor, -5, 5, 0),
    "ceil": (np.ceil, -5, 5, 0),
    "round": (np.rint, -5, 5, 0),
    "trunc": (np.trunc, -5, 5, 0),
    "frac": (lambda x: x - np.trunc(x), -5, 5, 0),
}
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    math.inf,
    -math.inf,
    math.nan,
    1e-45,
    -1e-45,
    1e-38,
    3e38,
    -3e38,
    88.0,
    -88.0,
    -104.0,
]


def spacing(exact, dtype):
    """The distance between neighbouring numbers of a type, at the exact results."""
    info = np.finfo(dtype)
    exponent = np.floor(np.log2(np.maximum(np.abs(exact), float(info.smallest_normal))))
    return np.exp2(exponent) * float(info.eps)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_elementary_functions_are_accurate(name, dtype):
    reference, low, high, ulps = UNARY[name]
    x = np.random.default_rng(0).uniform(low, high, 20001).astype(dtype)
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.longdouble))
    got = getattr(rl, name)(rl.from_numpy(x)).numpy()
    assert got.dtype == dtype
    error = np.abs(got - exact) / spacing(exact.astype("float64"), dtype)
    assert error.max() <= ulps + 0.51


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_elementary_functions_take_special_numbers(name, dtype):
    reference, _, _, ulps = UNARY[name]
    x = np.array(SPECIAL, dtype)
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.longdouble)).astype(dtype)
    got = getattr(rl, name)(rl.from_numpy(x)).numpy()
    np.testing.assert_allclose(got, expected, rtol=(ulps + 1) * np.finfo(dtype).eps, atol=0)
    settled = (expected != 0) | np.isin(
        name, ["sin", "tan", "tanh", "expm1", "log1p", "asin", "atan", "sinh"]
    )
    np.testing.assert_array_equal(
        np.signbit(got)[settled & ~np.isnan(got)], np.signbit(expected)[settled & ~np.isnan(got)]
    )


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "log", "add", "mul"])
def test_a_result_does_not_depend_on_place_or_layout(name):
    """The vector part of a loop, its tail and the strided loop compute the same numbers."""
    x = np.random.default_rng(1).uniform(0.1, 3, 1000).astype("float32")
    two = name in ("add", "mul")
    whole = rl.from_numpy(x)
    op = getattr(rl, name)
    expected = (op(whole, whole) if two else op(whole)).numpy()
    for start, length in [(0, 1), (1, 3), (7, 18), (500, 500)]:
        part = rl.from_numpy(x[start : start + length])
        got = op(part, part) if two else op(part)
        np.testing.assert_array_equal(got.numpy(), expected[start : start + length])
    strided = rl.from_numpy(x[::3])
    got = op(strided, strided) if two else op(strided)
    np.testing.assert_array_equal(got.numpy(), expected[::3])


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


@st.composite
def broadcasting_arrays(draw, dtype, count=2):
    """Arrays of any layout whose shapes broadcast: transposed, stepped, reversed, expanded."""
    shapes = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=4, min_side=0, max_side=5)
    )
    arrays = []
    for shape in shapes.input_shapes:
        layout = draw(st.sampled_from(["plain", "transposed", "stepped", "reversed", "expanded"]))
        if np.issubdtype(dtype, np.floating):
            elements = st.floats(-8, 8, width=32)
        elif dtype == "bool":
            elements = st.booleans()
        else:
            elements = st.integers(0 if dtype == "uint8" else -8, 8)
        if layout == "stepped" and shape:
            array = draw(hnp.arrays(dtype, (*shape[:-1], 2 * shape[-1]), elements=elements))[
                ..., ::2
            ]
        elif layout == "transposed":
            array = draw(hnp.arrays(dtype, shape[::-1], elements=elements)).T
        elif layout == "reversed" and shape:
            array = draw(hnp.arrays(dtype, shape, elements=elements))[::-1]
        elif layout == "expanded":
            array = np.broadcast_to(
                draw(hnp.arrays(dtype, (1,) * len(shape), elements=elements)), shape
            )
        else:
            array = draw(hnp.arrays(dtype, shape, elements=elements))
        arrays.append(array)
    return arrays


def tensor(array):
    """A tensor with the layout of the array; read-only arrays are expanded anew."""
    if array.flags.writeable:
        return rl.from_numpy(array)
    first = np.array(array[(slice(0, 1),) * array.ndim])
    return rl.from_numpy(first).expand(array.shape)


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    name=st.sampled_from(sorted(BINARY)),
    dtype=st.sampled_from([*FLOATS, *INTEGERS, "bool"]),
)
def test_binary_ops_broadcast_any_layout(data, name, dtype):
    if name == "sub" and dtype == "bool":
        return
    a, b = data.draw(broadcasting_arrays(dtype))
    expected = BINARY[name](a, b)
    got = getattr(rl, name)(tensor(a), tensor(b))
    assert got.shape == expected.shape and got.dtype.name == expected.dtype.name
    np.testing.assert_array_equal(got.numpy(), expected)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), dtype=st.sampled_from(FLOATS))
def test_three_operands_broadcast_any_layout(data, dtype):
    a, b, c = data.draw(broadcasting_arrays(dtype, 3))
    x, y, z = tensor(a), tensor(b), tensor(c)
    np.testing.assert_array_equal(rl.where(x > 0, y, z).numpy(), np.where(a > 0, b, c))
    np.testing.assert_allclose(
        rl.addcmul(x, y, z, value=2).numpy(), a + 2 * b * c, rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(rl.lerp(x, y, z).numpy(), a + c * (b - a), rtol=1e-5, atol=1e-5)


def test_many_elements_take_the_parallel_path():
    x = np.random.default_rng(2).standard_normal((301, 1001)).astype("float32")
    row = x[0]
    np.testing.assert_array_equal((rl.from_numpy(x) + rl.from_numpy(row)).numpy(), x + row)
    np.testing.assert_array_equal((rl.from_numpy(x).T * 2).numpy(), x.T * 2)
    np.testing.assert_array_equal((rl.from_numpy(x) + rl.from_numpy(x)).numpy(), x + x)


def test_sums_of_broken_shapes_name_both():
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(4,\)"):
        rl.ones(2, 3) + rl.ones(4)


# Division


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int32", "int64"])
def test_floor_division_and_remainder_are_pythons(dtype):
    values = [-7, -6, -5, -1, 0, 1, 2, 5, 6, 7]
    a = np.repeat(np.array(values, dtype), len(values))
    b = np.tile(np.array(values, dtype), len(values))
    if not np.issubdtype(dtype, np.floating):
        a, b = a[b != 0], b[b != 0]
    with np.errstate(all="ignore"):
        expected = np.floor_divide(a, b), np.remainder(a, b), np.fmod(a, b)
    x, y = rl.from_numpy(a), rl.from_numpy(b)
    np.testing.assert_array_equal((x // y).numpy(), expected[0])
    np.testing.assert_array_equal((x % y).numpy(), expected[1])
    np.testing.assert_array_equal(rl.fmod(x, y).numpy(), expected[2])


def test_integer_division_never_crashes():
    x = rl.tensor([5, -5, -(2**63)], dtype="int64")
    assert (x // 0).tolist() == [0, 0, 0]
    assert (x % 0).tolist() == [0, 0, 0]
    assert (x // -1).tolist() == [-5, 5, -(2**63)]
    assert (x % -1).tolist() == [0, 0, 0]


def test_integers_wrap_around():
    assert (rl.tensor([250], dtype="uint8") + rl.tensor([10], dtype="uint8")).tolist() == [4]
    assert (rl.tensor([2**62]) * 4).tolist() == [0]
    assert (-rl.tensor([-128], dtype="int8")).tolist() == [-128]


# Powers


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -1, -2.5, 7])
def test_powers_by_a_number(exponent):
    x = np.array([0.25, 0.5, 1, 2, 3.5])
    np.testing.assert_allclose((rl.from_numpy(x) ** exponent).numpy(), x**exponent, rtol=1e-15)


def test_powers_of_extremes():
    values = [0, 1, 2, 3, 0.5, 2.5, 1e-45, 1e38, 2**24 + 1, 2**32, np.inf]
    numbers = np.array([*values, *(-value for value in values), np.nan], "float32")
    base, exponent = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        expected = np.float_power(base, exponent).astype("float32")
    result = rl.pow(rl.from_numpy(base), rl.from_numpy(exponent)).numpy()
    np.testing.assert_allclose(result, expected, rtol=2e-7)
    np.testing.assert_array_equal(
        np.signbit(result)[result == 0], np.signbit(expected)[expected == 0]
    )
    for number in numbers[numbers != 0.5]:  # that is the square root
        with np.errstate(all="ignore"):
            expected = np.float_power(numbers, number).astype("float32")
        result = rl.pow(rl.from_numpy(numbers), float(number)).numpy()
        np.testing.assert_allclose(result, expected, rtol=2e-7)


def test_powers_of_integers():
    assert (rl.tensor([2, 3, -2]) ** 3).tolist() == [8, 27, -8]
    assert (2 ** rl.tensor([0, 1, 10])).tolist() == [1, 2, 1024]
    assert rl.pow(rl.tensor([2, 1, -1]), rl.tensor([-1, -5, -3])).tolist() == [0, 1, -1]
    with pytest.raises(ValueError, match="integer tensor"):
        rl.tensor([2]) ** -1


# Activation functions, against their definitions


def test_activations_follow_their_definitions():
    x = np.linspace(-4, 4, 41)
    t = rl.from_numpy(x)
    close = {"rtol": 1e-14, "atol": 1e-15}
    np.testing.assert_allclose(rl.relu(t).numpy(), np.maximum(x, 0), **close)
    np.testing.assert_allclose(rl.leaky_relu(t, 0.1).numpy(), np.where(x > 0, x, 0.1 * x), **close)
    np.testing.assert_allclose(
        rl.elu(t, 1.5).numpy(), np.where(x > 0, x, 1.5 * np.expm1(x)), **close
    )
    np.testing.assert_allclose(rl.softplus(t, 2.0).numpy(), np.log1p(np.exp(2 * x)) / 2, **close)
    np.testing.assert_allclose(
        rl.softplus(t, 1, 3).numpy(), np.where(x > 3, x, np.log1p(np.exp(x))), **close
    )
    np.testing.assert_allclose(rl.hardtanh(t, -2, 0.5).numpy(), np.clip(x, -2, 0.5), **close)
    np.testing.assert_allclose(rl.threshold(t, 1.0, -7.0).numpy(), np.where(x > 1, x, -7), **close)
    np.testing.assert_allclose(rl.clamp(t, -1, 2).numpy(), np.clip(x, -1, 2), **close)
    np.testing.assert_allclose(rl.clamp(t, min=0.5).numpy(), np.maximum(x, 0.5), **close)
    np.testing.assert_allclose(rl.clamp(t, max=0.5).numpy(), np.minimum(x, 0.5), **close)
    from math import erf

    np.testing.assert_allclose(rl.erf(t).numpy(), [erf(v) for v in x], **close)


def test_prelu_weights_go_along_dimension_1():
    x = np.random.default_rng(3).standard_normal((2, 3, 4, 5))
    weight = np.array([0.1, 0.2, 0.3])
    expected = np.where(x > 0, x, x * weight.reshape(1, 3, 1, 1))
    np.testing.assert_allclose(rl.prelu(rl.from_numpy(x), rl.from_numpy(weight)).numpy(), expected)
    one = rl.tensor([0.25], dtype="float64")
    np.testing.assert_allclose(rl.prelu(rl.from_numpy(x), one).numpy(), np.where(x > 0, x, x / 4))
    with pytest.raises(ValueError, match="prelu"):
        rl.prelu(rl.ones(2, 3), rl.ones(4))


def test_extremes_and_rectifiers_keep_nan():
    x = rl.tensor([math.nan, 1.0, 2.0])
    y = rl.tensor([0.0, math.nan, 1.0])
    assert [math.isnan(v) for v in rl.maximum(x, y).tolist()] == [True, True, False]
    assert [math.isnan(v) for v in rl.minimum(x, y).tolist()] == [True, True, False]
    assert math.isnan(rl.relu(x)[0].item())
    assert math.isnan(rl.clamp(x, 0, 1)[0].item())
    assert rl.isnan(x).tolist() == [True, False, False]
    assert rl.isfinite(rl.tensor([math.inf, math.nan, 0.0])).tolist() == [False, False, True]
    assert rl.isinf(rl.tensor([-math.inf, math.nan, 0.0])).tolist() == [True, False, False]


# out= and in place


def test_out_takes_the_result():
    a, b = rl.tensor([1.0, 2.0]), rl.tensor([3.0, 4.0])
    out = rl.zeros(2)
    assert rl.add(a, b, out=out) is out and out.tolist() == [4, 6]
    transposed = rl.zeros(3, 2).T
    rl.mul(rl.ones(2, 3), 2, out=transposed)
    assert transposed.tolist() == [[2, 2, 2], [2, 2, 2]]
    rl.add(a, b, out=a)
    assert a.tolist() == [4, 6]
    double = rl.zeros(2, dtype="float64")
    rl.add(b, b, out=double)
    assert double.tolist() == [6, 8]


def test_out_may_overlap_its_operands():
    memory = np.arange(6, dtype="float32")
    whole = rl.from_numpy(memory)
    rl.add(whole[:5], 1, out=whole[1:])
    assert memory.tolist() == [0, 1, 2, 3, 4, 5]
    rl.mul(whole[1:], whole[:5], out=whole[1:])
    assert memory.tolist() == [0, 0, 2, 6, 12, 20]


def test_in_place_keeps_the_type():
    a = rl.tensor([1.0, 2.0])
    a += rl.tensor([0.5, 0.5], dtype="float64")
    assert a.dtype == rl.float32 and a.tolist() == [1.5, 2.5]
    a *= 2
    assert a.tolist() == [3, 5]
    whole = rl.tensor([1, 2])
    whole += 1
    assert whole.dtype == rl.int64 and whole.tolist() == [2, 3]
    with pytest.raises(TypeError):
        whole += 0.5
    with pytest.raises(TypeError):
        whole /= 2
    with pytest.raises(ValueError, match=r"\(2,\)"):
        a += rl.ones(3, 2)


def test_in_place_on_a_part():
    memory = np.zeros((3, 4))
    rl.from_numpy(memory)[:, ::2].add_(rl.tensor([1.0, 2.0], dtype="float64"))
    assert memory.tolist() == [[1, 0, 2, 0]] * 3


def test_bounds_beyond_an_integer_type_are_no_bounds():
    x = rl.tensor([0, 100, 255], dtype="uint8")
    assert rl.clamp(x, -5, 300).tolist() == [0, 100, 255]
    assert rl.clamp(x, min=-1).tolist() == [0, 100, 255]
    assert rl.hardtanh(x, -1.0, 120.0).tolist() == [0, 100, 120]
    assert rl.clamp(x, 0.5, 200.0).tolist() == [0.5, 100, 200]


def test_types_that_make_no_sense_are_refused():
    with pytest.raises(TypeError, match=r"sub.*bool"):
        rl.tensor([True]) - rl.tensor([False])
    with pytest.raises(TypeError, match="bitwise_and"):
        rl.tensor([1.0]) & rl.tensor([2.0])
    with pytest.raises(TypeError, match="neg"):
        -rl.tensor([True])


def test_the_smallest_integer_can_be_subtracted():
    smallest = -(2**63)
    x = np.array([0, 1, -1, smallest, 2**63 - 1])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(rl.tensor(x) - smallest, x - np.int64(smallest))
    assert (rl.tensor([1.5]) - smallest).item() == 2.0**63


SHORT_OPS = {
    "add": lambda a, b: a + b,
    "number": lambda a, b: 2.5 / a,
    "comparison": lambda a, b: a > b,
    "condition": lambda a, b: rl.where(a > 0, a, b),
    "broadcast": lambda a, b: a[:, None] * b[None, :40],
    "strided": lambda a, b: a[::2] - b[1::2],
    "in place": lambda a, b: a.clone()[::3].mul_(b[0]),
    "parameters": lambda a, b: a.clamp(-0.5, 0.25),
    "three operands": lambda a, b: rl.addcmul(a, b, b),
}


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", SHORT_OPS)
def test_rows_of_short_floats_are_computed_in_float_and_rounded_once(name, kind):
    dtype = getattr(rl, kind)
    numbers = np.random.default_rng(0).standard_normal((2, 1200)).astype("float32")
    a, b = (rl.from_numpy(row).to(dtype) for row in numbers)
    got = SHORT_OPS[name](a, b)
    wide = SHORT_OPS[name](a.to(rl.float32), b.to(rl.float32))
    assert got.dtype == (rl.bool_ if name == "comparison" else dtype)
    step = 2**-10 if kind == "float16" else 2**-7
    expected = wide.to(rl.float64).numpy()
    np.testing.assert_allclose(got.to(rl.float64).numpy(), expected, rtol=0.51 * step, atol=1e-7)


def test_cubes_and_powers_of_two():
    numbers = np.array([-np.inf, -2.5, -0.0, 0.0, 1e-3, 3.0, 1e30, np.nan])
    for dtype in FLOATS:
        x = numbers.astype(dtype)
        with np.errstate(over="ignore"):
            cubes, powers = x * x * x, np.exp2(x)
        np.testing.assert_array_equal((rl.from_numpy(x) ** 3).numpy(), cubes)
        np.testing.assert_allclose((2 ** rl.from_numpy(x)).numpy(), powers, rtol=1e-6)
