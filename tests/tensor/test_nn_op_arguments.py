"""What the neural-network ops do with out=, odd memory layouts and absurd settings."""

import numpy as np
import pytest

import relume as rl


def random(*shape):
    return rl.from_numpy(np.random.default_rng(0).standard_normal(shape))


X, W = random(2, 3, 6, 6), random(4, 3, 3, 3)
VECTOR = random(6)

CALLS = {
    "conv1d": lambda **k: rl.conv1d(X[0], random(4, 6, 3), random(4), 1, 1, **k),
    "conv2d": lambda **k: rl.conv2d(X, W, None, 1, 1, **k),
    "conv_transpose2d": lambda **k: rl.conv_transpose2d(
        X, random(3, 2, 3, 3), random(2), 2, 1, 1, **k
    ),
    "avg_pool2d": lambda **k: rl.avg_pool2d(X, 2, **k),
    "pad": lambda **k: rl.pad(X, (1, 1), **k),
    "upsample_nearest2d": lambda **k: rl.upsample_nearest2d(X, 2, **k),
    "softmax": lambda **k: rl.softmax(X, 1, **k),
    "log_softmax": lambda **k: rl.log_softmax(X, 1, **k),
    "matmul": lambda **k: rl.matmul(X, X, **k),
    "linear": lambda **k: rl.linear(X, random(5, 6), random(5), **k),
    "dot": lambda **k: rl.dot(VECTOR, VECTOR, **k),
    "outer": lambda **k: rl.outer(VECTOR, VECTOR, **k),
    "embedding": lambda **k: rl.embedding(X[0, 0], rl.tensor([[1, 2], [0, 3]]), **k),
}
TARGETS = {
    "of the same shape": lambda shape: rl.zeros(shape, dtype=rl.float64),
    "with gaps": lambda shape: rl.zeros([*shape, 2], dtype=rl.float64)[..., 0],
    "empty": lambda shape: rl.zeros([0], dtype=rl.float64),
    "of another type": lambda shape: rl.zeros(shape, dtype=rl.float32),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CALLS)
def test_out(name, target):
    expected = CALLS[name]()
    out = TARGETS[target](list(expected.shape))
    CALLS[name](out=out)
    np.testing.assert_allclose(out.numpy(), expected.numpy(), atol=1e-5)


def test_out_may_be_an_operand():
    a = random(5, 5)
    b = a.clone()
    rl.matmul(b, b, out=b)
    np.testing.assert_allclose(b.numpy(), a.numpy() @ a.numpy())
    b = a.clone()
    rl.softmax(b, 1, out=b)
    np.testing.assert_allclose(b.numpy(), rl.softmax(a, 1).numpy())


def test_max_pool2d_with_indices_into_two_tensors():
    values = rl.zeros([2, 3, 3, 3], dtype=rl.float64)
    indices = rl.zeros([2, 3, 3, 3], dtype=rl.int64)
    rl.max_pool2d_with_indices(X, 2, out=(values, indices))
    for given, fresh in zip((values, indices), rl.max_pool2d_with_indices(X, 2), strict=True):
        np.testing.assert_array_equal(given.numpy(), fresh.numpy())


LAYOUTS = {
    "backwards": rl.from_numpy(X.numpy()[:, ::-1, :, ::-1]),
    "permuted": X.permute([0, 1, 3, 2]),
    "expanded": X[:1].expand(4, 3, 6, 6),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_layouts(layout):
    x = LAYOUTS[layout]
    plain = x.clone()
    for call in (
        lambda x: rl.conv2d(x, W),
        lambda x: rl.max_pool2d(x, 2),
        lambda x: rl.avg_pool2d(x, 3, 1, 1),
        lambda x: rl.pad(x, (1, 2), "reflect"),
        lambda x: rl.upsample_nearest2d(x, 2),
        lambda x: rl.softmax(x, 2),
        lambda x: rl.batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[0],
    ):
        np.testing.assert_allclose(call(x).numpy(), call(plain).numpy(), atol=1e-12)


HUGE = 2**62
ABSURD = {
    "stride": lambda: rl.conv2d(X, W, None, HUGE),
    "padding": lambda: rl.conv2d(X, W, None, 1, HUGE),
    "dilation": lambda: rl.conv2d(X, W, None, 1, 1, HUGE),
    "groups": lambda: rl.conv2d(X, W, None, 1, 1, 1, HUGE),
    "pad": lambda: rl.pad(X, (HUGE, HUGE)),
    "negative pad": lambda: rl.pad(X, (-HUGE, 0)),
    "scale": lambda: rl.upsample_nearest2d(X, HUGE),
    "kernel": lambda: rl.max_pool2d(X, HUGE),
    "pooling stride": lambda: rl.avg_pool2d(X, 2, HUGE),
    "pooling dilation": lambda: rl.max_pool2d(X, 2, 1, 0, HUGE),
    "rows of a table": lambda: rl._C.ops["embedding_backward"](
        random(2, 3), rl.tensor([0, 1]), HUGE
    ),
    "negative rows": lambda: rl._C.ops["embedding_backward"](random(2, 3), rl.tensor([0, 1]), -1),
    "negative input": lambda: rl._C.ops["conv2d_input_gradient"](
        X, W, (2, 3, -4, 4), (1, 1), (0, 0), (1, 1), 1
    ),
    "negative weight": lambda: rl._C.ops["conv2d_weight_gradient"](
        X, X, (-4, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1
    ),
    "negative plane": lambda: rl._C.ops["avg_pool2d_backward"](
        X, (2, 3, -6, 6), (2, 2), None, (0, 0), False, True
    ),
}


@pytest.mark.parametrize("setting", ABSURD)
def test_absurd_settings_are_refused(setting):
    with pytest.raises(ValueError, match=r"must be|may be"):
        ABSURD[setting]()
