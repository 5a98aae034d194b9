"""Third derivatives of a sample of ops: gradgradcheck of the gradient."""

import pytest
from sample_values import distinct, positive, signed

import relume as rl
from relume.autograd import gradgradcheck

OPS = {
    "exp": (lambda x: x.exp(), [signed(3)]),
    "log": (lambda x: x.log(), [positive(3)]),
    "tanh": (lambda x: x.tanh(), [signed(3)]),
    "sigmoid": (lambda x: x.sigmoid(), [signed(3)]),
    "sqrt": (lambda x: x.sqrt(), [positive(3)]),
    "pow": (lambda x, y: x**y, [positive(2), signed(2)]),
    "div": (lambda x, y: x / y, [signed(2, 1), positive(2)]),
    "erf": (lambda x: x.erf(), [signed(2)]),
    "softplus": (lambda x: rl.softplus(x), [signed(2)]),
    "matmul": (lambda x, y: (x @ y) * (x @ y), [signed(2, 2), signed(2, 1)]),
    "softmax": (lambda x: x.softmax(-1), [signed(3)]),
    "log_softmax": (lambda x: x.log_softmax(-1), [signed(3)]),
    "logsumexp": (lambda x: x.logsumexp(0), [signed(3)]),
    "sum": (lambda x: (x.sum(0, keepdim=True) * x) ** 2, [signed(2, 2)]),
    "prod": (lambda x: x.prod(0), [positive(4)]),
    "var": (lambda x: x.var(0), [signed(4)]),
    "cumsum": (lambda x: x.cumsum(0) ** 3, [signed(3)]),
    "index": (lambda x: x[[0, 2, 2]] ** 3, [signed(3)]),
    "sort": (lambda x: x.sort(0)[0] ** 3, [distinct(3)]),
    "where": (lambda x: rl.where(x > 0, x**3, x.exp()), [signed(3)]),
    "in place": (lambda x: (x * 1).mul_(x).exp_(), [signed(2)]),
    "view in place": (lambda x: overwrite_a_part(x), [signed(3)]),
    "checkpoint": (lambda x: rl.autograd.checkpoint(lambda x: x.tanh().exp(), x), [signed(2)]),
}


def overwrite_a_part(x):
    y = x * x
    y[1:].mul_(x[:2].exp())
    return y


@pytest.mark.parametrize("name", OPS)
def test_third_derivative(name):
    function, inputs = OPS[name]

    def gradient(*inputs):
        with rl.enable_grad():
            own = [x if x.requires_grad else x.detach().requires_grad_() for x in inputs]
            result = function(*own)
            weights = 1 + rl.arange(result.numel(), dtype=rl.float64).reshape(result.shape)
            return rl.grad((result * weights).sum(), own, create_graph=True)

    gradgradcheck(gradient, inputs)
