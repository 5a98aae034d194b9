"""What every op is in PyTorch: a table of expressions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import relume as rl
from relume.converters.graph import Node, Size
from relume.converters.graph.recording import traits
from relume.converters.pytorch.layers import Cannot

__all__ = ["Expression", "expression_of", "literal"]

Texts = dict[str, str]  # the arguments as text
Expression = Callable[[Node, Texts], str]


def literal(value: Any) -> str:
    """A plain argument as Python writes it.

    >>> literal(float("inf")), literal("mean")
    ('float("inf")', '"mean"')
    """
    if isinstance(value, rl.dtype):
        return f"torch.{str(value).removeprefix('relume.')}"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return f'"{value}"' if isinstance(value, str) else repr(value)


def template(text: str) -> Expression:
    """An expression with the arguments by name: "{input} * {other}"."""
    return lambda node, given: text.format(**given)


def call(name: str, *named: str) -> Expression:
    """A function of PyTorch with the op's arguments in order, those in `named` by name."""

    def write(node: Node, given: Texts) -> str:
        ordered = [text for argument, text in given.items() if argument not in named]
        by_name = [f"{argument}={given[argument]}" for argument in named]
        return f"{name}({', '.join([*ordered, *by_name])})"

    return write


def scaled(sign: str, name: str) -> Expression:
    """A sum or difference, of which one part may be multiplied."""

    def write(node: Node, given: Texts) -> str:
        if node.arguments["alpha"] == 1:
            return f"{given['input']} {sign} {given['other']}"
        return f"torch.{name}({given['input']}, {given['other']}, alpha={given['alpha']})"

    return write


def divided(node: Node, given: Texts) -> str:
    rounding = node.arguments["rounding_mode"]
    if rounding is None:
        return f"{given['input']} / {given['other']}"
    return call("torch.div", "rounding_mode")(node, given)


def reduced(name: str) -> Expression:
    """Along dimensions, or over everything."""

    def write(node: Node, given: Texts) -> str:
        dtype = node.arguments.get("dtype")
        kind = "" if dtype is None else f", dtype={given['dtype']}"
        if node.arguments["dim"] in (None, []):
            return f"{given['input']}.{name}({kind.removeprefix(', ')})"
        return f"{given['input']}.{name}({given['dim']}, keepdim={given['keepdim']}{kind})"

    return write


def sliced(node: Node, given: Texts) -> str:
    rank = node.arguments["input"].rank
    before = ":, " * (int(node.arguments["dim"]) % rank)
    start, stop, step = (
        "" if node.arguments[name] is None else given[name] for name in ("start", "stop", "step")
    )
    return f"{given['input']}[{before}{start}:{stop}{'' if step in ('', '1') else f':{step}'}]"


def split(node: Node, given: Texts) -> str:
    dim = int(node.arguments["dim"])
    sizes = [output.shape[dim] for output in node.outputs]
    if any(isinstance(size, Size) for size in sizes):
        raise Cannot("splits a size that is free")
    return f"{given['input']}.split({[int(size) for size in sizes]}, {dim})"


def made(name: str) -> Expression:
    """A new tensor, on the device of the default."""

    def write(node: Node, given: Texts) -> str:
        value = f", {given['fill_value']}" if "fill_value" in given else ""
        kind = "" if node.arguments.get("dtype") is None else f", dtype={given['dtype']}"
        return f"torch.{name}({given['size']}{value}{kind})"

    return write


# Ops with the name, the order of arguments and the meaning that PyTorch has.
SAME = """abs acos argsort asin atan atan2 bmm ceil cos cosh cumprod cumsum eq erf exp expm1 floor
    fmod gather ge gt index_select isfinite isinf isnan le log log10 log1p log2 log_softmax
    logical_and logical_not logical_or lt masked_fill matmul maximum minimum mm mv ne neg nonzero
    pow reciprocal relu remainder round rsqrt sigmoid sign sin sinh softmax sqrt square squeeze
    stack tan tanh transpose tril triu trunc unbind unsqueeze where cat flip permute outer dot t
    conv1d conv2d conv3d index_add index_copy scatter scatter_add take bitwise_and roll""".split()

EXPRESSIONS: dict[str, Expression] = {
    **{name: call(f"torch.{name}") for name in SAME},
    "add": scaled("+", "add"),
    "sub": scaled("-", "sub"),
    "mul": template("{input} * {other}"),
    "div": divided,
    "linear": call("F.linear"),
    "addmm": call("torch.addmm", "beta", "alpha"),
    "baddbmm": call("torch.baddbmm", "beta", "alpha"),
    "clamp": call("torch.clamp", "min", "max"),
    "argmax": call("torch.argmax"),
    "argmin": call("torch.argmin"),
    "sort": template("torch.sort({input}, dim={dim}, descending={descending}, stable=True)"),
    "topk": call("torch.topk"),
    "narrow": template("{input}.narrow({dim}, {start}, {length})"),
    "select": template("{input}.select({dim}, {index})"),
    "slice": sliced,
    **dict.fromkeys(("reshape", "view", "flatten"), template("{input}.reshape({shape})")),
    "expand": template("{input}.expand({shape})"),
    "repeat": template("{input}.repeat({repeats})"),
    "unfold": template("{input}.unfold({dimension}, {size}, {step})"),
    "to_dtype": template("{input}.to({dtype})"),
    **dict.fromkeys(("split", "chunk"), split),
    **{name: reduced(name) for name in ("sum", "mean", "prod", "amax", "amin")},
    "arange": template("torch.arange({start}, {end}, {step}, dtype={dtype})"),
    "full": made("full"),
    **{name: made(name) for name in ("zeros", "ones", "empty")},
    "leaky_relu": call("F.leaky_relu"),
    "softplus": call("F.softplus"),
    "adaptive_max_pool2d": template(
        "F.adaptive_max_pool2d({input}, {output_size}, return_indices=True)"
    ),
    "adaptive_avg_pool2d": call("F.adaptive_avg_pool2d"),
}


def expression_of(node: Node) -> Expression:
    """What a call of an op is in PyTorch.

    Raises:
        Cannot: the table has no such op.
    """
    found = EXPRESSIONS.get(node.op)
    if "random" in traits().get(node.op, frozenset()):
        raise Cannot("it draws random numbers when it evaluates, too")
    if found is None:
        raise Cannot(f"there is no counterpart of {node.op}() in PyTorch that is known here")
    return found
