"""Resampling and sampling at grids against NumPy and SciPy."""

import numpy as np
import pytest
from scipy import ndimage

import relume as rl
from relume.nn.functional import interpolate

SHAPES = {1: (2, 3, 9), 2: (2, 3, 6, 7), 3: (1, 2, 4, 5, 6)}
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def random(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def sampled(x, positions, order=1, mode="nearest"):
    """Every plane at the same positions (one list per dimension), which span a grid."""
    grid = np.meshgrid(*positions, indexing="ij")
    planes = [
        ndimage.map_coordinates(plane, grid, order=order, mode=mode)
        for plane in x.reshape(-1, *x.shape[2:])
    ]
    return np.stack(planes).reshape(*x.shape[:2], *grid[0].shape)


@pytest.mark.parametrize("n", SHAPES)
def test_linear_interpolation_between_aligned_corners(n):
    x = random(SHAPES[n])
    for size in (1, 2, 5, 12):
        positions = [
            np.linspace(0, length - 1, size) if size > 1 else np.zeros(1) for length in x.shape[2:]
        ]
        result = interpolate(rl.tensor(x), size, mode=LINEAR[n], align_corners=True)
        np.testing.assert_allclose(result, sampled(x, positions), atol=1e-12)


@pytest.mark.parametrize("n", SHAPES)
def test_linear_interpolation_between_centers(n):
    x = random(SHAPES[n])
    for size in (3, 7, 14):
        positions = [(np.arange(size) + 0.5) * length / size - 0.5 for length in x.shape[2:]]
        result = interpolate(rl.tensor(x), size, mode=LINEAR[n])
        np.testing.assert_allclose(result, sampled(x, positions), atol=1e-12)


@pytest.mark.parametrize("n", SHAPES)
def test_nearest_neighbours(n):
    x = random(SHAPES[n])
    for size in (2, 4, 13):
        for mode, shift in (("nearest", 0), ("nearest-exact", 0.5)):
            places = [
                np.floor((np.arange(size) + shift) * length / size).astype(int)
                for length in x.shape[2:]
            ]
            expected = x[(..., *np.ix_(*places))]
            np.testing.assert_array_equal(interpolate(rl.tensor(x), size, mode=mode), expected)


def test_bicubic_interpolation_keeps_elements_and_weighs_four_between_them():
    x = random((1, 1, 1, 9))
    line = x[0, 0, 0]
    result = interpolate(rl.tensor(x), (1, 17), mode="bicubic", align_corners=True).numpy().ravel()
    np.testing.assert_allclose(result[::2], line, atol=1e-12)
    # Keys' kernel with a = -3/4, half-way between elements: 19/32 inside, -3/32 outside.
    between = (19 * (line[1:-2] + line[2:-1]) - 3 * (line[:-3] + line[3:])) / 32
    np.testing.assert_allclose(result[3:-2:2], between, atol=1e-12)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_without_aliasing_a_constant_stays_and_a_checkerboard_vanishes(mode):
    ones = interpolate(rl.ones(1, 1, 16, 16), (5, 3), mode=mode, antialias=True)
    np.testing.assert_allclose(ones, 1, atol=1e-6)
    board = rl.tensor((np.indices((32, 32)).sum(0) % 2 * 2.0 - 1)[None, None])
    assert interpolate(board, 8, mode=mode, antialias=True).abs().amax().item() < 0.02


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_the_gradient_is_the_adjoint(mode):
    x = rl.tensor(random((1, 2, 5, 6)), requires_grad=True)
    y = interpolate(x, (8, 3), mode=mode)
    weights = rl.tensor(random((1, 2, 8, 3), 1))
    (y * weights).sum().backward()
    assert (x.grad * x).sum().item() == pytest.approx((y * weights).sum().item())


def test_half_floats_and_empty_batches():
    x = random((1, 2, 4, 4))
    for dtype, tolerance in (("float16", 2e-3), ("bfloat16", 2e-2)):
        small = rl.tensor(x).to(getattr(rl, dtype))
        result = interpolate(small, 7, mode="bilinear")
        assert result.dtype == getattr(rl, dtype)
        expected = interpolate(small.to(rl.float64), 7, mode="bilinear")
        np.testing.assert_allclose(result.to(rl.float64), expected, atol=tolerance)
    assert tuple(interpolate(rl.zeros(0, 2, 4, 4), 7).shape) == (0, 2, 7, 7)


def test_settings_that_do_not_fit():
    x = rl.ones(1, 1, 4, 4)
    for arguments, match in (
        ({"size": 2, "scale_factor": 2}, "either size or scale_factor"),
        ({}, "either size or scale_factor"),
        ({"size": 2, "mode": "linear"}, "does not take an input"),
        ({"size": 2, "align_corners": True}, "align_corners is for"),
        ({"size": 2, "mode": "cubic"}, "mode must be one of"),
        ({"size": (1, 2, 3)}, "one number or 2"),
        ({"size": 0}, "at least 1"),
        ({"scale_factor": -1.0}, "must be positive"),
    ):
        with pytest.raises(ValueError, match=match):
            interpolate(x, **arguments)


# ---- grids ----


def to_coordinates(positions, length, align):
    return 2 * positions / (length - 1) - 1 if align else (2 * positions + 1) / length - 1


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("n", [2, 3])
def test_grid_sample_interpolates(n, align):
    x = random(SHAPES[n])
    points = [np.random.default_rng(n).uniform(-2, length + 1, 40) for length in x.shape[2:]]
    coordinates = [
        to_coordinates(p, length, align) for p, length in zip(points, x.shape[2:], strict=True)
    ]
    grid = np.stack(coordinates[::-1], -1).reshape(1, *(1,) * (n - 1), 40, n)
    grid = rl.tensor(grid).expand(x.shape[0], *grid.shape[1:])
    for outside, mode in (("border", "nearest"), ("zeros", "grid-constant")):
        result = rl.grid_sample(rl.tensor(x), grid, "bilinear", outside, align)
        planes = [
            ndimage.map_coordinates(plane, points, order=1, mode=mode)
            for plane in x.reshape(-1, *x.shape[2:])
        ]
        np.testing.assert_allclose(result.numpy().reshape(-1, 40), planes, atol=1e-12)


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_the_identity_grid_changes_nothing(mode, align):
    x = rl.tensor(random(SHAPES[2]))
    identity = rl.tensor([[[1.0, 0, 0], [0, 1, 0]]] * 2, dtype=rl.float64)
    grid = rl.affine_grid(identity, x.shape, align)
    np.testing.assert_allclose(rl.grid_sample(x, grid, mode, "zeros", align), x, atol=1e-12)


def test_a_quarter_turn():
    x = rl.tensor(random((1, 2, 5, 5)))
    turn = rl.tensor([[[0.0, 1, 0], [-1, 0, 0]]], dtype=rl.float64)
    result = rl.grid_sample(x, rl.affine_grid(turn, x.shape, False), align_corners=False)
    np.testing.assert_allclose(result, np.rot90(x.numpy(), -1, (2, 3)), atol=1e-12)


def test_points_at_infinity_are_outside():
    grid = rl.tensor([[[[float("nan"), 0.0], [float("inf"), 0.0], [1e30, -1e30]]]])
    assert rl.grid_sample(rl.ones(1, 1, 3, 3), grid).tolist() == [[[[0.0, 0.0, 0.0]]]]
    for outside in ("border", "reflection"):
        result = rl.grid_sample(rl.ones(1, 1, 3, 3), grid, "bilinear", outside, False)
        assert result.tolist() == [[[[1.0, 1.0, 1.0]]]]


def test_third_derivatives_of_bicubic_samples():
    x = rl.tensor(random((1, 1, 6, 6)))
    start = rl.tensor([[[[0.13, -0.27]]]], dtype=rl.float64)

    def third(point):
        point = point.detach().requires_grad_()
        value = rl.grid_sample(x, point, "bicubic", "zeros", False).sum()
        for _ in range(3):
            value = rl.grad(value, point, create_graph=True)[0][..., 0].sum()
        return value.item()

    def second(shift):
        point = (start + rl.tensor([shift, 0.0], dtype=rl.float64)).requires_grad_()
        value = rl.grid_sample(x, point, "bicubic", "zeros", False).sum()
        for _ in range(2):
            value = rl.grad(value, point, create_graph=True)[0][..., 0].sum()
        return value.item()

    step = 1e-3
    assert third(start) == pytest.approx((second(step) - second(-step)) / (2 * step), rel=1e-6)


def test_grid_sample_refuses_what_does_not_fit():
    x, grid = rl.ones(1, 1, 3, 3), rl.zeros(1, 2, 2, 2)
    for arguments, match in (
        ((x, rl.zeros(1, 2, 2, 3)), "grid must have shape"),
        ((x, rl.zeros(2, 2, 2, 2)), "grid must have shape"),
        ((x, grid, "cubic"), "mode must be"),
        ((x, grid, "bilinear", "wrap"), "padding_mode must be"),
        ((rl.ones(3, 3), grid), "input must have shape"),
        ((rl.ones(1, 1, 2, 3, 3), rl.zeros(1, 1, 1, 1, 3), "bicubic"), "for planes only"),
        ((rl.ones(1, 1, 0, 3), grid), "has no elements"),
    ):
        with pytest.raises(ValueError, match=match):
            rl.grid_sample(*arguments)
