"""Layers that change every element on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relume import Tensor
from relume.converters.pytorch.families.fields import given, number, weights
from relume.converters.pytorch.layers import Call, Weight
from relume.converters.pytorch.rules import rule

# Rows: old class, new class, arguments as (name, field), code.
ROWS: list[tuple[str, str, tuple[tuple[str, str], ...], str | None]] = [
    ("nn.Tanh", "nn.Tanh", (), "torch.tanh({0})"),
    ("nn.Sigmoid", "nn.Sigmoid", (), "torch.sigmoid({0})"),
    ("nn.ReLU6", "nn.ReLU6", (), None),
    ("nn.LeakyReLU", "nn.LeakyReLU", (("negative_slope", "negval"),), None),
    ("nn.ELU", "nn.ELU", (("alpha", "alpha"),), None),
    ("nn.HardTanh", "nn.Hardtanh", (("min_val", "min_val"), ("max_val", "max_val")), None),
    ("nn.Clamp", "nn.Hardtanh", (("min_val", "min_val"), ("max_val", "max_val")), None),
    ("nn.SoftPlus", "nn.Softplus", (("beta", "beta"),), None),
    ("nn.SoftSign", "nn.Softsign", (), None),
    ("nn.LogSigmoid", "nn.LogSigmoid", (), None),
    ("nn.TanhShrink", "nn.Tanhshrink", (), None),
    ("nn.SoftShrink", "nn.Softshrink", (("lambd", "lambda"),), None),
    ("nn.HardShrink", "nn.Hardshrink", (("lambd", "lambda"),), None),
    ("nn.Abs", "Abs", (), None),
    ("nn.WhiteNoise", "WhiteNoise", (("mean", "mean"), ("std", "std")), None),
]

# Old classes that are one of torch's functions: its name and the fields that it takes.
FUNCTIONS: list[tuple[str, str, tuple[str, ...]]] = [
    ("nn.Square", "square", ()),
    ("nn.Exp", "exp", ()),
    ("nn.Log", "log", ()),
    ("nn.Power", "pow", ("pow",)),
]


def add_row(old: str, new: str, fields: tuple, code: str | None) -> None:
    def constructor(layer: Any, around: Any) -> Call:
        arguments = {name: number(getattr(layer, field)) for name, field in fields}
        return Call(new, arguments, len(arguments) if len(arguments) == 1 else 0, code=code)

    rule(old)(constructor)


def add_function(old: str, function: str, fields: tuple[str, ...]) -> None:
    def constructor(layer: Any, around: Any) -> Call:
        arguments = {field: number(getattr(layer, field)) for field in fields}
        extra = "".join(f", {value}" for value in arguments.values())
        code = f"torch.{function}({{0}}{extra})"
        return Call("Pointwise", {"name": function, **arguments}, 1 + len(fields), code=code)

    rule(old)(constructor)


for _row in ROWS:
    add_row(*_row)
for _function in FUNCTIONS:
    add_function(*_function)


@rule("nn.Sqrt")
def sqrt(layer: Any, around: Any) -> Call:
    return Call("Sqrt")


def with_constant(helper: str, tensor_helper: str) -> Any:
    """A rule for a constant that may be a number or a tensor."""

    def constructor(layer: Any, around: Any) -> Call:
        constant = layer.constant_scalar
        if not isinstance(constant, Tensor):
            return Call(helper, {"constant": number(constant)}, 1)
        shape = {f"size{i}": n for i, n in enumerate(constant.shape)}
        return Call(tensor_helper, shape, len(shape), (Weight("constant", (constant,)),))

    return constructor


rule("nn.MulConstant")(with_constant("MulConstant", "MulTensor"))
rule("nn.AddConstant")(with_constant("AddConstant", "AddTensor"))


@rule("nn.Threshold", "nn.ReLU")
def threshold(layer: Any, around: Any) -> Call:
    limit, value = number(layer.threshold), number(layer.val)
    if limit == 0 and value == 0:
        return Call("nn.ReLU", code="torch.relu({0})")
    return Call("nn.Threshold", {"threshold": limit, "value": value}, 2)


@rule("nn.PReLU")
def prelu(layer: Any, around: Any) -> Call:
    count = layer.weight.numel()
    return Call("PReLU", {"num_parameters": count}, 1, weights(layer, "weight"))


@rule("nn.RReLU")
def rrelu(layer: Any, around: Any) -> Call:
    return Call("RReLU", {"lower": number(layer.lower), "upper": number(layer.upper)}, 2)


@rule("nn.CReLU")
def crelu(layer: Any, around: Any) -> Call:
    return Call("CReLU", {"sample_dims": int(layer.nInputDims)}, 1)


@rule("nn.GatedLinearUnit")
def gated(layer: Any, around: Any) -> Call:
    dim = None if layer.dim is None else int(layer.dim) - 1
    return Call("nn.GLU", given(dim=dim), 1)


@rule("nn.Dropout")
def dropout(layer: Any, around: Any) -> Call:
    arguments = {"p": number(layer.p)}
    if layer.stochastic_inference:
        return Call("AlwaysDropout", arguments, 1)
    return Call("nn.Dropout" if layer.v2 else "OldDropout", arguments, 1)


@rule("nn.SpatialDropout", "nn.VolumetricDropout")
def spatial_dropout(layer: Any, around: Any) -> Call:
    dims = None if layer.plane_dims == 2 else layer.plane_dims
    return Call("SpatialDropout", {"p": number(layer.p), **given(plane_dims=dims)}, 1)


def penalty(layer: Any, around: Any) -> Call:
    options = given(
        average=True if layer.sizeAverage else None,
        keep_gradient=None if layer.provideOutput else False,
    )
    return Call("L1Penalty", {"weight": number(layer.l1weight), **options}, 1)


def reversal(layer: Any, around: Any) -> Call:
    return Call("GradientReversal", {"factor": number(layer.__dict__.get("lambda", 1))}, 1)


GRADIENTS: list[tuple[str, Callable[[Any, Any], Call]]] = [
    ("nn.L1Penalty", penalty),
    ("nn.GradientReversal", reversal),
    ("nn.ZeroGrad", lambda layer, around: Call("ZeroGrad")),
]
for _name, _constructor in GRADIENTS:
    rule(_name)(_constructor)
