"""Writes relume/_C.pyi and relume/__init__.pyi from the registry and the templates here."""

from __future__ import annotations

import inspect
from pathlib import Path

from relume import _C
from relume.tensor import aliases
from relume.tensor.functions import WRITTEN_HERE

TEMPLATES = Path(__file__).parent
PACKAGE = TEMPLATES.parent.parent
WRITTEN_BY_HAND = {f.__name__ for f in WRITTEN_HERE}

TYPES = {
    "Tensor": "Tensor",
    "Tensor|Scalar": "Operand",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "Scalar": "Number",
    "int": "builtins.int",
    "int[]": "Integers",
    "float": "builtins.float",
    "bool": "builtins.bool",
    "dtype": "DType",
    "str": "builtins.str",
}
OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def python_type(schema_type: str) -> str:
    """The annotation for a type of the schema language."""
    plain = schema_type.removesuffix("?")
    return TYPES[plain] + (" | None" if plain != schema_type else "")


def result_type(schema_result: str) -> str:
    """The annotation for what an op returns."""
    if schema_result.startswith("("):
        return f"tuple[{', '.join(['Tensor'] * (schema_result.count(',') + 1))}]"
    return "list[Tensor]" if schema_result == "Tensor[]" else "Tensor"


def parameters(signature: inspect.Signature) -> list[str]:
    """The parameters as text; a last required int[] may also be given one by one."""
    own = list(signature.parameters.values())
    positional = [p for p in own if p.kind is not p.KEYWORD_ONLY]
    result = []
    for parameter in own:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in result and not loose(positional):
            result.append("*")
        text = f"{parameter.name}: {python_type(parameter.annotation)}"
        if loose(positional) and parameter is positional[-1]:
            text = f"*{text}"
        if parameter.default is not parameter.empty:
            default = parameter.default
            text += f" = {tuple(default) if isinstance(default, list) else default!r}"
        result.append(text)
    return result


def loose(positional: list[inspect.Parameter]) -> bool:
    """Does the last positional parameter take integers one by one?"""
    return bool(positional) and (
        positional[-1].annotation == "int[]" and positional[-1].default is inspect.Parameter.empty
    )


def declaration(name: str, function: _C.OpFunction, row: dict, indent: str, is_method: bool) -> str:
    """One `def` of a stub."""
    signature = inspect.signature(function)
    arguments = parameters(signature)
    if is_method:
        arguments[0] = "self"
    elif "not_differentiable" in row["traits"] and "dtype" in signature.parameters:
        arguments += ["device: Any = None", "requires_grad: builtins.bool = False"]
    elif not {"no_out", "view", "in_place"} & set(row["traits"]):
        if not any(a.startswith("*") for a in arguments):
            arguments.append("*")
        arguments.append("out: Any = None")
    if "random" in row["traits"]:
        if not any(a.startswith("*") for a in arguments):
            arguments.append("*")
        arguments.append("generator: Any = None")
    result = result_type(signature.return_annotation)
    return f"{indent}def {name}({', '.join(arguments)}) -> {result}: ..."


def is_public(row: dict) -> bool:
    """Is the op meant for users?"""
    return "internal" not in row["traits"]


def methods(template: str) -> str:
    """The ops that are methods, their in-place forms and the operators.

    Args:
        template: the text around them, whose own methods are left out.
    """
    lines = []
    for row in sorted(_C.registry(), key=lambda row: row["name"]):
        name = row["name"]
        if not is_public(row) or getattr(_C.Tensor, name, None) is not _C.ops[name]:
            continue
        if f"    def {name}(" in template:  # an op with more forms than its schema says
            continue
        lines.append(declaration(name, _C.ops[name], row, "    ", is_method=True))
        if row["has_in_place_form"]:
            lines.append(declaration(f"{name}_", _C.ops[name], row, "    ", is_method=True))
    for alias, name in aliases.ALIASES.items():
        for suffix in ("", "_"):
            if hasattr(_C.Tensor, name + suffix) and hasattr(_C.Tensor, alias + suffix):
                lines.append(f"    {alias}{suffix} = {name}{suffix}")
            elif hasattr(_C.Tensor, alias + suffix):  # a method under this name alone
                lines.append(f"    {alias}{suffix}: Callable[..., Tensor]")
    for name in OPERATORS:
        for prefix in ("", "r", "i"):
            if (name, prefix) != ("matmul", "i"):
                lines.append(f"    def __{prefix}{name}__(self, other: Operand) -> Tensor: ...")
    for name in COMPARISONS:
        ignored = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        lines.append(f"    def __{name}__(self, other: Any) -> Tensor: ...{ignored}")
    lines += [
        f"    def __{name}__(self) -> Tensor: ..." for name in ("neg", "pos", "abs", "invert")
    ]
    return "\n".join(lines).removeprefix("    ")


def functions() -> str:
    """The ops that are functions of the package."""
    lines = []
    for row in sorted(_C.registry(), key=lambda row: row["name"]):
        hidden = {"internal", "method_only", "in_place"} & set(row["traits"])
        if not hidden and row["name"] not in WRITTEN_BY_HAND:
            lines.append(declaration(row["name"], _C.ops[row["name"]], row, "", is_method=False))
    lines += [f"{alias} = {name}" for alias, name in aliases.ALIASES.items()]
    return "\n".join(lines)


def written() -> str:
    """The functions that are written in Python, from where they are."""
    lines = {f"from {f.__module__} import {f.__name__} as {f.__name__}" for f in WRITTEN_HERE}
    return "\n".join(sorted(lines))


def stubs() -> dict[Path, str]:
    """The files and what they should hold."""
    template = (TEMPLATES / "core.pyi.in").read_text()
    core = template.replace("@METHODS@", methods(template))
    package = (TEMPLATES / "package.pyi.in").read_text()
    package = package.replace("@WRITTEN@", written()).replace("@FUNCTIONS@", functions())
    return {PACKAGE / "_C.pyi": core, PACKAGE / "__init__.pyi": package}


def main() -> None:
    """Writes the stubs."""
    for path, text in stubs().items():
        path.write_text(text)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
