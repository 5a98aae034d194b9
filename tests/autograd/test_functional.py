"""Jacobians, Hessians and products with them, against what mathematics says."""

import numpy as np
import pytest

import relume as rl
from relume.autograd import func
from relume.autograd import functional as F


def vector(*values):
    return rl.tensor(list(values), dtype=rl.float64)


A = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]])
X = np.array([0.3, -0.7])


def linear(x):
    return rl.from_numpy(A) @ x


def two(x, y):
    return x * y.sum(), (x * x).sum()


def quartic(x):
    """f = sum_ij a_ij x_i^2 x_j^2 / 4 with a symmetric a."""
    a = rl.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=rl.float64)
    return ((x * x) @ (a @ (x * x))) / 4


def quartic_gradient(x):
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    return x * (a @ (x * x))


def quartic_hessian(x):
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    return np.diag(a @ (x * x)) + 2 * np.outer(x, x) * a


def test_jacobian_of_a_linear_function_is_its_matrix():
    np.testing.assert_allclose(F.jacobian(linear, vector(*X)).numpy(), A)
    np.testing.assert_allclose(func.jacrev(linear)(vector(*X)).numpy(), A)
    np.testing.assert_allclose(func.jacfwd(linear)(vector(*X)).numpy(), A)


def test_jacobian_of_several_inputs_and_outputs():
    x, y = vector(1.0, 2.0), vector(3.0, 4.0, 5.0)
    (first_x, first_y), (second_x, second_y) = F.jacobian(two, (x, y))
    np.testing.assert_allclose(first_x.numpy(), 12 * np.eye(2))
    np.testing.assert_allclose(first_y.numpy(), [[1.0] * 3, [2.0] * 3])
    assert second_x.tolist() == [2.0, 4.0] and second_y.tolist() == [0.0] * 3
    with pytest.raises(RuntimeError, match="strict"):
        F.jacobian(two, (x, y), strict=True)
    by_y = func.jacrev(lambda x, y: two(x, y)[0], argnums=1)(x, y)
    np.testing.assert_allclose(by_y.numpy(), [[1.0] * 3, [2.0] * 3])


def test_jacobian_shapes():
    x = rl.rand(2, 3)
    assert F.jacobian(lambda x: x.sum(0).exp(), x).shape == (3, 2, 3)
    assert F.jacobian(lambda x: x.sum(), x).shape == (2, 3)
    assert F.jacobian(lambda x: x[:0], x).shape == (0, 3, 2, 3)
    assert func.jacfwd(lambda x: x.sum(0).exp())(x).shape == (3, 2, 3)


def test_hessian():
    x = vector(*X)
    np.testing.assert_allclose(F.hessian(quartic, x).numpy(), quartic_hessian(X))
    np.testing.assert_allclose(func.hessian(quartic)(x).numpy(), quartic_hessian(X))
    (xx, xy), (yx, yy) = F.hessian(lambda x, y: (x * x * y).sum(), (vector(2.0), vector(3.0)))
    assert (xx.item(), xy.item(), yx.item(), yy.item()) == (6.0, 4.0, 4.0, 0.0)
    with pytest.raises(RuntimeError, match="one number"):
        F.hessian(lambda x: x, x)


def test_products():
    x, v, u = vector(*X), vector(2.0, -1.0), vector(1.0, 0.5, -2.0)
    value, product = F.vjp(linear, x, u)
    np.testing.assert_allclose(value.numpy(), A @ X)
    np.testing.assert_allclose(product.numpy(), u.numpy() @ A)
    value, product = F.jvp(linear, x, v)
    np.testing.assert_allclose(value.numpy(), A @ X)
    np.testing.assert_allclose(product.numpy(), A @ v.numpy())
    for function in (F.hvp, F.vhp):
        value, product = function(quartic, x, v)
        assert value.item() == pytest.approx(quartic(x).item())
        np.testing.assert_allclose(product.numpy(), quartic_hessian(X) @ v.numpy())
    _, (by_x, by_y) = F.jvp(two, (vector(1.0, 2.0), vector(3.0)), (vector(1.0, 0.0), vector(2.0)))
    assert by_x.tolist() == [5.0, 4.0] and by_y.item() == 2.0


def test_products_need_a_fitting_vector():
    x = vector(*X)
    with pytest.raises(RuntimeError, match="v is needed"):
        F.vjp(linear, x)
    with pytest.raises(ValueError, match="shapes"):
        F.vjp(linear, x, vector(1.0))
    with pytest.raises(TypeError, match="tuple of tensors"):
        F.vjp(linear, [x])


