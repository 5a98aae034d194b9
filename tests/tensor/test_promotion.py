"""The types of results: the array API rules between tensors, weak Python numbers."""

import numpy as np
import pytest

import relume as rl

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("left", TYPES)
@pytest.mark.parametrize("right", TYPES)
def test_tensors_promote_as_the_array_api_says(left, right):
    a, b = rl.ones(2, dtype=left), rl.ones(2, dtype=right)
    expected = np.result_type(left, right).name
    mixed_kinds = np.dtype(left).kind in "biu" and np.dtype(right).kind == "f"
    if mixed_kinds or (np.dtype(right).kind in "biu" and np.dtype(left).kind == "f"):
        expected = (
            left if np.dtype(left).kind == "f" else right
        )  # NumPy widens; the API leaves it open
    assert (a * b).dtype.name == expected
    assert (a == b).dtype.name == "bool"
    assert (a * b).tolist() == [1, 1]


def test_bfloat16_promotes():
    half, brain = rl.ones(1, dtype="float16"), rl.ones(1, dtype="bfloat16")
    assert (half + brain).dtype == rl.float32
    assert (brain + rl.ones(1, dtype="int64")).dtype == rl.bfloat16
    assert (brain + rl.ones(1)).dtype == rl.float32


@pytest.mark.parametrize("dtype", TYPES)
def test_python_numbers_are_weak(dtype):
    x = rl.ones(2, dtype=dtype)
    kind = np.dtype(dtype).kind
    with_integer = "int64" if kind == "b" else dtype
    with_float = dtype if kind == "f" else "float32"
    assert (x + 1).dtype.name == with_integer
    assert (1 + x).dtype.name == with_integer
    assert (x * 2.5).dtype.name == with_float
    assert (2.5 * x).dtype.name == with_float
    assert (x + True).dtype.name == dtype


@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_integers_are_floating(dtype):
    x = rl.ones(2, dtype=dtype)
    expected = dtype if np.dtype(dtype).kind == "f" else "float32"
    for name in ["exp", "sqrt", "tanh", "sigmoid", "log", "erf", "reciprocal"]:
        assert getattr(rl, name)(x).dtype.name == expected
    assert (x / x).dtype.name == expected
    assert rl.mean(x).dtype.name == expected


@pytest.mark.parametrize("dtype", TYPES)
def test_types_of_reductions(dtype):
    x = rl.ones(2, dtype=dtype)
    total = dtype if np.dtype(dtype).kind == "f" else "int64"
    assert rl.sum(x).dtype.name == total and rl.prod(x).dtype.name == total
    assert rl.cumsum(x, 0).dtype.name == total
    assert rl.amax(x).dtype.name == dtype
    assert rl.argmax(x).dtype.name == "int64"
    assert rl.any(x).dtype.name == "bool"
    assert rl.sum(x, dtype="float64").dtype.name == "float64"


def test_comparisons_with_numbers_out_of_range():
    x = rl.tensor([1, 200], dtype="uint8")
    assert (x < 300).tolist() == [True, True]
    assert (x > -1).tolist() == [True, True]
    assert (x == 257).tolist() == [False, False]
    assert (x < 1.5).tolist() == [True, False]


def test_half_types_compute_in_float():
    x = rl.tensor([1.0, 2.0, 3.0], dtype="float16")
    expected = np.exp(np.array([1, 2, 3], "float32")).astype("float16")
    assert rl.exp(x).tolist() == expected.tolist()
    assert (x * x + x).tolist() == [2, 6, 12]
