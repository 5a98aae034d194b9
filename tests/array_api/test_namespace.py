"""relume.array_api: the names of the standard, and what the public suite does not look at."""

import numpy as np
import pytest

import relume as rl
from relume import array_api as xp

# Version 2024.12, section by section.
NAMES = """
e inf nan newaxis pi bool int8 int16 int32 int64 uint8 float32 float64 complex64 complex128 arange
asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu
zeros zeros_like astype can_cast finfo iinfo isdtype result_type abs acos acosh add asin asinh
atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift
bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp
logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter
not_equal positive pow real reciprocal remainder round sign signbit sin sinh square sqrt subtract
tan tanh trunc take take_along_axis __array_namespace_info__ matmul matrix_transpose tensordot
vecdot broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape
roll squeeze stack tile unstack argmax argmin count_nonzero nonzero searchsorted where unique_all
unique_counts unique_inverse unique_values argsort sort cumulative_prod cumulative_sum max mean
min prod std sum var all any diff __array_api_version__ linalg fft
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_the_standard(name):
    assert hasattr(xp, name)
    assert name in xp.__all__


def test_tensors_tell_their_namespace():
    assert rl.ones(2).__array_namespace__() is xp
    assert rl.ones(2).__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(ValueError, match="1999"):
        rl.ones(2).__array_namespace__(api_version="1999.01")
    assert rl.ones(2).to_device("cpu").device == rl.ones(2).device


def test_code_for_the_standard_runs_on_the_tape():
    def softmax(x):
        ns = x.__array_namespace__()
        e = ns.exp(x - ns.max(x, axis=-1, keepdims=True))
        return e / ns.sum(e, axis=-1, keepdims=True)

    x = rl.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    softmax(x)[0, 0].backward()
    y = softmax(x).detach().numpy()[0]
    np.testing.assert_allclose(x.grad.numpy()[0], y[0] * (np.eye(3)[0] - y), rtol=1e-5)


def test_scipy_computes_with_the_namespace():
    """SciPy's array API mode would use it; its own helper finds it."""
    special = pytest.importorskip("array_api_compat")
    assert special.array_namespace(rl.ones(2)) is xp


def test_copies_are_made_as_asked():
    a = np.arange(3.0)
    shared = xp.asarray(a)
    a[0] = 9
    assert shared[0].item() == 9
    assert xp.asarray(a, copy=False).data_ptr() == shared.data_ptr()
    assert xp.asarray(a, copy=True).data_ptr() != shared.data_ptr()
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1, 2], copy=False)
    t = rl.ones(2)
    assert xp.astype(t, rl.float32, copy=False) is t
    assert xp.astype(t, rl.float32).data_ptr() != t.data_ptr()
    with pytest.raises(ValueError, match="copy"):
        xp.reshape(rl.ones(2, 3).T, (6,), copy=False)
    assert xp.asarray(b"ab").tolist() == [97, 98]


def test_inspection():
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind="unsigned integer") == {"uint8": rl.uint8}
    assert set(info.dtypes(kind=("bool", "integral"))) == set(
        "bool int8 int16 int32 int64 uint8".split()
    )
    assert info.default_dtypes()["real floating"] == rl.float32
    assert info.devices() == [info.default_device()]
    assert info.capabilities()["boolean indexing"]
    with pytest.raises(ValueError, match="kind"):
        xp.isdtype(rl.int8, "float")


def test_limits_of_types():
    for name in ("float16", "float32", "float64"):
        mine, theirs = rl.finfo(name), np.finfo(name)
        for attribute in ("bits", "eps", "max", "min", "smallest_normal", "tiny"):
            assert getattr(mine, attribute) == getattr(theirs, attribute)
    for name in ("uint8", "int8", "int16", "int32", "int64"):
        assert (rl.iinfo(name).min, rl.iinfo(name).max) == (
            np.iinfo(name).min,
            np.iinfo(name).max,
        )
    brain = rl.finfo(rl.bfloat16)
    one = rl.tensor(1.0).bfloat16()
    assert (one + brain.eps > one).item()
    assert (one + brain.eps / 4 == one).item()
    assert rl.tensor(brain.max).bfloat16().item() == brain.max
    with pytest.raises(TypeError, match="iinfo"):
        rl.finfo(rl.int8)
    with pytest.raises(TypeError, match="finfo"):
        rl.iinfo(rl.ones(2))


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ((rl.int8, rl.uint8), "int16"),
        ((rl.int64, rl.float32), "float32"),
        ((rl.uint8, 300), "uint8"),
        ((rl.int32, 2.0), "float32"),
        ((rl.float64, 1), "float64"),
        ((rl.bool_, 1), "int64"),
        ((rl.float16, rl.bfloat16), "float32"),
        ((1, 2.0), "float32"),
    ],
)
def test_types_together(operands, expected):
    assert rl.result_type(*operands).name == expected


def test_refusals():
    for call in (
        lambda: xp.cumulative_sum(rl.ones(2, 2)),
        lambda: xp.take(rl.ones(2, 2), rl.tensor([0])),
        lambda: xp.squeeze(rl.ones(2, 2), 0),
        lambda: xp.nonzero(rl.tensor(1.0)),
        lambda: xp.searchsorted(rl.ones(2), rl.ones(2), side="middle"),
        lambda: xp.concat([rl.ones(2), rl.ones(2, 2)]),
        lambda: rl.result_type(),
    ):
        with pytest.raises(ValueError):
            call()