def test_functions_that_do_not_depend_on_their_inputs():
    x, v = vector(*X), vector(1.0, 1.0)
    constant = rl.ones(2, dtype=rl.float64)
    for function in (F.vjp, F.jvp):
        assert function(lambda x: constant, x, v)[1].tolist() == [0.0, 0.0]
        with pytest.raises(RuntimeError, match="strict"):
            function(lambda x: constant, x, v, strict=True)
    assert F.hvp(lambda x: x.sum(), x, v)[1].tolist() == [0.0, 0.0]


def test_results_are_on_the_tape_only_when_asked_for():
    x = vector(*X).requires_grad_()
    assert not F.jacobian(quartic, x).requires_grad
    gradient = F.jacobian(quartic, x, create_graph=True)
    (second,) = rl.grad(gradient.sum(), x)
    np.testing.assert_allclose(second.numpy(), quartic_hessian(X).sum(0))
    hessian = F.hessian(quartic, x, create_graph=True)
    (third,) = rl.grad(hessian[0, 0], x)
    np.testing.assert_allclose(third.numpy(), [12 * X[0], 2 * X[1]])


def test_gradient_functions_nest():
    derivative = rl.sin
    for expected in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin):
        derivative = func.grad(derivative)
        result = derivative(rl.tensor(0.4, dtype=rl.float64))
        assert result.item() == pytest.approx(expected(0.4)) and not result.requires_grad


def test_an_inner_gradient_sees_the_outer_variable():
    def outer(x):
        return x * func.grad(lambda y: x * y)(rl.tensor(1.0))

    # d/dx (x * d/dy (x y)) = 2 x: mixing up the two variables would give something else
    assert func.grad(outer)(rl.tensor(3.0)).item() == 6.0


def test_gradients_stay_on_the_tape_of_their_arguments():
    w = vector(2.0).requires_grad_()
    g = func.grad(lambda w, x: (w * x * x).sum(), argnums=1)(w, vector(5.0))
    assert rl.grad(g, w)[0].item() == 10.0


def test_value_and_aux():
    x = vector(1.0, 2.0)
    gradient, value = func.grad_and_value(quartic)(x)
    np.testing.assert_allclose(gradient.numpy(), quartic_gradient(x.numpy()))
    assert value.item() == quartic(x).item()
    gradient, aux = func.grad(lambda x: ((x * x).sum(), "aux"), has_aux=True)(x)
    assert gradient.tolist() == [2.0, 4.0] and aux == "aux"
    by_both = func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, vector(3.0, 4.0))
    assert [g.tolist() for g in by_both] == [[3.0, 4.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match="argnums"):
        func.grad(quartic, argnums=2)(x)
    with pytest.raises(TypeError, match="must be a Tensor"):
        func.grad(quartic)(3.0)
    with pytest.raises(RuntimeError, match="one number"):
        func.grad(lambda x: x)(x)


def test_vjp_function_can_be_used_again():
    value, back = func.vjp(linear, vector(*X))
    np.testing.assert_allclose(value.numpy(), A @ X)
    for u in np.eye(3):
        np.testing.assert_allclose(back(rl.from_numpy(u))[0].numpy(), u @ A)
    value, tangent = func.jvp(quartic, (vector(*X),), (vector(1.0, 0.0),))
    assert tangent.item() == pytest.approx(quartic_gradient(X)[0])


def test_gradient_penalty():
    """WGAN-GP: the derivative of (|grad f| - 1)^2 with respect to f's weights."""
    w = rl.tensor([[0.5, -0.3], [0.2, 0.8]], dtype=rl.float64, requires_grad=True)
    x = rl.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=rl.float64, requires_grad=True)

    def penalty(w):
        (slope,) = rl.grad((x @ w).tanh().sum(), x, create_graph=True)
        return (((slope * slope).sum(1).sqrt() - 1) ** 2).mean()

    (analytic,) = rl.grad(penalty(w), w)
    eps = 1e-6
    for i in range(2):
        for j in range(2):
            step = np.zeros((2, 2))
            step[i, j] = eps
            high, low = (penalty(w.detach() + s * rl.from_numpy(step)).item() for s in (1, -1))
            assert analytic[i, j].item() == pytest.approx((high - low) / (2 * eps), rel=1e-6)


