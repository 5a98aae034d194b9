"""Special functions that are composed of ops, against SciPy."""

import math

import numpy as np
import pytest
from scipy import special

import relume as rl
from relume.tensor.orthogonal_polynomials import FUNCTIONS as POLYNOMIALS

RANDOM = np.random.default_rng(3)
POSITIVE = np.concatenate(
    [10.0 ** RANDOM.uniform(-8, 2.5, 500), [2.0, np.nextafter(2.0, 0), 1e-300, np.inf]]
)
OUTSIDE = np.array([0.0, -1.0, np.nan])

# Name here: SciPy's.
OF_ONE = {
    "k0": special.k0,
    "k1": special.k1,
    "k0e": special.k0e,
    "k1e": special.k1e,
    "spherical_bessel_j0": lambda x: special.spherical_jn(0, x),
    "log_expit": special.log_expit,
}
OF_TWO = {
    "beta": special.beta,
    "betaln": special.betaln,
    "rel_entr": special.rel_entr,
    "kl_div": special.kl_div,
}
FAMILIES = {
    "chebyshev_polynomial_t": special.eval_chebyt,
    "chebyshev_polynomial_u": special.eval_chebyu,
    "hermite_polynomial_h": special.eval_hermite,
    "hermite_polynomial_he": special.eval_hermitenorm,
    "laguerre_polynomial_l": special.eval_laguerre,
    "legendre_polynomial_p": special.eval_legendre,
    "shifted_chebyshev_polynomial_t": special.eval_sh_chebyt,
    "shifted_chebyshev_polynomial_u": special.eval_sh_chebyu,
}


def third_kind(n, x):
    angle = np.arccos(x)
    return np.cos((n + 0.5) * angle) / np.cos(angle / 2)


def fourth_kind(n, x):
    angle = np.arccos(x)
    return np.sin((n + 0.5) * angle) / np.sin(angle / 2)


FAMILIES["chebyshev_polynomial_v"] = third_kind
FAMILIES["chebyshev_polynomial_w"] = fourth_kind
FAMILIES["shifted_chebyshev_polynomial_v"] = lambda n, x: third_kind(n, 2 * x - 1)
FAMILIES["shifted_chebyshev_polynomial_w"] = lambda n, x: fourth_kind(n, 2 * x - 1)


@pytest.mark.parametrize("name", OF_ONE)
def test_function_of_one_number(name):
    x = POSITIVE if name != "spherical_bessel_j0" else POSITIVE[POSITIVE < 3]
    x = np.concatenate([x, [np.nan]]) if "bessel" in name or "log" in name else np.r_[x, OUTSIDE]
    function = getattr(rl.special, name)
    with np.errstate(all="ignore"):
        expected = OF_ONE[name](x)
    np.testing.assert_allclose(function(rl.tensor(x)), expected, rtol=3e-13, atol=1e-300)
    np.testing.assert_allclose(
        function(rl.tensor(x[:500], dtype="float32")), expected[:500], rtol=2e-4, atol=1e-30
    )


@pytest.mark.parametrize("name", OF_TWO)
def test_function_of_two_numbers(name):
    a, b = RANDOM.uniform(0.1, 9, (2, 300))
    if name in ("rel_entr", "kl_div"):
        a[:4], b[:4] = [0, 1, -1, np.nan], [0, 0, 1, 1]
    result = getattr(rl.special, name)(rl.tensor(a), rl.tensor(b))
    np.testing.assert_allclose(result, OF_TWO[name](a, b), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("degree", [0, 1, 2, 5, np.arange(-1, 8)])
def test_polynomials(name, degree):
    x = RANDOM.uniform(0.05, 0.95, (20, 1))
    expected = np.where(np.asarray(degree) < 0, 0, FAMILIES[name](np.maximum(degree, 0), x))
    given = rl.tensor(degree) if isinstance(degree, np.ndarray) else degree
    result = getattr(rl.special, name)(rl.tensor(x), given)
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["k0", "k1", "k0e", "k1e", "legendre_polynomial_p"])
def test_gradients(name):
    x = rl.tensor([0.3, 1.9, 2.5, 7.0], dtype="float64", requires_grad=True)
    function = getattr(rl.special, name)
    call = (lambda t: function(t, 3)) if "polynomial" in name else function
    assert rl.autograd.gradcheck(call, (x,))
    assert rl.autograd.gradgradcheck(call, (x,))


def test_airy_function():
    x = np.concatenate([np.linspace(-40, 25, 999), [-1.0, 0.0, 1.0, 90.0]])
    value, slope = special.airy(x)[:2]
    t = rl.tensor(x, requires_grad=True)
    result = rl.special.airy_ai(t)
    result.sum().backward()
    for ours, theirs in ((result.detach(), value), (t.grad, slope)):
        right = x >= 0  # where there are no zeros
        np.testing.assert_allclose(ours.numpy()[right], theirs[right], rtol=1e-11)
        np.testing.assert_allclose(ours.numpy()[~right], theirs[~right], atol=1e-12)
    ends = rl.special.airy_ai(rl.tensor([math.inf, -math.inf, math.nan]))
    np.testing.assert_array_equal(ends, [0, 0, np.nan])


def test_the_whole_part_of_a_degree_counts():
    x = rl.tensor([0.5, 2.5])
    halves = rl.special.legendre_polynomial_p(x, rl.tensor([2.7, 3.0]))
    np.testing.assert_array_equal(halves, rl.special.legendre_polynomial_p(x, rl.tensor([2, 3])))
