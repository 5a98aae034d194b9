"""Work over sequences, planes and volumes against PyTorch: outputs and gradients."""

import numpy as np
import pytest

import relume as rl
from relume.nn import functional as ours

torch = pytest.importorskip("torch")
functional = torch.nn.functional


def random(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def compare(call, shapes, tolerance=1e-10, dtype="float64"):
    """`call(F, as_tensor, *tensors)` with both libraries: outputs, gradients.

    F is the library's nn.functional, as_tensor makes its tensors of other arguments.
    """
    arrays = [random(shape, i).astype(dtype) for i, shape in enumerate(shapes)]
    mine = [rl.tensor(a, requires_grad=True) for a in arrays]
    other = [torch.tensor(a, requires_grad=True) for a in arrays]
    result, expected = call(ours, rl.tensor, *mine), call(functional, torch.tensor, *other)
    assert tuple(result.shape) == tuple(expected.shape)
    np.testing.assert_allclose(result.detach(), expected.detach(), atol=tolerance)
    weights = random(tuple(expected.shape), 99).astype(dtype)
    (result * rl.tensor(weights)).sum().backward()
    (expected * torch.tensor(weights)).sum().backward()
    for a, b in zip(mine, other, strict=True):
        np.testing.assert_allclose(a.grad, b.grad, atol=tolerance)


SHAPES = {1: (2, 3, 13), 2: (2, 3, 9, 8), 3: (2, 3, 6, 5, 7)}
DIMENSIONS = sorted(SHAPES)
POOLINGS = [  # kernel, stride, padding, ceil_mode
    (2, None, 0, False),
    (3, 2, 1, False),
    (3, 2, 1, True),
    (2, 3, 1, True),
    (4, 1, 2, False),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", POOLINGS)
@pytest.mark.parametrize("n", DIMENSIONS)
def test_max_pool(n, case, dtype):
    kernel, stride, padding, ceil = case
    for dilation in (1, 2) if n < 3 or kernel < 4 else (1,):
        compare(
            lambda f, _, x, d=dilation: getattr(f, f"max_pool{n}d")(
                x, kernel, stride, padding, d, ceil
            ),
            [SHAPES[n]],
            dtype=dtype,
        )


@pytest.mark.parametrize("n", DIMENSIONS)
def test_indices_and_unpooling(n):
    def call(f, _, x):
        values, indices = getattr(f, f"max_pool{n}d")(x, 2, return_indices=True)
        return getattr(f, f"max_unpool{n}d")(values * 2, indices, 2, output_size=x.shape[-n:])

    compare(call, [SHAPES[n]])
    compare(call, [SHAPES[n][1:]])


@pytest.mark.parametrize("count_include_pad", [True, False])
@pytest.mark.parametrize("case", POOLINGS)
@pytest.mark.parametrize("n", DIMENSIONS)
def test_avg_pool(n, case, count_include_pad):
    compare(lambda f, _, x: getattr(f, f"avg_pool{n}d")(x, *case, count_include_pad), [SHAPES[n]])
    if n > 1:
        compare(
            lambda f, _, x: getattr(f, f"avg_pool{n}d")(x, *case, count_include_pad, 3),
            [SHAPES[n][1:]],
        )


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("n", DIMENSIONS)
def test_adaptive_pooling(n, size):
    for name in ("adaptive_avg_pool", "adaptive_max_pool"):
        compare(lambda f, _, x, name=name: getattr(f, f"{name}{n}d")(x, size), [SHAPES[n]])
        compare(lambda f, _, x, name=name: getattr(f, f"{name}{n}d")(x, size), [SHAPES[n][1:]])


@pytest.mark.parametrize("n", DIMENSIONS)
def test_lp_pool(n):
    for norm, kernel, stride, ceil in ((2.0, 2, None, False), (3.0, 3, 2, True)):
        compare(
            lambda f, _, x, s=(norm, kernel, stride, ceil): getattr(f, f"lp_pool{n}d")(
                x.abs() + 0.1, *s
            ),
            [SHAPES[n]],
        )


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_max_pool(n):
    samples = np.random.default_rng(5).uniform(size=(2, 3, n))
    for kernel, size in ((2, 3), (3, 2), (1, 4)):
        compare(
            lambda f, tensor, x, k=kernel, s=size: getattr(f, f"fractional_max_pool{n}d")(
                x, k, s, _random_samples=tensor(samples)
            ),
            [SHAPES[n]],
        )


CONVOLUTIONS = [  # input, weight, stride, padding, dilation, groups
    ((2, 3, 5, 6, 7), (4, 3, 3, 2, 3), (2, 1, 1), (1, 0, 2), (1, 2, 1), 1),
    ((1, 4, 4, 4, 4), (6, 2, 3, 3, 3), 1, 1, 1, 2),
    ((4, 4, 5, 4), (4, 1, 2, 3, 1), (1, 2, 3), 0, (3, 1, 1), 4),
    ((2, 3, 3, 4, 4), (5, 3, 1, 1, 1), 1, 0, 1, 1),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_conv3d(case):
    shape, weight, *settings = case
    compare(lambda f, _, x, w, b: f.conv3d(x, w, b, *settings), [shape, weight, weight[:1]])
    compare(
        lambda f, _, x, w: f.conv3d(x, w, None, *settings), [shape, weight], 1e-3, dtype="float32"
    )


@pytest.mark.filterwarnings("ignore:Using padding")
@pytest.mark.parametrize("n", DIMENSIONS)
def test_padding_in_words(n):
    for kernel, dilation, words in ((3, 2, "same"), (4, 1, "same"), (2, 1, "valid")):
        weight = (2, 3, *(kernel,) * n)
        compare(
            lambda f, _, x, w, d=dilation, p=words: getattr(f, f"conv{n}d")(x, w, None, 1, p, d),
            [SHAPES[n], weight],
        )


TRANSPOSED = [  # dimensions, input, weight, stride, padding, output_padding, groups, dilation
    (1, (2, 3, 6), (3, 2, 4), 2, 1, 1, 1, 2),
    (1, (4, 5), (4, 3, 3), 1, 0, 0, 2, 1),
    (3, (2, 3, 4, 3, 5), (3, 2, 3, 2, 3), (2, 1, 2), (1, 0, 1), (1, 0, 1), 1, (1, 2, 1)),
    (3, (4, 3, 3, 2), (4, 2, 2, 2, 2), 2, 0, 0, 2, 1),
]


@pytest.mark.parametrize("case", TRANSPOSED)
def test_conv_transpose(case):
    n, shape, weight, *settings = case
    compare(
        lambda f, _, x, w, b: getattr(f, f"conv_transpose{n}d")(x, w, b, *settings),
        [shape, weight, (weight[1] * settings[3],)],
    )


MODES = {
    1: ["nearest", "nearest-exact", "linear", "area"],
    2: ["nearest", "nearest-exact", "bilinear", "bicubic", "area"],
    3: ["nearest", "nearest-exact", "trilinear", "area"],
}
ALIGNED = ("linear", "bilinear", "bicubic", "trilinear")


@pytest.mark.parametrize(("n", "mode"), [(n, mode) for n in MODES for mode in MODES[n]])
def test_interpolate(n, mode):
    for size in (1, 3, 7, 16):
        for align in (None, True, False) if mode in ALIGNED else (None,):
            compare(
                lambda f, _, x, s=size, a=align: f.interpolate(x, s, None, mode, a), [SHAPES[n]]
            )
    for factor in (2, 1.7, 0.6):
        for again in (None, True):
            compare(
                lambda f, _, x, s=factor, r=again: f.interpolate(
                    x, None, s, mode, recompute_scale_factor=r
                ),
                [SHAPES[n]],
            )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_interpolate_without_aliasing(mode):
    for size in ((3, 4), (2, 15), (20, 3)):
        compare(
            lambda f, _, x, s=size: f.interpolate(x, s, None, mode, antialias=True), [SHAPES[2]]
        )


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_nearest_of_other_types(dtype):
    x = np.random.default_rng(0).integers(0, 99, (2, 3, 5, 7)).astype(dtype)
    result = ours.interpolate(rl.tensor(x), (8, 3))
    expected = functional.interpolate(torch.tensor(x), (8, 3))
    np.testing.assert_array_equal(result, expected)
    assert str(result.dtype).endswith(dtype)


OUTSIDE = ["zeros", "border", "reflection"]


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode, outside, align):
    compare(
        lambda f, _, x, grid: f.grid_sample(x, grid, mode, outside, align),
        [SHAPES[2], (2, 5, 4, 2)],
    )
    if mode != "bicubic":
        compare(
            lambda f, _, x, grid: f.grid_sample(x, grid, mode, outside, align),
            [SHAPES[3], (2, 3, 2, 4, 3)],
        )


@pytest.mark.parametrize("align", [True, False])
def test_affine_grid(align):
    compare(lambda f, _, maps: f.affine_grid(maps, (2, 3, 4, 5), align), [(2, 2, 3)])
    compare(lambda f, _, maps: f.affine_grid(maps, (2, 3, 1, 4, 5), align), [(2, 3, 4)])


@pytest.mark.parametrize("settings", [(2,), ((2, 3), (2, 1), (1, 0), (1, 2)), (3, 1, 1, 2)])
def test_fold_and_unfold(settings):
    compare(lambda f, _, x: f.unfold(x, *settings), [SHAPES[2]])
    compare(lambda f, _, x: f.unfold(x, *settings), [SHAPES[2][1:]])
    compare(lambda f, _, x: f.fold(f.unfold(x, *settings), SHAPES[2][2:], *settings), [SHAPES[2]])


def test_rearranging():
    compare(lambda f, _, x: f.pixel_shuffle(x, 3), [(2, 18, 4, 5)])
    compare(lambda f, _, x: f.pixel_unshuffle(x, 3), [(2, 2, 6, 9)])
    compare(lambda f, _, x: f.channel_shuffle(x, 3), [(2, 6, 4, 5)])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_local_response_norm(size):
    compare(lambda f, _, x: f.local_response_norm(x, size, 0.5, 0.7, 1.5), [(2, 5, 4, 3)])


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("n", DIMENSIONS)
def test_pad(n, mode):
    sides = (2, 1, 1, 3, 2, 2)[: 2 * n]
    compare(lambda f, _, x: f.pad(x, sides, mode), [SHAPES[n]])
