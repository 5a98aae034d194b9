"""Package unsup: what its modules lose, their gradients, and the codes they find."""

import numpy as np
import pytest
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import unsup

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def table_of_connections(inputs, outputs):
    return nn.tables.full(inputs, outputs)


def gradient_is_right(module, parameter, gradient, place, value):
    """Of one parameter, by a difference."""
    before = value()
    with rl.no_grad():
        parameter[place] += 1e-6
    return (value() - before) / 1e-6 == pytest.approx(gradient[place].item(), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_autoencoders(sparse):
    encoder = nn.Sequential().add(nn.Linear(4, 3)).add(nn.Tanh())
    decoder = nn.Linear(3, 4)
    cls = unsup.SparseAutoEncoder if sparse else unsup.AutoEncoder
    module = cls(encoder, decoder, 0.5, *([0.3] if sparse else []))
    x, target = random(4), random(4)
    code = encoder.forward(x)
    expected = 0.5 * ((decoder.forward(code) - target).numpy() ** 2).sum()
    expected += 0.3 * np.abs(code.numpy()).sum() if sparse else 0
    assert module.forward(x, target) == pytest.approx(expected)
    module.zeroGradParameters()
    module.forward(x, target)
    module.backward(x, target)
    assert len(module.parameters()[0]) == 4
    layer = encoder.get(1)
    assert gradient_is_right(
        module, layer.weight, layer.gradWeight, (1, 2), lambda: module.forward(x, target)
    )
    assert module(x, target).item() == pytest.approx(module.forward(x, target))
    costly = unsup.AutoEncoder(encoder, decoder, 0.5, None, 2, nn.L1Cost())
    assert costly.forward(x, target) > module.forward(x, target)


def test_sparse_codes_are_the_best_ones():
    module = unsup.LinearFistaL1(5, 8, 0.4, {"maxiter": 500, "errthres": 1e-14})
    x = random(5)
    value = module.forward(x)
    code, weight = module.code.numpy(), module.D.weight.detach().numpy()
    rest = x.numpy() - weight @ code
    assert value == pytest.approx((rest**2).sum() + 0.4 * np.abs(code).sum())
    slope = 2 * weight.T @ rest  # what holds for the best code
    assert np.abs(slope).max() <= 0.4 + 1e-3
    np.testing.assert_allclose(slope[code != 0], 0.4 * np.sign(code[code != 0]), atol=1e-3)
    module.zeroGradParameters()
    module.backward(x)
    expected = -2 * np.outer(rest, code)
    np.testing.assert_allclose(module.D.gradWeight.numpy(), expected, atol=1e-10)
    assert module.D.gradBias.abs().sum().item() == 0
    module.updateParameters(0.1)
    module.normalize()
    np.testing.assert_allclose(np.linalg.norm(module.D.weight.detach().numpy(), axis=0), 1)


@pytest.mark.parametrize("kind", ["linear", "tanh", "tanh_shrink"])
def test_codes_are_predicted(kind):
    module = unsup.LinearPSD(5, 6, 0.3, 2.0, {"encoderType": kind})
    x = random(5)
    value = module.forward(x)
    prediction, code = module.encoder.forward(x), module.decoder.code
    own = ((prediction - code).numpy() ** 2).sum()
    rest = (module.decoder.D.forward(code) - x).numpy()
    expected = (rest**2).sum() + 0.3 * code.abs().sum().item() + 2 * own
    assert value == pytest.approx(expected)
    module.zeroGradParameters()
    module.forward(x)
    module.backward(x)
    layer = module.encoder if kind == "linear" else module.encoder.get(1)
    gradient = layer.gradBias.clone()

    def distance():
        return 2 * ((module.encoder.forward(x) - module.decoder.code).numpy() ** 2).sum()

    assert gradient_is_right(module, layer.bias, gradient, (2,), distance)
    assert module.decoder.D.gradBias.abs().sum().item() == 0
    module.normalize()
    copy = rl.loads(rl.dumps(module))
    assert copy.forward(x) == pytest.approx(module.forward(x), rel=1e-2)
    with pytest.raises(ValueError, match="encoderType"):
        unsup.LinearPSD(5, 6, 0.3, 2.0, {"encoderType": "relu"})


def test_codes_of_images():
    module = unsup.ConvPSD(table_of_connections(1, 4), 3, 3, 8, 7, 0.2, 1.0, {"maxiter": 20})
    image = random(1, 7, 8)
    value = module.forward(image)
    assert module.decoder.code.shape == (4, 5, 6)
    counts = module.decoder.Fcost.weight[0]
    assert counts[3, 4].item() == 1
    assert counts[0, 0].item() == pytest.approx(1 / 9)
    module.zeroGradParameters()
    module.forward(image)
    module.backward(image)
    module.updateParameters(0.001)
    assert module.forward(image) < value * 1.1
    module.normalize()
    kernel = module.decoder.D.weight[0].detach()
    assert difference(kernel.square().sum(), rl.tensor(1.0, **DOUBLE)) < 1e-9
