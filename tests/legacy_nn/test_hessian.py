"""nn.hessian: diagonals of second derivatives, against Torch7 and against mathematics."""

import numpy as np
import pytest
from golden_cases import DATA, difference

import relume as rl
from relume import legacy_nn as nn

CASES = rl.load(DATA / "misc" / "hessian.t7").cases.as_list()
DOUBLE = {"dtype": rl.float64}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_torch7s_diagonals(case):
    """What the Lua script of the case does."""
    nn.hessian.enable()
    net, criterion, x, results = case.module, nn.MSECriterion(), case.inputs.x, case.results
    net.initDiagHessianParameters()
    output = net.forward(x)
    assert criterion.forward(output, case.inputs.y) == pytest.approx(results.loss, rel=1e-12)
    diagonal = criterion.updateDiagHessianInput(output, case.inputs.y)
    assert difference(diagonal, results.criterion) < 1e-12
    assert difference(net.updateDiagHessianInput(x, diagonal), results.input) < 1e-12
    net.accDiagHessianParameters(x, diagonal)
    expected = results.params.as_list()
    for found, value in zip(net.diagHessianParameters(), expected, strict=True):
        assert difference(found, value) < 1e-12


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: nn.Linear(4, 3), (4,)),
        (lambda: nn.SpatialConvolution(2, 3, 2, 2), (2, 3, 4)),
        (lambda: nn.TemporalConvolution(3, 2, 2), (4, 3)),
        (lambda: nn.VolumetricConvolution(1, 2, 2, 2, 2), (1, 3, 2, 2)),
        (lambda: nn.CMul(3), (3,)),
        (lambda: nn.Sigmoid(), (5,)),
        (lambda: nn.Square(), (2, 3)),
        (lambda: nn.Transpose([1, 2]), (2, 3)),
        (lambda: nn.SpatialMaxPooling(2, 2), (1, 4, 4)),
    ],
)
def test_the_input_gets_squared_derivatives(layer, shape):
    """The diagonal of J'HJ for a diagonal H is the sum of squared derivatives times H."""
    layer, x = layer(), rl.randn(*shape, **DOUBLE)
    diagonal = rl.rand(*layer.forward(x).shape, **DOUBLE)
    jacobian = nn.Jacobian.backward(layer, x).numpy()
    expected = (np.square(jacobian) @ diagonal.numpy().ravel()).reshape(shape)
    np.testing.assert_allclose(layer.updateDiagHessianInput(x, diagonal).numpy(), expected)


def test_parameters_add_up_and_are_flat_together():
    net = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh()).add(nn.Linear(2, 1))
    flat, _, flat_diagonal = nn.hessian.getParameters(net)
    assert flat.shape == flat_diagonal.shape == (11,)
    x, diagonal = rl.randn(4, 3, **DOUBLE), rl.ones(4, 1, **DOUBLE)
    net.forward(x)
    net.backwardDiagHessian(x, diagonal)
    once = flat_diagonal.clone()
    np.testing.assert_allclose(once[-1].item(), 4)
    net.backwardDiagHessian(x, diagonal)
    np.testing.assert_allclose(flat_diagonal.numpy(), 2 * once.numpy())


def test_a_class_without_a_rule_is_named():
    net, x = nn.Sequential().add(nn.SoftMax()), rl.ones(3, **DOUBLE)
    net.forward(x)
    with pytest.raises(NotImplementedError, match=r"nn\.SoftMax: nn\.hessian knows no rule"):
        net.updateDiagHessianInput(x, x)
    with pytest.raises(ValueError, match="initDiagHessianParameters"):
        nn.Linear(3, 1).accDiagHessianParameters(x, rl.ones(1, **DOUBLE))
