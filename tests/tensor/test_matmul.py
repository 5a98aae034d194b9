"""Products of matrices and vectors, against NumPy."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relume as rl

FLOATS = ["float32", "float64"]


def random(shape, dtype="float64", seed=0):
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return generator.integers(0, 5, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def tolerance(dtype):
    return {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-10}


@st.composite
def operand_shapes(draw):
    """Two shapes that matmul accepts: vectors, matrices or stacks that broadcast."""
    m, k, n = (draw(st.integers(0, 40)) for _ in range(3))
    left_vector, right_vector = draw(st.booleans()), draw(st.booleans())
    batch = draw(st.lists(st.integers(0, 3), max_size=3))

    def stack(rows, columns):
        own = batch[draw(st.integers(0, len(batch))) :]
        return (*[draw(st.sampled_from([size, 1])) for size in own], rows, columns)

    left = (k,) if left_vector else stack(m, k)
    right = (k,) if right_vector else stack(k, n)
    return left, right


@settings(deadline=None, max_examples=150)
@given(operand_shapes(), st.sampled_from(FLOATS))
def test_matmul_equals_numpy(shapes, dtype):
    a, b = (random(shape, dtype, seed) for seed, shape in enumerate(shapes))
    result = rl.matmul(rl.from_numpy(a), rl.from_numpy(b))
    np.testing.assert_allclose(result.numpy(), np.matmul(a, b), **tolerance(dtype))
    assert result.dtype == getattr(rl, dtype)


LAYOUTS = {
    "plain": lambda a: a,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "part of a larger matrix": lambda a: np.pad(a, 2)[2:-2, 2:-2],
    "every second element": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "backwards": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize(
    "sizes", [(3, 4, 5), (1, 70, 30), (30, 70, 1), (33, 1, 65), (100, 130, 70)]
)
def test_any_memory_layout(sizes, left, right, dtype):
    m, k, n = sizes
    a, b = LAYOUTS[left](random((m, k), dtype, 1)), LAYOUTS[right](random((k, n), dtype, 2))
    result = rl.matmul(rl.from_numpy(a), rl.from_numpy(b))
    np.testing.assert_allclose(result.numpy(), a @ b, **tolerance(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_small_size(dtype):
    """Full and partial tiles, in rows and columns, of matrices that go without packing."""
    for m in (2, 5, 6, 7, 13, 64):
        for k in (1, 8, 17, 64):
            for n in (2, 7, 8, 9, 16, 24, 31, 63, 64, 65):
                a, b, c = (
                    random((m, k), dtype, 1),
                    random((k, n), dtype, 2),
                    random((m, n), dtype, 3),
                )
                product = (rl.from_numpy(a) @ rl.from_numpy(b)).numpy()
                np.testing.assert_allclose(product, a @ b, **tolerance(dtype))
                wide = rl.from_numpy(np.pad(c, ((0, 0), (1, 2))))
                part = wide[:, 1 : n + 1]
                part.addmm_(rl.from_numpy(a), rl.from_numpy(b), beta=0.5, alpha=-2)
                np.testing.assert_allclose(part.numpy(), 0.5 * c - 2 * (a @ b), **tolerance(dtype))
                assert not wide[:, 0].any() and not wide[:, -2:].any()


def test_repeated_rows_of_an_expanded_operand():
    row = random((1, 60))
    a = np.broadcast_to(row, (50, 60))
    b = random((60, 20), seed=1)
    expanded = rl.from_numpy(row).expand([50, 60])
    np.testing.assert_allclose(rl.matmul(expanded, rl.from_numpy(b)).numpy(), a @ b, atol=1e-10)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_integers_wrap_around_as_numpy_does(dtype):
    a, b = random((7, 30), dtype, 1) * 7, random((30, 5), dtype, 2) * 5
    result = rl.matmul(rl.from_numpy(a), rl.from_numpy(b))
    np.testing.assert_array_equal(result.numpy(), np.matmul(a, b))


def test_mixed_types_are_promoted():
    a, b = random((3, 4), "int32"), random((4, 2), "float64")
    result = rl.matmul(rl.from_numpy(a), rl.from_numpy(b))
    assert result.dtype == rl.float64
    np.testing.assert_allclose(result.numpy(), a @ b)


def test_half_precision_is_computed_in_float32():
    a, b = random((20, 300), "float16"), random((300, 10), "float16", 1)
    result = rl.matmul(rl.from_numpy(a), rl.from_numpy(b))
    exact = a.astype("float64") @ b.astype("float64")
    np.testing.assert_allclose(result.numpy().astype("float64"), exact, rtol=2e-3, atol=2e-2)


def test_named_products():
    a, b, v, w = random((3, 4)), random((4, 5), seed=1), random(4, seed=2), random(4, seed=3)
    ta, tb, tv, tw = map(rl.from_numpy, (a, b, v, w))
    np.testing.assert_allclose(rl.mm(ta, tb).numpy(), a @ b)
    np.testing.assert_allclose(rl.mv(ta, tv).numpy(), a @ v)
    np.testing.assert_allclose(rl.dot(tv, tw).numpy(), v @ w)
    np.testing.assert_allclose(rl.outer(tv, tw).numpy(), np.outer(v, w))
    stack_a, stack_b = random((2, 3, 4)), random((2, 4, 5), seed=1)
    np.testing.assert_allclose(
        rl.bmm(rl.from_numpy(stack_a), rl.from_numpy(stack_b)).numpy(), stack_a @ stack_b
    )


def test_addmm_family():
    m, a, b = random((3, 5)), random((3, 4), seed=1), random((4, 5), seed=2)
    v, w, row = random(4, seed=3), random(3, seed=4), random(5, seed=5)
    tm, ta, tb, tv, tw, trow = map(rl.from_numpy, (m, a, b, v, w, row))
    np.testing.assert_allclose(
        rl.addmm(tm, ta, tb, beta=2, alpha=0.5).numpy(), 2 * m + 0.5 * (a @ b)
    )
    np.testing.assert_allclose(rl.addmm(trow, ta, tb).numpy(), row + a @ b)
    np.testing.assert_allclose(rl.addmv(tw, ta, tv, beta=3).numpy(), 3 * w + a @ v)
    np.testing.assert_allclose(rl.addr(tm, tw, trow, alpha=-1).numpy(), m - np.outer(w, row))
    stack_a, stack_b = random((2, 3, 4)), random((2, 4, 5), seed=1)
    np.testing.assert_allclose(
        rl.baddbmm(tm, rl.from_numpy(stack_a), rl.from_numpy(stack_b)).numpy(),
        m + stack_a @ stack_b,
    )


def test_beta_zero_does_not_read_the_input():
    a = rl.from_numpy(random((10, 10)))
    nan = rl.from_numpy(np.full((10, 10), np.nan))
    assert np.isfinite(rl.addmm(nan, a, a, beta=0).numpy()).all()


def test_addmm_into_its_own_input():
    m, a, b = random((30, 50)), random((30, 40), seed=1), random((40, 50), seed=2)
    target = rl.from_numpy(m.copy())
    rl.addmm(target, rl.from_numpy(a), rl.from_numpy(b), alpha=2, out=target)
    np.testing.assert_allclose(target.numpy(), m + 2 * (a @ b))
    square = rl.from_numpy(m[:, :30].copy())
    rl.addmm(square, square, square, out=square)  # every operand is the result
    np.testing.assert_allclose(square.numpy(), m[:, :30] + m[:, :30] @ m[:, :30])


@pytest.mark.parametrize("shape", [(4,), (1, 4), (5, 4), (2, 3, 4), (0, 4)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_linear(shape, has_bias):
    x, weight, bias = random(shape), random((3, 4), seed=1), random(3, seed=2)
    result = rl.linear(
        rl.from_numpy(x), rl.from_numpy(weight), rl.from_numpy(bias) if has_bias else None
    )
    np.testing.assert_allclose(result.numpy(), x @ weight.T + (bias if has_bias else 0))


def test_mistakes_name_the_shapes():
    a, b = rl.zeros([2, 3]), rl.zeros([4, 5])
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(4, 5\).*3 columns meet 4 rows"):
        rl.matmul(a, b)
    with pytest.raises(ValueError, match="2 dimensions"):
        rl.mm(a, rl.zeros([3]))
    with pytest.raises(ValueError, match="at least one dimension"):
        rl.matmul(a, rl.tensor(2.0))
    with pytest.raises(ValueError, match="last dimension is 5"):
        rl.linear(a, b)
    with pytest.raises(ValueError):
        rl.matmul(rl.zeros([2, 3, 4]), rl.zeros([3, 4, 5]))


def test_a_forked_child_multiplies():
    a = rl.from_numpy(random((300, 300), "float32"))
    expected = rl.matmul(a, a).numpy()
    child = os.fork()
    if child == 0:
        same = np.allclose(rl.matmul(a, a).numpy(), expected, atol=1e-3)
        os._exit(0 if same else 1)
    for _ in range(200):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hung")
    assert status == 0


OWN_KERNELS = """
import sys
sys.modules["scipy_openblas32"] = None  # as if it were not installed
import numpy as np
import relume as rl
from relume import _C
assert not _C.blas_loaded()
generator = np.random.default_rng(0)
for dtype, tolerance in [("float32", 2e-3), ("float64", 1e-10)]:
    sizes = [(9, 9, 9), (70, 300, 1100), (1, 50, 40), (40, 50, 1), (65, 1, 33), (99, 520, 31)]
    for m, k, n in sizes:
        a, b = (generator.standard_normal(s).astype(dtype) for s in [(m, k), (n, k)])
        c = generator.standard_normal((m, n)).astype(dtype)
        out = rl.addmm(rl.from_numpy(c), rl.from_numpy(a), rl.from_numpy(b).t(), beta=0.5, alpha=2)
        expected = 0.5 * c + 2 * (a @ b.T)
        np.testing.assert_allclose(out.numpy(), expected, rtol=tolerance, atol=tolerance)
"""


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_own_kernels_without_openblas(isa):
    """An instruction set that this machine lacks is lowered to the best that it has."""
    environment = {**os.environ, "RELUME_ISA": isa}
    subprocess.run([sys.executable, "-c", OWN_KERNELS], check=True, env=environment)
