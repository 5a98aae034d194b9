"""Tensor arithmetic of Lua's torch in the forms that no golden case shows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        yield runtime


STEPS = [  # on an expanded target: what happens to a place each time that it is shown
    ("e:add(1)", lambda old, other: old + 1),
    ("e:add(other)", lambda old, other: old + other),
    ("e:add(2, other)", lambda old, other: old + 2 * other),
    ("e:csub(other)", lambda old, other: old - other),
    ("e:mul(2)", lambda old, other: old * 2),
    ("e:cmul(other)", lambda old, other: old * other),
    ("e:cdiv(other)", lambda old, other: old / other),
    ("e:tanh()", lambda old, other: math.tanh(old)),
    ("e:pow(2)", lambda old, other: old**2),
    ("e:clamp(2, 3)", lambda old, other: min(max(old, 2), 3)),
    ("e:addcmul(2, other, other)", lambda old, other: old + 2 * other * other),
    ("torch.exp(e, other)", lambda old, other: math.exp(other)),
    ("torch.mul(e, other, 3)", lambda old, other: 3 * other),
]


@pytest.mark.parametrize("statement, step", STEPS, ids=[statement for statement, _ in STEPS])
@pytest.mark.parametrize("rows, columns", [(3, 1), (1, 4), (1, 1)])
def test_expanded_targets_change_once_for_each_time_they_show_a_place(
    lua, statement, step, rows, columns
):
    start = np.arange(1.0, rows * columns + 1).reshape(rows, columns) / 4
    other = np.arange(1.0, 13.0).reshape(3, 4) / 8
    expected = start.copy()
    for i in range(3):
        for j in range(4):
            place = i % rows, j % columns
            expected[place] = step(expected[place], other[i, j])
    memory = start.copy()
    lua.execute(f"local m, other = ...; local e = m:expand(3, 4); {statement}", memory, other)
    np.testing.assert_allclose(memory, expected, rtol=1e-12)


def test_other_results_that_are_expanded_are_refused_as_a_whole(lua):
    memory = np.zeros((3, 1))
    with pytest.raises(LuaError, match="expanded"):
        lua.execute("local m = ...; torch.cumsum(m:expand(3, 3), torch.ones(3, 3))", memory)
    assert (memory == 0).all()


PRODUCTS = [  # [result,] [beta,] M, [alpha,] a, b: the factors of M and of a x b
    ("torch.{f}(M, a, b)", 1, 1),
    ("torch.{f}(M, 3, a, b)", 1, 3),
    ("torch.{f}(2, M, a, b)", 2, 1),
    ("torch.{f}(2, M, 3, a, b)", 2, 3),
    ("torch.{f}(M.new():resizeAs(M), M, a, b)", 1, 1),
    ("torch.{f}(M.new():resizeAs(M), 2, M, 3, a, b)", 2, 3),
    ("M:clone():{f}(a, b)", 1, 1),
    ("M:clone():{f}(3, a, b)", 1, 3),
    ("M:clone():{f}(2, 3, a, b)", 2, 3),
    ("M:clone():zero():{f}(M, 3, a, b)", 1, 3),
    ("M:clone():fill(0/0):{f}(0, 1, a, b)", 0, 1),
]
FACTORS = {
    "addmm": ((3, 4), (4, 2), np.matmul),
    "addmv": ((3, 4), (4,), np.matmul),
    "addr": ((3,), (4,), np.outer),
    "baddbmm": ((5, 3, 4), (5, 4, 2), np.matmul),
    "addbmm": ((5, 3, 4), (5, 4, 2), lambda a, b: np.matmul(a, b).sum(0)),
}


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("form, beta, alpha", PRODUCTS, ids=[form for form, *_ in PRODUCTS])
def test_sums_with_products_take_their_numbers_in_all_places(lua, name, form, beta, alpha):
    first, second, multiply = FACTORS[name]
    random = np.random.default_rng(0)
    a, b = random.normal(size=first), random.normal(size=second)
    product = multiply(a, b)
    M = random.normal(size=product.shape)
    result = lua.execute("local M, a, b = ...; return " + form.format(f=name), M, a, b)
    np.testing.assert_allclose(result.numpy(), beta * M + alpha * product, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["Byte", "Char", "Short", "Int", "Long"])
def test_quotients_of_integers_are_cut_towards_zero(lua, kind):
    a, b = np.array([7, 100, 5, 0]), np.array([2, 3, 7, 4])
    if kind != "Byte":
        a, b = np.array([-7, 100, -5, 7]), np.array([2, -3, 7, -7])
    quotients, halves = lua.execute(
        "local kind, a, b = ...; a, b = a:type(kind), b:type(kind); "
        "return torch.cdiv(a, b):totable(), a:clone():div(2.9):totable()",
        f"torch.{kind}Tensor", a, b,
    )  # fmt: skip
    assert list(quotients) == [math.trunc(x / y) for x, y in zip(a, b, strict=True)]
    assert list(halves) == [math.trunc(x / 2) for x in a]


@pytest.mark.parametrize("transposed", [False, True])
def test_slices_and_places_are_written_where_a_view_looks(lua, transposed):
    memory = np.zeros((3, 4))
    view = memory.T if transposed else memory
    part = np.arange(2.0 * view.shape[1]).reshape(2, -1) + 1
    lua.execute(
        """
        local m, part, transposed = ...
        local x = transposed and m:t() or m
        x:indexCopy(1, torch.LongTensor {3, 1}, part)
        x:indexAdd(1, torch.LongTensor {1, 1}, part)
        x:indexFill(2, torch.LongTensor {2}, 9)
        x:scatter(1, torch.LongTensor(1, x:size(2)):fill(2), x.new(1, x:size(2)):fill(-1))
        local mask = torch.ByteTensor(x:size()):zero()
        mask[1][1], mask[2][3] = 1, 1
        x:maskedFill(mask, 5)
        mask[2][3] = 0
        x:maskedCopy(mask, torch.Tensor {6})
        """,
        memory, part, transposed,
    )  # fmt: skip
    expected = np.zeros(view.shape)
    expected[2], expected[0] = part
    expected[0] += part[0] + part[1]
    expected[:, 1] = 9
    expected[1] = -1
    expected[0, 0], expected[1, 2] = 6, 5
    np.testing.assert_array_equal(view, expected)


@pytest.mark.parametrize("position", [0, 4])
def test_positions_out_of_range_are_refused(lua, position):
    with pytest.raises(LuaError, match="out of range"):
        lua.execute("torch.zeros(3, 2):indexFill(1, torch.LongTensor {...}, 7)", position)
