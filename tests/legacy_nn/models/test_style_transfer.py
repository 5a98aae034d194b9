"""Layers of the style transfer projects, against their definitions in NumPy."""

import warnings

import numpy as np
import pytest
from golden_cases import difference
from object_loading import loaded

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def test_instance_normalisation_of_batches_and_single_images():
    layer, x = nn.InstanceNormalization(3), random(2, 3, 4, 5)
    layer.bias.copy_(random(3))
    a = x.numpy()
    mean, variance = (f((2, 3), keepdims=True) for f in (a.mean, a.var))
    expected = (a - mean) / np.sqrt(variance + 1e-5)
    expected = expected * layer.weight.numpy()[:, None, None] + layer.bias.numpy()[:, None, None]
    np.testing.assert_allclose(layer.forward(x).numpy(), expected, rtol=1e-9)
    layer.evaluate()
    np.testing.assert_allclose(layer.forward(x[1]).numpy(), expected[1], rtol=1e-9)
    assert rl.autograd.gradcheck(layer, [random(2, 3, 2, 2).requires_grad_()])
    plain = nn.InstanceNormalization(3, None, None, False)
    assert plain.parameters() == ([], [])
    with pytest.raises(ValueError, match="3xHxW"):
        layer.forward(random(2, 4, 4, 4))


def test_files_with_a_batch_normalisation_inside_load():
    inner = nn.SpatialBatchNormalization(6)
    layer = loaded(
        "nn.InstanceNormalization", nOutput=3, eps=1e-3, prev_N=2, bn=inner,
        weight=rl.ones(3, **DOUBLE), bias=rl.zeros(3, **DOUBLE),
    )  # fmt: skip
    y = layer.forward(random(1, 3, 8, 8))
    assert abs(y.mean().item()) < 1e-9


@pytest.mark.parametrize("name", ["TotalVariation", "TVLoss"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 4, 5)])
def test_total_variation(name, shape):
    layer, x, g = getattr(nn, name)(0.3), random(*shape), random(*shape)
    assert difference(layer.forward(x), x) == 0
    a = x.numpy()
    inner, right, below = a[..., :-1, :-1], a[..., :-1, 1:], a[..., 1:, :-1]
    expected = np.zeros_like(a)
    expected[..., :-1, :-1] += 2 * inner - right - below
    expected[..., :-1, 1:] += right - inner
    expected[..., 1:, :-1] += below - inner
    expected = 0.3 * expected + g.numpy()
    np.testing.assert_allclose(layer.backward(x, g).numpy(), expected, rtol=1e-12)


def test_leftovers_of_training_say_so_when_loaded():
    with pytest.warns(UserWarning, match=r"nn\.TVLoss is left over from training"):
        layer = loaded("nn.TVLoss", strength=1e-3)
    net = nn.Sequential().add(layer).add(nn.Tanh())
    assert net.forward(rl.zeros(1, 3, 3)).shape == (1, 3, 3)


def test_gram_matrix():
    x = random(2, 3, 4, 5)
    flat = x.numpy().reshape(2, 3, 20)
    products = flat @ flat.transpose(0, 2, 1)
    np.testing.assert_allclose(nn.GramMatrix().forward(x).numpy(), products / 60, rtol=1e-12)
    # neural-style's has no field for it
    plain = loaded("nn.GramMatrix")
    np.testing.assert_allclose(plain.forward(x[0]).numpy(), products[0], rtol=1e-12)
    assert rl.autograd.gradcheck(nn.GramMatrix(), [random(2, 3, 3).requires_grad_()])


