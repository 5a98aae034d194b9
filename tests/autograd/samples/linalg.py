"""Samples of the ops of linear algebra and of Fourier transforms.

Cholesky and eigh read one triangle but give a symmetric gradient: here their matrices have one
element, test_linalg_gradients.py has larger ones.
"""

import numpy as np
from sample_values import complex_values, signed

import relume as rl

_random = np.random.default_rng(5)


def _leaf(values):
    return rl.tensor(values, requires_grad=True)


def regular(*shape):
    """Square matrices that are well conditioned."""
    return _leaf(_random.normal(size=shape) * 0.4 + np.eye(shape[-1]) * 2)


def rectangular(*shape):
    """Matrices with singular values that are apart."""
    k = min(shape[-2:])
    u, _, vh = np.linalg.svd(_random.normal(size=shape), full_matrices=False)
    return _leaf((u * (1 + np.arange(k))) @ vh)


def complex_regular(*shape):
    return _leaf(regular(*shape).detach().numpy() + 1j * regular(*shape).detach().numpy() * 0.3)


def one_element(*shape):
    return _leaf(_random.uniform(1, 2, shape))


def _pivots():
    return rl.tensor([2, 3, 3], dtype="int32")


SAMPLES = {
    "linalg_lu_factor_ex": [
        (regular(3, 3),),
        (regular(2, 2, 2),),
        (signed(2, 4),),
        (signed(4, 2),),
        (complex_regular(2, 2),),
    ],
    "linalg_exchange_rows": [(signed(3, 2), _pivots()), (signed(3, 2), _pivots(), True)],
    "linalg_solve_ex": [
        (regular(3, 3), signed(3, 2)),
        (regular(2, 1, 2, 2), signed(3, 2, 1)),
        (complex_regular(2, 2), signed(2, 1)),
    ],
    "linalg_inv_ex": [(regular(3, 3),), (regular(2, 2, 2),), (complex_regular(2, 2),)],
    "linalg_det": [
        (regular(3, 3),),
        (regular(2, 2, 2),),
        (complex_regular(2, 2),),
    ],
    "linalg_slogdet": [(regular(3, 3),), (regular(2, 2, 2),), (complex_regular(2, 2),)],
    "linalg_cholesky_ex": [(one_element(1, 1),), (one_element(2, 1, 1), True)],
    "linalg_solve_triangular": [
        (regular(3, 3), signed(3, 2), True),
        (regular(2, 2, 2), signed(2, 1), False),
        (regular(2, 2), signed(3, 2), False, False),
        (regular(2, 2), signed(2, 2), True, True, True),
        (complex_regular(2, 2), complex_values(2, 2), True, False),
    ],
    "linalg_qr": [
        (rectangular(3, 3),),
        (rectangular(4, 2),),
        (rectangular(2, 4),),
        (rectangular(2, 3, 2),),
        (rectangular(2, 3), "complete"),
    ],
    "linalg_svdvals": [
        (rectangular(3, 3),),
        (rectangular(2, 4),),
        (complex_regular(2, 2),),
    ],
    "linalg_svd": [
        (rectangular(3, 3), False),
        (rectangular(4, 2), False),
        (rectangular(2, 3), False),
        (rectangular(2, 3, 2), False),
    ],
    "linalg_pinv": [
        (rectangular(3, 3), 0.0, 1e-15),
        (rectangular(4, 2), 0.0, 1e-15),
        (rectangular(2, 3), 0.0, 1e-15),
        (complex_regular(2, 2), 0.0, 1e-15),
    ],
    "linalg_lstsq": [
        (rectangular(4, 2), signed(4, 2), 1e-15),
        (rectangular(2, 3), signed(2, 1), 1e-15),
        (rectangular(2, 3, 2), signed(3, 1), 1e-15),
        (complex_regular(2, 2), signed(2, 1), 1e-15),
    ],
    "linalg_eigh": [(one_element(1, 1),)],
    "linalg_eigvalsh": [(one_element(1, 1),)],
    "linalg_eig": [(one_element(1, 1),)],
    "linalg_eigvals": [(regular(3, 3),), (complex_regular(2, 2),)],
    "linalg_matrix_exp": [(regular(3, 3),), (signed(2, 2, 2),), (complex_regular(2, 2),)],
    "fft_complex": [
        (complex_values(5), [0], 0.5, True),
        (complex_values(2, 3, 4), [0, -1], 1.0, False),
        (signed(3, 2), [0], 1.0, True),
    ],
    "fft_real": [
        (signed(6), 0, 0.5),
        (signed(2, 5), -1, 1.0),
        (signed(4, 2), 0, 1.0),
        (signed(1), 0, 2.0),
    ],
    "fft_real_inverse": [
        (complex_values(4), 0, 6, 0.5),
        (complex_values(2, 3), -1, 5, 1.0),
        (complex_values(3, 2), 0, 4, 1.0),
        (signed(3), 0, 4, 1.0),
    ],
}
