"""Neural-network ops against PyTorch, forward and backward, on many settings."""

import numpy as np
import pytest

import relume as rl

torch = pytest.importorskip("torch")
functional = torch.nn.functional


def random(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def compare(ours, theirs, shapes, tolerance=1e-10):
    """Outputs and all gradients of two functions of the same arrays."""
    arrays = [None if shape is None else random(shape, i) for i, shape in enumerate(shapes)]
    our_inputs = [None if a is None else rl.tensor(a, requires_grad=True) for a in arrays]
    their_inputs = [None if a is None else torch.tensor(a, requires_grad=True) for a in arrays]
    our_out, their_out = ours(*our_inputs), theirs(*their_inputs)
    assert tuple(our_out.shape) == tuple(their_out.shape)
    np.testing.assert_allclose(our_out.detach().numpy(), their_out.detach().numpy(), atol=tolerance)
    weights = random(tuple(their_out.shape), 99)
    (our_out * rl.tensor(weights)).sum().backward()
    (their_out * torch.tensor(weights)).sum().backward()
    for mine, other in zip(our_inputs, their_inputs, strict=True):
        if mine is not None:
            np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), atol=tolerance)


CONVOLUTIONS = [  # input, weight, bias, stride, padding, dilation, groups
    ((2, 3, 9, 8), (4, 3, 3, 3), True, (1, 1), (1, 1), (1, 1), 1),
    ((1, 4, 12, 7), (6, 2, 5, 2), True, (3, 1), (2, 0), (1, 2), 2),
    ((5, 6, 6, 6), (6, 1, 3, 3), False, (1, 1), (1, 1), (1, 1), 6),
    ((3, 5, 4, 4), (7, 5, 1, 1), True, (1, 1), (0, 0), (1, 1), 1),
    ((3, 5, 7, 4), (7, 5, 1, 1), False, (2, 2), (0, 0), (1, 1), 1),
    ((5, 9, 9), (2, 5, 3, 3), True, (2, 2), (0, 3), (2, 3), 1),
    ((2, 1, 3, 200), (3, 1, 3, 31), True, (1, 2), (0, 15), (1, 1), 1),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_conv2d(case):
    shape, weight, bias, *settings = case
    compare(
        lambda x, w, b: rl.conv2d(x, w, b, *settings),
        lambda x, w, b: functional.conv2d(x, w, b, *settings),
        [shape, weight, weight[:1] if bias else None],
    )


TRANSPOSED = [  # input, weight, stride, padding, output_padding, groups, dilation
    ((2, 3, 5, 4), (3, 2, 3, 3), (2, 2), (1, 1), (1, 1), 1, (1, 1)),
    ((1, 4, 3, 6), (4, 3, 2, 4), (1, 3), (0, 2), (0, 2), 2, (1, 1)),
    ((4, 3, 6), (4, 1, 3, 3), (1, 1), (0, 0), (0, 0), 1, (2, 3)),
]


@pytest.mark.parametrize("case", TRANSPOSED)
def test_conv_transpose2d(case):
    shape, weight, *settings = case
    compare(
        lambda x, w, b: rl.conv_transpose2d(x, w, b, *settings),
        lambda x, w, b: functional.conv_transpose2d(x, w, b, *settings),
        [shape, weight, (weight[1] * settings[3],)],
    )


def test_conv1d():
    compare(
        lambda x, w, b: rl.conv1d(x, w, b, 2, 3, 2, 2),
        lambda x, w, b: functional.conv1d(x, w, b, 2, 3, 2, 2),
        [(3, 4, 30), (6, 2, 5), (6,)],
    )


POOLINGS = [  # kernel, stride, padding, ceil_mode
    ((2, 2), None, (0, 0), False),
    ((3, 2), (2, 3), (1, 1), True),
    ((3, 3), (2, 2), (1, 0), False),
    ((2, 5), (3, 1), (0, 2), True),
    ((1, 1), (2, 3), (0, 0), True),
]


@pytest.mark.parametrize("shape", [(2, 3, 9, 10), (3, 7, 6)])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("case", POOLINGS)
def test_max_pool2d(case, dilation, shape):
    kernel, stride, padding, ceil_mode = case
    compare(
        lambda x: rl.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode),
        lambda x: functional.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode),
        [shape],
    )


