"""Layers that take tables: mostly a line of code each."""

from __future__ import annotations

from typing import Any

from relume.converters.pytorch.families.fields import given, place
from relume.converters.pytorch.families.shapes import dims_of
from relume.converters.pytorch.layers import Call, Cannot
from relume.converters.pytorch.rules import Code, rule
from relume.converters.pytorch.statements import Value, variables_in

MOST_IN_A_LINE = 5  # more terms of a sum go into a loop


@rule("nn.Identity")
def identity(layer: Any, around: Any) -> Call:
    return Call("nn.Identity", code="{0}")


def elementwise(operator: str, helper: str, hint: str) -> Any:
    """A rule for a sum or product of all elements."""

    def constructor(layer: Any, around: Any) -> Code:
        def write(scope: Any, value: Value) -> Value:
            if isinstance(value, tuple) and 1 < len(value) <= MOST_IN_A_LINE and operator:
                return in_one_shape(scope, value, operator, hint)
            return scope.apply(Call(helper), value, layer, hint)

        return Code(write, class_name=helper)

    return constructor


rule("nn.CAddTable")(elementwise("+", "Add", ""))
rule("nn.CMulTable")(elementwise("*", "Multiply", ""))
rule("nn.CMaxTable")(elementwise("", "Largest", "largest"))
rule("nn.CMinTable")(elementwise("", "Smallest", "smallest"))


def in_one_shape(scope: Any, values: tuple[Value, ...], operator: str, hint: str = "") -> Value:
    """Elements combined; in the shape of the first one where their shapes may differ."""
    parts = [f"{{{place}}}" for place in range(len(values))]
    if any(getattr(value, "may_broadcast", False) for value in values):
        parts[1:] = [f"{part}.view_as({{0}})" for part in parts[1:]]
    result = scope.body.assign(hint, f" {operator} ".join(parts), *values)
    result.may_broadcast = getattr(values[0], "may_broadcast", False)
    result.is_tensor = True
    return result


def combination(operator: str) -> Any:
    """A rule for an operator between the first two elements."""

    def constructor(layer: Any, around: Any) -> Code:
        return Code(
            lambda scope, value: in_one_shape(scope, scope.body.elements(value, 2)[:2], operator),
            class_name="Combination",
        )

    return constructor


def of_two(template: str) -> Any:
    """A rule for code with the first two elements."""

    def constructor(layer: Any, around: Any) -> Code:
        def write(scope: Any, value: Value) -> Value:
            return scope.body.assign("", template, *scope.body.elements(value, 2)[:2])

        return Code(write, class_name="Combination")

    return constructor


rule("nn.CSubTable")(combination("-"))
rule("nn.CDivTable")(combination("/"))
rule("nn.DotProduct")(of_two("({0} * {1}).sum(-1).reshape(-1)"))
rule("nn.MaskedSelect")(of_two("{0}.masked_select({1} != 0)"))


@rule("nn.MM")
def matrix_product(layer: Any, around: Any) -> Code:
    first = "{0}.transpose(-1, -2)" if layer.transA else "{0}"
    second = "{1}.transpose(-1, -2)" if layer.transB else "{1}"
    return of_two(f"{first} @ {second}")(layer, around)


@rule("nn.MV")
def matrix_vector(layer: Any, around: Any) -> Code:
    matrix = "{0}.transpose(-1, -2)" if layer.trans else "{0}"
    return of_two(f"({matrix} @ {{1}}.unsqueeze(-1)).squeeze(-1)")(layer, around)


@rule("nn.Index")
def index(layer: Any, around: Any) -> Code:
    return of_two(f"{{0}}.index_select({place(layer.dimension)}, {{1}}.long() - 1)")(layer, around)


@rule("nn.JoinTable")
def join(layer: Any, around: Any) -> Code:
    dim = place(layer.dimension)

    def write(scope: Any, value: Value) -> Value:
        if layer.nInputDims is None or dim < 0:
            return scope.body.assign("", f"torch.cat({{0}}, dim={dim})", value)
        call = Call("Join", {"dim": dim, **dims_of(layer.nInputDims)}, 1)
        return scope.apply(call, value, layer)

    return Code(write, class_name="Join")


@rule("nn.SplitTable")
def split(layer: Any, around: Any) -> Call:
    dim = place(layer.dimension)
    is_fixed = layer.nInputDims is None or dim < 0
    code = f"{{0}}.unbind({dim})" if is_fixed else None
    return Call("Split", {"dim": dim, "sample_dims": layer.nInputDims}, 2, code=code)


@rule("nn.SelectTable")
def select_table(layer: Any, around: Any) -> Code:
    if isinstance(layer.index, str):
        raise Cannot("it takes an element by a name; tuples have none")
    return Code(lambda scope, value: scope.body.element(value, place(layer.index)))


@rule("nn.NarrowTable")
def narrow_table(layer: Any, around: Any) -> Code:
    start, length = int(layer.offset) - 1, int(layer.length)

    def write(scope: Any, value: Value) -> Value:
        if isinstance(value, tuple):
            return value[start : start + length]
        return scope.body.assign("", f"{{0}}[{start}:{start + length}]", value)

    return Code(write)


@rule("nn.FlattenTable")
def flatten_table(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Value) -> Value:
        if isinstance(value, tuple) and all(v.is_tensor for v in variables_in(value)):
            return tuple(variables_in(value))
        return scope.body.assign("", "flattened({0})", value)

    return Code(write)


@rule("nn.ZipTable")
def zip_table(layer: Any, around: Any) -> Code:
    return Code(lambda scope, value: scope.body.assign("", "tuple(zip(*{0}, strict=True))", value))


@rule("nn.ZipTableOneToMany")
def zip_one_to_many(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Value) -> Value:
        one, many = scope.body.elements(value, 2)[:2]
        return scope.body.assign("pairs", "tuple(({0}, other) for other in {1})", one, many)

    return Code(write)


@rule("nn.CAddTensorTable")
def add_tensor(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Value) -> Value:
        one, many = scope.body.elements(value, 2)[:2]
        return scope.body.assign("sums", "tuple(other + {0} for other in {1})", one, many)

    return Code(write)


@rule("nn.MixtureTable")
def mixture(layer: Any, around: Any) -> Call:
    return Call("Mixture", given(dim=None if layer.dim is None else int(layer.dim) - 1))
