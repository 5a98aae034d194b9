"""Containers: chains become nn.Sequential, branches become code."""

from __future__ import annotations

from typing import Any

from relume.converters.pytorch.families.fields import given, place
from relume.converters.pytorch.layers import Call
from relume.converters.pytorch.rules import Code, rule
from relume.converters.pytorch.statements import Value


@rule("nn.Sequential")
def sequential(layer: Any, around: Any) -> Call | Code:
    modules = list(layer.modules)
    if len(modules) == 1:
        return around.rule(modules[0])
    neighbours = zip(modules, [around.after, *modules], strict=False)
    made = [around.part(module, before) for module, before in neighbours]
    if all(isinstance(part, Call) for part in made):
        arguments = {str(position): part for position, part in enumerate(made)}
        return Call("nn.Sequential", arguments, len(arguments))

    def write(scope: Any, value: Value) -> Value:
        before = around.after
        for step, module in enumerate(modules, 1):
            value = scope.inside(step, lambda m=module, v=value, b=before: scope.emit(m, v, b))
            before = module
        return value

    return Code(write, is_own_class=True, class_name=name_of_chain(modules))


def name_of_chain(modules: list[Any]) -> str:
    """What a class for a chain might be called."""
    kinds = [getattr(module, "torch_typename", "") for module in modules]
    if kinds[:2] == ["nn.ConcatTable", "nn.CAddTable"]:
        return "Residual"
    return "Block"


def branches(layer: Any, scope: Any, values: list[Value]) -> list[Value]:
    """The outputs of all modules, each from its value."""
    outputs = []
    for step, (module, value) in enumerate(zip(layer.modules, values, strict=False), 1):
        outputs.append(scope.inside(step, lambda m=module, v=value: scope.emit(m, v)))
    return outputs


@rule("nn.ConcatTable")
def concat_table(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Value) -> Value:
        return tuple(branches(layer, scope, [value] * len(layer.modules)))

    return Code(write, class_name="Branches")


@rule("nn.ParallelTable")
def parallel_table(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Value) -> Value:
        parts = scope.body.elements(value, len(layer.modules))
        return tuple(branches(layer, scope, list(parts)))

    return Code(write, class_name="Branches")


@rule("nn.Concat")
def concat(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Value) -> Value:
        outputs = tuple(branches(layer, scope, [value] * len(layer.modules)))
        return scope.body.assign("", f"torch.cat({{0}}, dim={place(layer.dimension)})", outputs)

    return Code(write, class_name="Branches")


@rule("nn.DepthConcat")
def depth_concat(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Value) -> Value:
        outputs = tuple(branches(layer, scope, [value] * len(layer.modules)))
        return scope.apply(Call("DepthConcat", {"dim": place(layer.dimension)}, 1), outputs, layer)

    return Code(write, class_name="Branches")


@rule("nn.Parallel")
def parallel(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Value) -> Value:
        dim = place(layer.inputDimension)
        slices = [
            scope.body.assign("", f"{{0}}.select({dim}, {i})", value)
            for i in range(len(layer.modules))
        ]
        outputs = tuple(branches(layer, scope, slices))
        return scope.body.assign(
            "", f"torch.cat({{0}}, dim={place(layer.outputDimension)})", outputs
        )

    return Code(write, class_name="Branches")


@rule("nn.MapTable")
def map_table(layer: Any, around: Any) -> Call | Code:
    if not layer.shared and len(layer.modules) > 1:
        return parallel_table(layer, around)  # clones that have weights of their own by now
    return Call("MapElements", {"layer": around.call(layer.module)}, 1)


@rule("nn.Bottle")
def bottle(layer: Any, around: Any) -> Call:
    dims = int(layer.nInputDim)
    return Call(
        "Bottle",
        {"layer": around.call(layer.modules[0]), **given(dims=dims if dims != 2 else None)},
        1,
    )


@rule("nn.Decorator", "nn.NaN", "nn.GPU", "nn.Profile")
def decorator(layer: Any, around: Any) -> Call | Code:
    """Layers that only watch the one inside."""
    return around.rule(layer.modules[0], around.after)


@rule("nn.PrintSize")
def print_size(layer: Any, around: Any) -> Call:
    return Call("nn.Identity", code="{0}")


@rule("nn.DontCast")
def dont_cast(layer: Any, around: Any) -> Call | Code:
    if not (layer.castin or layer.castout):
        return around.rule(layer.modules[0], around.after)
    output = given(cast_output=None if layer.castout else False)
    return Call("CastAround", {"layer": around.call(layer.modules[0]), **output}, 1)
