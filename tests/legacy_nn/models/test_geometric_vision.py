"""Points, cameras and rotations of package gvnn."""

import numpy as np
import pytest
from golden_cases import difference
from layer_checks import check_gradients
from scipy.spatial.transform import Rotation

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}
CAMERA = (4, 5, 3.0, 2.5, 2.0, 1.5)  # height, width, fx, fy, u0, v0


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def rays():
    rows, columns = np.meshgrid(np.arange(1, 5), np.arange(1, 6), indexing="ij")
    return np.stack([(columns - 2.0) / 3.0, (rows - 1.5) / 2.5, np.ones((4, 5))], 2)


def test_rotations():
    axes = random(5, 3)
    axes[2] = 0
    layer = nn.TransformationRotationSO3()
    expected = Rotation.from_rotvec(axes.numpy()).as_matrix()
    np.testing.assert_allclose(layer.forward(axes).numpy(), expected, atol=1e-12)
    gradient = layer.backward(axes, random(5, 3, 3))
    assert not gradient.isnan().any().item()
    check_gradients(layer, random(2, 3))


def test_points_of_pixels():
    depths = rl.rand(2, 4, 5, **DOUBLE) + 1
    points = nn.Transform3DPoints_depth(*CAMERA).forward(depths)
    np.testing.assert_allclose(points.numpy(), rays() * depths.numpy()[..., None], rtol=1e-12)
    rotations = nn.TransformationRotationSO3().forward(random(2, 3))
    turned = nn.Transform3DPoints_R(*CAMERA).forward(rotations)
    expected = np.einsum("bij,hwj->bhwi", rotations.numpy(), rays())
    np.testing.assert_allclose(turned.numpy(), expected, rtol=1e-10)
    single = nn.Transform3DPoints_R(*CAMERA).forward(rotations[1])
    assert difference(single, turned[1]) < 1e-12
    matrices = random(2, 3, 4)
    moved = nn.Transform3DPoints_Rt(*CAMERA).forward([matrices, depths])
    expected = np.einsum("bij,bhwj->bhwi", matrices.numpy()[:, :, :3], points.numpy())
    expected += matrices.numpy()[:, None, None, :, 3]
    np.testing.assert_allclose(moved.numpy(), expected, rtol=1e-10)
    check_gradients(nn.Transform3DPoints_Rt(*CAMERA), matrices, depths)
    with pytest.raises(ValueError, match="as many depths"):
        nn.Transform3DPoints_Rt(*CAMERA).forward([matrices[:1], depths])


def test_a_pixel_shows_its_own_point():
    depths = rl.rand(2, 4, 5, **DOUBLE) + 1
    points = nn.Transform3DPoints_depth(*CAMERA).forward(depths)
    pixels = nn.PinHoleCameraProjectionBHWD(*CAMERA).forward(points)
    rows, columns = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 5), indexing="ij")
    np.testing.assert_allclose(pixels[1].numpy(), np.stack([columns, rows], 2), atol=1e-9)
    turned = nn.ReverseXYOrder().forward(pixels)
    assert difference(turned[..., 0], pixels[..., 1]) == 0