def test_maml():
    """The gradient of a loss after one step of descent, through the step."""
    w = vector(0.5, -0.2).requires_grad_()
    rate = 0.1

    def loss(w, shift):
        return ((w.tanh() - shift) ** 2).sum()

    (inner,) = rl.grad(loss(w, 0.3), w, create_graph=True)
    (outer,) = rl.grad(loss(w - rate * inner, -0.1), w)

    a = w.detach().numpy()
    slope = 1 - np.tanh(a) ** 2
    gradient = 2 * (np.tanh(a) - 0.3) * slope
    curvature = 2 * slope**2 - 4 * (np.tanh(a) - 0.3) * np.tanh(a) * slope
    b = a - rate * gradient
    expected = 2 * (np.tanh(b) + 0.1) * (1 - np.tanh(b) ** 2) * (1 - rate * curvature)
    np.testing.assert_allclose(outer.numpy(), expected, rtol=1e-12)


# ---- vmap ----


def test_vmap_is_a_loop_over_samples():
    a, b = rl.randn(3, 2, 4), rl.randn(4, 3)
    ours = rl.vmap(lambda x, y: {"product": x @ y, "sums": (x.sum(), y)}, in_dims=(0, 1))(a, b)
    assert rl.equal(ours["product"], rl.stack([a[i] @ b[:, i] for i in range(3)]))
    assert ours["sums"][0].shape == (3,) and rl.equal(ours["sums"][1], b.T)
    outward = rl.vmap(lambda x: x, in_dims=1, out_dims=-1)(a)
    assert rl.equal(outward, a.permute(0, 2, 1))


def test_vmap_composes_with_derivatives():
    weight, x = rl.randn(3, 3, dtype=rl.float64), rl.randn(5, 3, dtype=rl.float64)

    def loss(weight, x):
        return (weight @ x).sin().sum()

    per_sample = rl.vmap(rl.func.grad(loss), in_dims=(None, 0))(weight, x)
    expected = (weight @ x.T).cos().T.unsqueeze(2) * x.unsqueeze(1)
    assert rl.allclose(per_sample, expected)
    rows = rl.func.jacrev(rl.vmap(lambda x: (x**3).sum()))(x)
    assert rl.allclose(rows, rl.eye(5, dtype=rl.float64).unsqueeze(2) * 3 * x**2)
    forward = rl.vmap(rl.func.jacfwd(rl.func.jacrev(lambda x: (x**3).sum())))(x)
    assert rl.allclose(forward, (6 * x).diag_embed())
    leaf = x.clone().requires_grad_()
    rl.vmap(rl.dot)(leaf, leaf).sum().backward()
    assert rl.allclose(leaf.grad, 2 * x)


def test_vmap_of_vmap_and_of_random_numbers():
    table = rl.vmap(rl.vmap(rl.mul, in_dims=(None, 0)), in_dims=(0, None))(
        rl.arange(3), rl.arange(4)
    )
    assert rl.equal(table, rl.arange(3).unsqueeze(1) * rl.arange(4))
    noise = {
        mode: rl.vmap(lambda x: x + rl.rand(2), randomness=mode)(rl.zeros(3, 2))
        for mode in ("different", "same")
    }
    assert not rl.equal(noise["different"][0], noise["different"][1])
    assert rl.equal(noise["same"][0], noise["same"][2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rl.vmap(rl.add)(rl.ones(2), rl.ones(3)), "one batch size"),
        (lambda: rl.vmap(rl.add, in_dims=None)(rl.ones(2), rl.ones(2)), "all None"),
        (lambda: rl.vmap(rl.exp)(rl.ones(0)), "empty batch"),
        (lambda: rl.vmap(lambda x: 1)(rl.ones(2)), "must return tensors"),
        (lambda: rl.vmap(rl.exp)(3.0), "in_dims None"),
        (lambda: rl.vmap(rl.exp, in_dims=(0, 1))(rl.ones(2)), "entries"),
    ],
)
def test_vmap_says_what_it_cannot_map(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_modules_are_called_with_other_parameters():
    layers = [rl.nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = rl.func.stack_module_state(layers)
    x = rl.randn(5, 3)
    together = rl.vmap(
        lambda own: rl.func.functional_call(layers[0], (own, buffers), (x,)), in_dims=(0,)
    )(parameters)
    assert rl.allclose(together, rl.stack([layer(x) for layer in layers]))
    together.sum().backward()
    assert parameters["weight"].grad.shape == (4, 2, 3)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobian_takes_pytorch_s_strategies(strategy):
    x = rl.randn(3)
    expected = rl.autograd.functional.jacobian(rl.sin, x)
    given = rl.autograd.functional.jacobian(rl.sin, x, vectorize=True, strategy=strategy)
    assert rl.equal(given, expected)
    with pytest.raises(ValueError, match="strategy"):
        rl.autograd.functional.jacobian(rl.sin, x, strategy="backwards")
