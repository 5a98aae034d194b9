"""Padding, upsampling and embedding against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relume as rl

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}


@given(st.data())
def test_pad_equals_numpy(data):
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    mode = data.draw(st.sampled_from(sorted(MODES)))
    dims = data.draw(st.integers(0, len(shape)))
    pad = []
    for size in shape[::-1][:dims]:
        limit = size - 1 if mode == "reflect" else 3
        pad += [data.draw(st.integers(0, limit)), data.draw(st.integers(0, limit))]
    x = np.random.default_rng(0).standard_normal(shape)
    widths = [(0, 0)] * (len(shape) - dims) + [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][
        ::-1
    ]
    extra = {"constant_values": 2.5} if mode == "constant" else {}
    result = rl.pad(rl.from_numpy(x), pad, mode, 2.5 if mode == "constant" else 0)
    np.testing.assert_array_equal(result.numpy(), np.pad(x, widths, MODES[mode], **extra))


def test_negative_padding_takes_away():
    x = np.arange(24.0).reshape(4, 6)
    result = rl.pad(rl.from_numpy(x), [-1, 2, -2, -1])
    np.testing.assert_array_equal(result.numpy(), np.pad(x[2:3, 1:], [(0, 0), (0, 2)]))
    mirrored = rl.pad(rl.from_numpy(x), [-2, 1], "reflect")
    np.testing.assert_array_equal(mirrored.numpy(), np.pad(x, [(0, 0), (0, 1)], "reflect")[:, 2:])


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32"])
def test_pad_keeps_the_type(dtype):
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    result = rl.pad(rl.from_numpy(x), [1, 1], value=7)
    assert result.dtype == getattr(rl, dtype)
    np.testing.assert_array_equal(result.numpy(), np.pad(x, [(0, 0), (1, 1)], constant_values=7))


def test_gradient_of_a_reflection_adds_up():
    x = rl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    rl.pad(x, [2, 1], "reflect").backward(rl.tensor([1.0, 10.0, 100.0, 1e3, 1e4, 1e5]))
    assert x.grad.tolist() == [100.0, 101010.0, 10001.0]


def test_pad_refuses_what_does_not_fit():
    x = rl.zeros([2, 3])
    with pytest.raises(ValueError, match="'constant', 'reflect', 'replicate' or"):
        rl.pad(x, [1, 1], "mirror")
    with pytest.raises(ValueError, match="smaller than the size"):
        rl.pad(x, [3, 0], "reflect")
    with pytest.raises(ValueError, match="takes more away"):
        rl.pad(x, [-2, -2])
    with pytest.raises(ValueError, match="before, after"):
        rl.pad(x, [1])
    with pytest.raises(ValueError, match="nothing to repeat"):
        rl.pad(rl.zeros([2, 0]), [1, 1], "replicate")


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 2, 3, 5), (1, 0, 2, 2)])
@pytest.mark.parametrize("scale", [1, 2, 3])
def test_upsample_nearest2d(shape, scale):
    x = np.random.default_rng(0).standard_normal(shape)
    result = rl.upsample_nearest2d(rl.from_numpy(x), scale)
    np.testing.assert_array_equal(result.numpy(), x.repeat(scale, -1).repeat(scale, -2))


@pytest.mark.parametrize("index_type", ["uint8", "int32", "int64"])
def test_embedding(index_type):
    weight = np.random.default_rng(0).standard_normal((6, 4))
    indices = np.array([[0, 5, 5], [2, 1, 0]], index_type)
    table = rl.tensor(weight, requires_grad=True)
    rows = rl.embedding(table, rl.from_numpy(indices))
    np.testing.assert_array_equal(rows.detach().numpy(), weight[indices])
    rows.sum().backward()
    np.testing.assert_array_equal(table.grad.numpy()[:, 0], [2, 1, 1, 0, 0, 2])


def test_embedding_refuses_rows_that_do_not_exist():
    weight = rl.zeros([3, 2])
    with pytest.raises(IndexError, match="index 3 is outside of a table of 3 rows"):
        rl.embedding(weight, rl.tensor([3]))
    with pytest.raises(IndexError, match="index -1"):
        rl.embedding(weight, rl.tensor([-1]))
    with pytest.raises(TypeError, match="integers"):
        rl.embedding(weight, rl.tensor([1.0]))
    with pytest.raises(ValueError, match=r"\(rows, width\)"):
        rl.embedding(rl.zeros([3]), rl.tensor([1]))