def test_content_loss_in_its_modes():
    layer, target, x = nn.ContentLoss(2.0), random(1, 3, 2, 2), random(2, 3, 2, 2)
    g = random(2, 3, 2, 2)
    assert layer.forward(x) is x
    assert layer.backward(x, g) is g
    layer.setMode("capture")
    layer.forward(target)
    layer.setMode("loss")
    layer.forward(x)
    delta = x.numpy() - target.numpy()
    assert layer.loss == pytest.approx(2 * (delta**2).mean())
    expected = g.numpy() + 2 * 2 * delta / delta.size
    np.testing.assert_allclose(layer.backward(x, g).numpy(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="capture, loss or none"):
        layer.setMode("on")


@pytest.mark.parametrize("kind", ["gram", "mean"])
def test_style_loss(kind):
    layer = nn.StyleLoss(3.0, "L2", kind)
    target, x, g = random(1, 2, 3, 3), random(1, 2, 3, 3), random(1, 2, 3, 3)
    layer.setMode("capture")
    layer.forward(target)
    layer.setMode("loss")
    layer.forward(x)

    def features(t):
        flat = t.reshape(1, 2, 9)
        return flat @ flat.transpose(1, 2) / 18 if kind == "gram" else t.mean((2, 3))

    leaf = x.clone().requires_grad_()
    loss = 3 * (features(leaf) - features(target)).square().mean()
    assert layer.loss == pytest.approx(loss.item())
    (own,) = rl.grad(loss, [leaf])
    assert difference(layer.backward(x, g), own + g) < 1e-12


def test_style_loss_of_neural_style_files():
    """Its Gram matrix is a network, divided by the elements of the input; no mode."""
    gram = nn.Sequential().add(nn.View(-1).setNumInputDims(2))
    gram.add(nn.ConcatTable().add(nn.Identity()).add(nn.Identity())).add(nn.MM(False, True))
    x = random(2, 3, 3)
    flat = x.reshape(2, 9)
    target = random(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = loaded(
            "nn.StyleLoss", strength=5.0, normalize=True, target=target, gram=gram,
            crit=nn.MSECriterion(), loss=0,
        )  # fmt: skip
    layer.forward(x)
    leaf = x.clone().requires_grad_()
    flat = leaf.reshape(2, 9)
    loss = (flat @ flat.t() / 18 - target).square().mean()
    assert layer.loss == pytest.approx(5 * loss.item())
    (own,) = rl.grad(loss, [leaf])
    expected = 5 * own / (own.abs().sum() + 1e-8)
    assert difference(layer.backward(x, rl.zeros_like(x)), expected) < 1e-9


def test_a_content_loss_that_does_not_fit_its_target_passes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = loaded(
            "nn.ContentLoss", strength=1.0, target=random(3, 4, 4), normalize=False,
            crit=nn.MSECriterion(),
        )  # fmt: skip
    x = random(3, 5, 5)
    assert layer.forward(x) is x
    g = random(3, 5, 5)
    assert layer.backward(x, g) is g


def test_perceptual_criterion_adds_up_the_losses_in_its_network():
    content, style = nn.ContentLoss(1.0), nn.StyleLoss(2.0)
    net = nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3)).add(content).add(style)
    criterion = loaded(
        "nn.PerceptualCriterion", net=net, content_loss_layers=rl.Table([content]),
        style_loss_layers=rl.Table([style]),
    )  # fmt: skip
    image, other, x = random(1, 1, 5, 5), random(1, 1, 5, 5), random(1, 1, 5, 5)
    total = criterion.forward(x, {"content_target": image, "style_target": other})
    assert total == pytest.approx(content.loss + style.loss)
    assert total > 0
    step = 1e-6
    gradient = criterion.backward(x, {})
    moved = x.clone()
    moved[0, 0, 2, 2] += step
    slope = (criterion.forward(moved, {}) - total) / step
    assert gradient[0, 0, 2, 2].item() == pytest.approx(slope, rel=1e-3)


def test_shave_image():
    layer, x = nn.ShaveImage(1), random(2, 3, 4, 5)
    assert difference(layer.forward(x), x[:, :, 1:3, 1:4]) == 0
    gradient = layer.backward(x, rl.ones(2, 3, 2, 3, **DOUBLE))
    assert gradient.sum().item() == 2 * 3 * 2 * 3
    assert gradient[0, 0, 0].abs().sum().item() == 0
    with pytest.raises(ValueError, match="larger than twice 2"):
        nn.ShaveImage(2).forward(x)
