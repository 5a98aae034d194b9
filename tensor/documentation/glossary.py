"""What the types and the arguments of registered ops mean, in words."""

from __future__ import annotations

TYPES = {
    "Tensor": "Tensor",
    "Tensor|Scalar": "Tensor or number",
    "Scalar": "number",
    "Tensor[]": "list of tensors",
    "int": "int",
    "int[]": "int or tuple of ints",
    "float": "float",
    "bool": "bool",
    "dtype": "dtype",
    "str": "str",
}

ARGUMENTS = {
    "accumulate": "add to what is there instead of replacing it",
    "align_corners": "the corner elements of both grids lie on each other",
    "alpha": "a factor",
    "beta": "a factor",
    "bias": "added to each output channel",
    "ceil_mode": "a last window that is only partly inside counts too",
    "condition": "where to take `input`; not zero is true",
    "correction": "what is taken from the number of elements before dividing (1: Bessel's)",
    "count_include_pad": "padding counts as elements of the mean",
    "descending": "the largest first",
    "diagonal": "0 is the main diagonal, positive ones are above it",
    "dilation": "the distance between the elements of the kernel, per dimension",
    "dim": "0-based; negative ones count from the end",
    "dims": "0-based; negative ones count from the end",
    "dim0": "0-based; negative ones count from the end",
    "dim1": "0-based; negative ones count from the end",
    "dim2": "0-based; negative ones count from the end",
    "dimension": "0-based; negative ones count from the end",
    "dtype": "the type of the result",
    "divisor_override": "what sums are divided by, instead of the number of elements",
    "eps": "added for numerical stability",
    "groups": "the number of groups that channels are split into",
    "index": "0-based positions",
    "indices": "0-based positions",
    "input": "what the op works on",
    "keepdim": "keep the reduced dimensions with size 1",
    "kernel_size": "the size of the window, per dimension",
    "largest": "the largest ones; otherwise the smallest",
    "mask": "bool, broadcast to `input`",
    "momentum": "the part of the new statistics in the running ones",
    "other": "the second operand",
    "output_padding": "added to one side of the output, per dimension",
    "output_size": "the size of the output, per dimension",
    "padding": "added on both sides of the input, per dimension",
    "reduction": "'none', 'mean' or 'sum' over the elements",
    "shape": "the sizes of the dimensions",
    "size": "the sizes of the dimensions",
    "stable": "equal elements keep their order",
    "stride": "the step of the window, per dimension",
    "training": "as in training; otherwise as in evaluation",
    "weight": "the parameters that `input` meets",
}


def describe_type(name: str) -> str:
    """A type of a schema in words.

    >>> describe_type("int[]?")
    'int or tuple of ints, optional'
    """
    if name.startswith("("):
        return "tuple of " + ", ".join(describe_type(part) for part in name[1:-1].split(", "))
    if name == "Tensor?[]":
        return "list of tensors or None"
    plain = name.removesuffix("?")
    return TYPES[plain] + (", optional" if name.endswith("?") else "")


def describe_argument(name: str, type_name: str) -> str:
    """What an argument means; empty where its name says it all."""
    if name in ("indices", "index") and not type_name.startswith("Tensor"):
        return "0-based position"
    return ARGUMENTS.get(name.rstrip("_"), "")
