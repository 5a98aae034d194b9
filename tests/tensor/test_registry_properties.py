"""What holds for every op of the registry, whatever it computes.

The arguments are the samples of the gradient tests. The layout of a tensor in memory changes no
result, inputs stay as they are, and the forms of an op (out=, in place) agree.
"""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import relume as rl

_place = Path(__file__).parents[1] / "autograd" / "op_samples.py"
_spec = importlib.util.spec_from_file_location("op_samples", _place)
op_samples = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(op_samples)

# Random ops draw anew at each call; what memory an `empty` tensor has is anybody's guess.
SAMPLED = [
    row
    for row in rl._C.registry()
    if op_samples.samples_of(row) and "random" not in row["traits"] and "empty" not in row["name"]
]
# These look at the storage itself, so that another layout means another result.
OF_THE_STORAGE = {"as_strided", "as_strided_gather", "as_strided_scatter", "as_strided_backward"}
# These give a view, and refuse where that would be a copy: what their message must say.
NEED_A_LAYOUT = {"view": "reshape", "view_as_complex": "stride"}
WITHOUT_OUT = {"no_out", "view", "in_place", "composite", "internal"}


def transposed(tensor):
    """The same elements, in memory with the dimensions in reverse order."""
    order = tuple(range(tensor.ndim))[::-1]
    return tensor.permute(order).clone().permute(order)


def spread(tensor):
    """The same elements, with gaps between them and an offset."""
    if not tensor.ndim:
        return rl.stack([tensor, tensor])[1]
    wide = rl.full((*tensor.shape[:-1], 2 * tensor.shape[-1] + 1), 99).to(tensor.dtype)
    view = wide.slice(-1, 1, None, 2)
    view.copy_(tensor)
    return view


def reversed_in_memory(tensor):
    """The same elements, in memory from the last to the first."""
    dims = tuple(range(tensor.ndim))
    turned = tensor.flip(dims) if dims else tensor
    for dim in dims:
        turned = turned.slice(dim, None, None, -1)
    return turned


LAYOUTS = {"transposed": transposed, "spread": spread, "reversed": reversed_in_memory}


def mapped(value, function):
    """Arguments with a function applied to each tensor."""
    if isinstance(value, rl.Tensor):
        return function(value.detach())
    if isinstance(value, list | tuple):
        return type(value)(mapped(item, function) for item in value)
    return value


def results(value):
    """The outputs of an op as a list of arrays."""
    tensors = value if isinstance(value, list | tuple) else [value]
    return [np.array(tensor.numpy()) for tensor in tensors]


def call(row, arguments, keywords, **more):
    plain = {name: mapped(value, lambda tensor: tensor) for name, value in keywords.items()}
    return rl._C.ops[row["name"]](*arguments, **plain, **more)


def assert_same(got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def fresh(arguments):
    return mapped(arguments, lambda tensor: tensor.clone())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", SAMPLED, ids=lambda row: row["name"])
def test_layout_in_memory_changes_no_result(row, layout):
    if row["name"] in OF_THE_STORAGE or (row["name"] == "view" and layout != "spread"):
        pytest.skip("looks at the strides")
    for arguments, keywords in op_samples.samples_of(row):
        expected = results(call(row, fresh(arguments), keywords))
        relaid = mapped(arguments, LAYOUTS[layout])
        if row["name"] in NEED_A_LAYOUT and not all(t.is_contiguous() for t in leaves(relaid)):
            try:
                got = call(row, relaid, keywords)
            except ValueError as error:
                assert re.search(NEED_A_LAYOUT[row["name"]], str(error))
                continue
        else:
            got = call(row, relaid, keywords)
        assert_same(results(got), expected)


@pytest.mark.parametrize("row", SAMPLED, ids=lambda row: row["name"])
def test_inputs_stay_as_they_are(row):
    for arguments, keywords in op_samples.samples_of(row):
        given = fresh(arguments)
        before = results(list(leaves(given)))
        call(row, given, keywords)
        changed = 1 if "in_place" in row["traits"] else 0
        assert_same(results(list(leaves(given)))[changed:], before[changed:])


def leaves(value):
    if isinstance(value, rl.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)


@pytest.mark.parametrize(
    "row",
    [row for row in SAMPLED if not WITHOUT_OUT & set(row["traits"])],
    ids=lambda row: row["name"],
)
def test_out_gets_the_result(row):
    for arguments, keywords in op_samples.samples_of(row):
        expected = call(row, fresh(arguments), keywords)
        if isinstance(expected, list):
            continue
        outs = mapped(expected if isinstance(expected, tuple) else (expected,), spread)
        target = outs if isinstance(expected, tuple) else outs[0]
        given = call(row, fresh(arguments), keywords, out=target)
        assert given is target
        assert_same(results(target), results(expected))


@pytest.mark.parametrize(
    "row",
    [row for row in SAMPLED if not WITHOUT_OUT & set(row["traits"])],
    ids=lambda row: row["name"],
)
def test_out_may_be_an_input(row):
    tried = False
    for arguments, keywords in op_samples.samples_of(row):
        expected = call(row, fresh(arguments), keywords)
        if not isinstance(expected, rl.Tensor):
            continue
        given = fresh(arguments)
        for tensor in leaves(given):
            if tensor.shape == expected.shape and tensor.dtype == expected.dtype:
                call(row, given, keywords, out=tensor)
                assert_same(results(tensor), results(expected))
                tried = True
                break
    if not tried:
        pytest.skip("no input has the shape and type of the result")


@pytest.mark.parametrize(
    "row", [row for row in SAMPLED if row["has_in_place_form"]], ids=lambda row: row["name"] + "_"
)
def test_in_place_form_gives_the_same(row):
    if "internal" in row["traits"]:
        pytest.skip("has no face")
    for arguments, keywords in op_samples.samples_of(row):
        if not isinstance(arguments[0], rl.Tensor):
            continue
        expected = call(row, fresh(arguments), keywords)
        target, *others = fresh(arguments)
        if expected.dtype != target.dtype:
            continue  # a comparison may be written into numbers
        if expected.shape != target.shape:
            with pytest.raises((TypeError, ValueError)):
                getattr(target, row["name"] + "_")(*others, **keywords)
            continue
        assert getattr(target, row["name"] + "_")(*others, **keywords) is target
        assert_same(results(target), results(expected))


@pytest.mark.parametrize("row", SAMPLED, ids=lambda row: row["name"])
def test_float32_gives_what_float64_gives(row):
    if row["name"] in ("to_dtype", "float_power"):
        pytest.skip("the type is given")

    shorter = {rl.float64: rl.float32, rl.complex128: rl.complex64}

    def narrow(tensor):
        return tensor.to(shorter.get(tensor.dtype, tensor.dtype), copy=True)

    for arguments, keywords in op_samples.samples_of(row):
        wide = results(call(row, fresh(arguments), keywords))
        for a, b in zip(results(call(row, mapped(arguments, narrow), keywords)), wide, strict=True):
            assert a.dtype == shorter.get(b.dtype, b.dtype)
            np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)
