"""Special functions and the arithmetic that few programs need."""

from sample_values import distinct, integers, positive, signed

_ONE = [(signed(2, 3),), (signed(),), (signed(2, 0),)]
_ONE_NAMES = (
    "erfc erfcx erfinv ndtr log_ndtr i0 i0e i1 i1e sinc exp2 asinh atanh nan_to_num "
    "deg2rad rad2deg digamma lgamma"
).split()
_POSITIVE_NAMES = "entr ndtri bessel_j0 bessel_j1 bessel_y0 bessel_y1 lgamma digamma".split()

SAMPLES = {
    **dict.fromkeys(_ONE_NAMES, _ONE),
    **{name: [(positive(2, 3),), (positive(),)] for name in _POSITIVE_NAMES},
    "acosh": [(positive(2, 3) + 1.5,)],
    "logit": [(positive(2, 3),), (positive(2, 3), 0.3)],
    "mvlgamma": [(positive(2, 3), 1), (positive(2) + 1.5, 3)],
    "polygamma": [(1, positive(2, 3)), (3, positive(2)), (0, positive(2))],
    "xlogy": [(signed(2, 3), positive(3)), (signed(2), 0.7), (0.7, positive(2))],
    "xlog1py": [(signed(2, 3), positive(3)), (signed(2), 0.7), (0.7, positive(2))],
    "logaddexp": [(signed(2, 3), signed(3)), (signed(2), 0.7)],
    "logaddexp2": [(signed(2, 3), signed(3)), (signed(2), 0.7)],
    "zeta": [(2.5, positive(2, 3)), (integers(2, 3), positive(2, 2))],
    "gammainc": [(0.7, positive(2, 3)), (2.5, positive(2))],
    "gammaincc": [(0.7, positive(2, 3)), (2.5, positive(2))],
    "betainc": [(0.7, 1.5, positive(2, 3)), (2.5, 0.5, positive(2))],
    "hypot": [(signed(2, 3), signed(3)), (signed(2), 0.7), (0.7, signed(2))],
    "ldexp": [(signed(2, 3), signed(3)), (signed(3), integers(1, -2, 0))],
    "frexp": [(signed(2, 3),)],
    "copysign": [(signed(2, 3), signed(3)), (signed(2), -0.7)],
    "fmax": [(distinct(2, 3), distinct(2, 3) + 0.1), (distinct(3), 0.0)],
    "fmin": [(distinct(2, 3), distinct(2, 3) + 0.1), (distinct(3), 0.0)],
    "rsub": [(signed(2, 3), signed(3)), ((signed(2), 2.0), {"alpha": 0.5})],
    "float_power": [(positive(2, 3), signed(3)), (positive(2), 2)],
    "div": [
        (signed(2, 3), signed(3)),
        (signed(2), 2.5),
        (3, signed(2)),
        ((signed(2, 3), positive(3)), {"rounding_mode": "floor"}),
    ],
    "clamp": [
        (signed(2, 3), -0.4, 0.5),
        (signed(4), None, 0.1),
        (signed(4), 0.1),
        (distinct(2, 3), distinct(3) + 0.1, distinct(2, 1) + 0.71),
        (distinct(2, 3), 0.0, distinct(3) + 0.1),
    ],
}