@pytest.mark.parametrize("count_include_pad", [True, False])
@pytest.mark.parametrize("case", POOLINGS)
def test_avg_pool2d(case, count_include_pad):
    compare(
        lambda x: rl.avg_pool2d(x, *case, count_include_pad),
        lambda x: functional.avg_pool2d(x, *case, count_include_pad),
        [(2, 3, 9, 10)],
    )


@pytest.mark.parametrize("shape", [(7, 4), (3, 4, 5), (2, 4, 3, 6)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape, training):
    mean, var = random(4, 7), np.abs(random(4, 8))
    ours = [rl.tensor(mean), rl.tensor(var)]
    theirs = [torch.tensor(mean), torch.tensor(var)]
    compare(
        lambda x, w, b: rl.batch_norm(x, w, b, *ours, training, 0.3, 1e-4)[0],
        lambda x, w, b: functional.batch_norm(x, *theirs, w, b, training, 0.3, 1e-4),
        [shape, (4,), (4,)],
    )
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), atol=1e-12)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, dim):
    compare(
        lambda x: getattr(rl, name)(x, dim),
        lambda x: getattr(functional, name)(x, dim),
        [(4, 5, 6)],
    )


@pytest.mark.parametrize("pad", [(1, 2), (2, 0, 1, 3), (-1, 2, 0, -2), (0, 0, 2, 2)])
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_pad(mode, pad):
    if mode != "constant" and len(pad) == 4:
        shape = (2, 3, 5, 6)
    else:
        shape = (3, 5, 6) if mode == "constant" else (2, 3, 6)
    compare(lambda x: rl.pad(x, pad, mode), lambda x: functional.pad(x, pad, mode), [shape])


def test_upsample_nearest2d():
    compare(
        lambda x: rl.upsample_nearest2d(x, 3),
        lambda x: functional.interpolate(x, scale_factor=3, mode="nearest"),
        [(2, 3, 4, 5)],
    )


def test_embedding():
    indices = np.array([[0, 3, 3], [1, 0, 2]])
    compare(
        lambda w: rl.embedding(w, rl.from_numpy(indices)),
        lambda w: functional.embedding(torch.tensor(indices), w),
        [(4, 5)],
    )


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_linear(shape):
    compare(
        lambda x, w, b: rl.linear(x, w, b),
        lambda x, w, b: functional.linear(x, w, b),
        [shape, (5, 4), (5,)],
    )


def test_second_derivatives_of_a_small_network():
    """The gradient of a gradient's norm, through convolution, batch norm, pooling and linear."""

    def network(f, pool, norm, x, w, gamma, beta, v):
        y = norm(f.conv2d(x, w, None, 1, 1), gamma, beta)
        y = pool(y * y, 2)
        return f.log_softmax(f.linear(y.reshape((2, 16)), v), 1)

    shapes = [(2, 2, 4, 4), (4, 2, 3, 3), (4,), (4,), (3, 16)]
    arrays = [random(shape, i) for i, shape in enumerate(shapes)]

    def our_norm(y, gamma, beta):
        return rl.batch_norm(y, gamma, beta, None, None, True, 0.1, 1e-3)[0]

    def their_norm(y, gamma, beta):
        return functional.batch_norm(y, None, None, gamma, beta, True, 0.1, 1e-3)

    results = []
    for lib, f, pool, norm in [
        (rl, rl, lambda y, k: rl.max_pool2d(y, k), our_norm),
        (torch, functional, functional.max_pool2d, their_norm),
    ]:
        inputs = [lib.tensor(a, requires_grad=True) for a in arrays]
        out = network(f, pool, norm, *inputs)
        grad = rl.grad if lib is rl else torch.autograd.grad
        first = grad(out[0, 0] + out[1, 2], inputs, create_graph=True)
        grad_norm = sum((g * g).sum() for g in first)
        results.append([g.detach().numpy() for g in grad(grad_norm, inputs)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)
