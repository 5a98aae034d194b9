"""What element-wise ops compute, in NumPy and SciPy."""

import numpy as np
from scipy import special


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    return scale * np.where(x > 0, x, alpha * np.expm1(x * input_scale))


def div(a, b, rounding_mode=None):
    quotient = a / b
    return {None: quotient, "floor": np.floor(quotient), "trunc": np.trunc(quotient)}[rounding_mode]


def clamp(x, min=None, max=None):
    return np.clip(x, min, max)


def polygamma(n, x):
    return special.polygamma(n, x)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


REFERENCES = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "add": lambda a, b, alpha=1: a + alpha * b,
    "addcdiv": lambda a, b, c, value=1: a + value * b / c,
    "addcmul": lambda a, b, c, value=1: a + value * b * c,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "bessel_j0": special.j0,
    "bessel_j1": special.j1,
    "bessel_y0": special.y0,
    "bessel_y1": special.y1,
    "betainc": special.betainc,
    "bitwise_and": np.bitwise_and,
    "bitwise_left_shift": np.left_shift,
    "bitwise_not": np.invert,
    "bitwise_or": np.bitwise_or,
    "bitwise_right_shift": np.right_shift,
    "bitwise_xor": np.bitwise_xor,
    "ceil": np.ceil,
    "celu": lambda x, alpha=1.0: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)),
    "clamp": clamp,
    "conj": np.conj,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "deg2rad": np.deg2rad,
    "digamma": special.digamma,
    "div": div,
    "elu": elu,
    "entr": special.entr,
    "eq": np.equal,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfcx": special.erfcx,
    "erfinv": special.erfinv,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "float_power": np.float_power,
    "floor": np.floor,
    "floor_divide": np.floor_divide,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "frac": lambda x: x - np.trunc(x),
    "frexp": np.frexp,
    "gammainc": special.gammainc,
    "gammaincc": special.gammaincc,
    "gcd": np.gcd,
    "ge": np.greater_equal,
    "gt": np.greater,
    "hardshrink": lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0),
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hardswish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "hardtanh": lambda x, min_val=-1, max_val=1: np.clip(x, min_val, max_val),
    "heaviside": np.heaviside,
    "hypot": np.hypot,
    "i0": special.i0,
    "i0e": special.i0e,
    "i1": special.i1,
    "i1e": special.i1e,
    "isclose": lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(
        a, b, rtol, atol, equal_nan
    ),
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "isneginf": np.isneginf,
    "isposinf": np.isposinf,
    "lcm": np.lcm,
    "ldexp": lambda a, b: a * 2.0**b,
    "le": np.less_equal,
    "leaky_relu": lambda x, slope=0.01: np.where(x > 0, x, slope * x),
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "lgamma": special.gammaln,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "log_ndtr": special.log_ndtr,
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
    "logical_and": np.logical_and,
    "logical_not": np.logical_not,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logit": lambda x, eps=None: special.logit(x if eps is None else np.clip(x, eps, 1 - eps)),
    "logsigmoid": lambda x: -np.log1p(np.exp(-x)),
    "lt": np.less,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mish": lambda x: x * np.tanh(softplus(x)),
    "mul": np.multiply,
    "nan_to_num": nan_to_num,
    "ndtr": special.ndtr,
    "ndtri": special.ndtri,
    "ne": np.not_equal,
    "neg": np.negative,
    "nextafter": np.nextafter,
    "polygamma": polygamma,
    "pow": np.power,
    "rad2deg": np.rad2deg,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "remainder": np.remainder,
    "rrelu": lambda x, lower=1 / 8, upper=1 / 3: np.where(x > 0, x, (lower + upper) / 2 * x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rsub": lambda a, b, alpha=1: b - alpha * a,
    "selu": lambda x: elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946),
    "sigmoid": sigmoid,
    "sign": np.sign,
    "signbit": np.signbit,
    "silu": lambda x: x * sigmoid(x),
    "sin": np.sin,
    "sinc": np.sinc,
    "sinh": np.sinh,
    "softplus": softplus,
    "softshrink": lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sqrt": np.sqrt,
    "square": np.square,
    "sub": lambda a, b, alpha=1: a - alpha * b,
    "tan": np.tan,
    "tanh": np.tanh,
    "tanhshrink": lambda x: x - np.tanh(x),
    "threshold": lambda x, threshold, value: np.where(x > threshold, x, value),
    "trunc": np.trunc,
    "xlog1py": special.xlog1py,
    "xlogy": special.xlogy,
    "zeta": special.zeta,
}
