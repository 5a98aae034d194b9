"""What crosses between Python and Lua, and what stays the same on the way."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import relume as rl
from relume.bridge import Lua, LuaError, LuaFunction, LuaObject, LuaTable, LuaValue


@pytest.fixture
def lua():
    with Lua() as runtime:
        yield runtime


@pytest.fixture
def same(lua):
    return lua.eval("function(...) return ... end")


# ---- plain values ----


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -3, 2**53, -(2**53), 1.5, float("inf"), "text", "ünï", "", b"\xff\x00"],
)
def test_plain_values_come_back_equal(same, value):
    result = same(value)
    assert result == value
    assert type(result) is type(value)


def test_integral_floats_arrive_as_int(same):
    assert same(2.0) == 2 and type(same(2.0)) is int


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**64])
def test_integers_that_lua_cannot_hold_are_refused(same, value):
    with pytest.raises(OverflowError, match="no exact Lua number"):
        same(value)


def test_none_in_the_middle_of_arguments_is_nil(lua, same):
    assert same(1, None, 3) == (1, None, 3)
    assert lua.eval("function(...) return select('#', ...) end")(None, None) == 2


def test_no_result_is_none_and_several_are_a_tuple(lua):
    assert lua.execute("local x = 1") is None
    assert lua.execute("return nil") is None
    assert lua.execute("return 1, 'a', nil") == (1, "a", None)


def test_64_bit_integers_of_the_ffi_are_exact(lua):
    assert lua.eval("9007199254740993LL") == 2**53 + 1
    assert lua.eval("18446744073709551615ULL") == 2**64 - 1


# ---- tensors and arrays ----


def test_a_tensor_is_the_same_object_again(lua, same):
    x = rl.zeros(2, 3)
    assert same(x) is x
    lua.globals.x = x
    assert lua.globals.x is x
    assert lua.eval("x") is x


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("uint8", "Byte"), ("int8", "Char"), ("int16", "Short"), ("int32", "Int"),
        ("int64", "Long"), ("float16", "Half"), ("float32", "Float"), ("float64", "Double"),
    ],
)  # fmt: skip
def test_element_types_are_torch7s_classes(lua, dtype, name):
    x = rl.zeros(2, dtype=getattr(rl, dtype))
    lua.execute("x = ...; x[1] = 3", x)
    assert lua.eval("torch.type(x), x:type(), type(x)") == (f"torch.{name}Tensor",) * 2 + (
        "userdata",
    )
    assert x.tolist() == [3, 0]
    made = lua.eval(f"torch.{name}Tensor(4):zero()")
    assert made.dtype == x.dtype and made.torch_typename == f"torch.{name}Tensor"


def test_views_share_memory_in_both_directions(lua):
    x = rl.zeros(4, 5, dtype=rl.float64)
    column = lua.eval("function(x) return x:select(2, 3), x:narrow(1, 2, 2), x:t() end")
    picked, rows, turned = column(x)
    picked.fill_(1)
    rows.add_(10)
    assert x[:, 2].tolist() == [1, 11, 11, 1]
    assert turned.shape == (5, 4) and turned.stride() == (1, 5)
    lua.execute("local x = ...; x[{4, 3}] = 7", x[:, 1:])
    assert x[3, 3].item() == 7


def test_numpy_arrays_are_shared(lua):
    a = np.arange(6.0).reshape(2, 3)
    lua.execute("kept = ...; kept:mul(2)", a)
    assert a.tolist() == [[0, 2, 4], [6, 8, 10]]
    lua.globals.transposed = a.T
    lua.execute("transposed[{1, 2}] = -1")
    assert a[1, 0] == -1
    # the array lives as long as Lua holds it
    kept = np.array([1.0, 2.0])
    lua.globals.b = kept
    del kept
    gc.collect()
    assert lua.eval("b:sum()") == 3


def test_a_tensor_of_no_dimension_is_one_element_in_lua(lua):
    x = rl.tensor(5.0, dtype=rl.float64)
    assert lua.eval("function(x) return x:dim(), x:nElement(), x[1] end")(x) == (1, 1, 5)
    lua.execute("local x = ...; x:fill(9)", x)
    assert x.item() == 9


def test_empty_tensors_have_no_dimension_in_lua(lua):
    assert lua.eval("function(x) return x:dim(), x:nElement() end")(rl.zeros(0)) == (0, 0)
    assert lua.eval("torch.Tensor()").shape == (0,)


def test_storages_cross_with_their_identity(lua, same):
    x = rl.zeros(3)
    storage = lua.eval("function(x) return x:storage() end")(x)
    assert len(storage) == 3 and storage is same(storage)


def test_memory_outlives_either_side():
    x = rl.ones(1000)
    lua = Lua()
    lua.globals.x = x
    y = lua.eval("x:narrow(1, 10, 5):clone()")
    view = lua.eval("torch.range(1, 4)")
    lua.close()
    del lua
    gc.collect()
    assert x.sum().item() == 1000 and y.tolist() == [1] * 5 and view.tolist() == [1, 2, 3, 4]


def test_the_tape_does_not_see_lua(lua):
    x = rl.ones(3, requires_grad=True)
    y = lua.eval("function(x) return x * 2 end")(x)
    assert not y.requires_grad
    assert rl.is_grad_enabled()
    # but a Python function called from Lua does
    seen = []
    lua.globals.f = lambda: seen.append(rl.is_grad_enabled())
    lua.execute("f()")
    with rl.no_grad():
        lua.execute("f()")
    assert seen == [True, False]


# ---- tables ----


def test_lists_and_dicts_become_tables(lua):
    describe = lua.eval("function(t) return #t, t[1], t[2][1], t[2].k end")
    inner = rl.Table(["x"])
    inner.k = "v"
    assert describe([10, inner]) == (2, 10, "x", "v")
    assert lua.eval("function(t) return #t, t.a, t[1] end")({"a": 1, 1: "one"}) == (1, 1, "one")
    assert lua.eval("function(...) return select('#', ...), #(...) end")((1, 2, 3)) == (1, 3)


def test_tables_are_live_in_python(lua):
    t = lua.eval("{10, 20, name = 'n', inner = {1}}")
    assert isinstance(t, LuaTable) and isinstance(t, rl.Table)
    assert (t[1], t["name"], t.name, len(t), list(t), t.get("no"), 1 in t) == (
        10,
        "n",
        "n",
        2,
        [10, 20],
        None,
        True,
    )
    lua.globals.t = t
    t.name = "m"
    t[3] = 30
    assert lua.eval("t.name, #t, t.inner[1]") == ("m", 3, 1)
    assert t == lua.globals.t and t != t.inner
    assert t.inner.as_list() == [1]
    assert sorted(map(str, t.keys())) == ["1", "2", "3", "inner", "name"]
    with pytest.raises(KeyError):
        t["missing"]
    with pytest.raises(AttributeError):
        _ = t.missing


def test_graphs_keep_identity_and_cycles(lua):
    shared = [1, 2]
    table = rl.Table({"a": shared, "b": shared})
    table["self"] = table
    assert lua.eval("function(t) return t.a == t.b, t.self == t, t.a[2] end")(table) == (
        True,
        True,
        2,
    )
    back = lua.eval("function(t) return t end")(table).to_python()
    assert type(back) is rl.Table and back["a"] is back["b"] and back["self"] is back
    assert back.a.as_list() == [1, 2]


def test_deep_structures_do_not_recurse(lua):
    deep: list = []
    for _ in range(20000):
        deep = [deep]
    depth = lua.eval(
        "function(t) local n = 0; while t[1] do t = t[1]; n = n + 1 end; return n, t end"
    )
    count, _ = depth(deep)
    assert count == 20000
    back = lua.execute("local t = {}; for i = 1, 20000 do t = {t} end; return t").to_python()
    n = 0
    while len(back):
        back, n = back[1], n + 1
    assert n == 20000


def test_tensors_in_tables_are_shared(lua):
    x = rl.zeros(2)
    lua.execute("local t = ...; t.list[1]:fill(4)", {"list": [x]})
    assert x.tolist() == [4, 4]
    assert lua.eval("function(t) return t end")({"x": x}).x is x


# ---- functions and objects ----


def test_lua_functions_are_callable(lua):
    f = lua.eval("function(a, b) return a + b end")
    assert isinstance(f, LuaFunction) and f(1, 2) == 3
    assert lua.eval("function(f) return f(3, 4) end")(f) == 7  # it is the Lua function again
    assert lua.eval("print") == lua.eval("print")


def test_python_functions_are_lua_functions(lua):
    lua.globals.f = lambda *args: (len(args), list(args))
    assert lua.eval("type(f)") == "function"
    count, values = lua.execute("return f(1, nil, 'x')")
    assert count == 3 and values[1] == 1 and values[3] == "x"
    assert lua.eval("f == f")
    f = lambda: None  # noqa: E731
    lua.globals.g, lua.globals.h = f, f
    assert lua.eval("g == h")
    assert lua.globals.g is f


def test_tensors_go_through_callbacks_unchanged(lua):
    x = rl.ones(3)
    seen = []
    lua.globals.f = lambda t: seen.append(t) or t
    assert lua.eval("function(x) return f(x) end")(x) is x
    assert seen == [x] or seen[0] is x


def test_python_objects_have_attributes_and_methods(lua):
    class Model:
        scale = 3

        def apply(self, value, *more):
            return value * self.scale + sum(more)

        def __call__(self, value):
            return -value

    model = Model()
    lua.globals.m = model
    assert lua.eval("m.scale, m:apply(2), m.apply(2, 1), m(5)") == (3, 6, 7, -5)
    lua.execute("m.scale = 10")
    assert model.scale == 10
    assert lua.globals.m is model
    assert lua.eval("m.nothing") is None


def test_coroutines_call_python(lua):
    lua.globals.double = lambda x: 2 * x
    source = """
    local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(double(i)) end end)
    return co(), co(), co()
    """
    assert lua.execute(source) == (2, 4, 6)


def test_calls_nest(lua):
    depth = []

    def f(n):
        depth.append(n)
        return n if n == 0 else lua.eval("function(n) return f(n) end")(n - 1)

    lua.globals.f = f
    assert lua.eval("f(20)") == 0
    assert len(depth) == 21


# ---- modules ----


def test_packages_and_objects(lua):
    nn = lua.require("nn")
    net = nn.Sequential()
    net.add(nn.Linear(3, 2)).add(nn.Tanh())
    assert isinstance(net, LuaObject) and net.torch_typename == "nn.Sequential"
    x = rl.ones(3, dtype=rl.float64)
    y = net.forward(x)
    assert y is net.output and y.shape == (2,)
    assert net.backward(x, rl.ones(2, dtype=rl.float64)).shape == (3,)
    net.note = "kept"
    assert net.note == "kept"
    with pytest.raises(AttributeError, match=r"nn\.Sequential has no 'nothing'"):
        _ = net.nothing
    assert "nn.Linear(3 -> 2)" in repr(net)


def test_layers_go_both_ways_on_one_memory(lua):
    from relume import legacy_nn as nn

    net = nn.Sequential().add(nn.Linear(4, 3)).add(nn.Sigmoid())
    lua.globals.net = net
    x = rl.randn(5, 4, dtype=rl.float64)
    in_lua = lua.eval("function(x) return net:forward(x) end")(x)
    assert np.allclose(in_lua.numpy(), net.forward(x).numpy(), rtol=1e-12)
    assert lua.eval("net:get(1).weight") is net.get(1).weight
    back = lua.globals.net.to_python()
    assert type(back) is nn.Sequential and back.get(1).weight is net.get(1).weight


def test_classes_without_code_are_kept(lua):
    thing = rl.TorchObject("my.Thing", {"weight": rl.ones(2), "n": 3})
    lua.globals.thing = thing
    assert lua.eval("torch.type(thing), thing.n, thing.weight:sum()") == ("my.Thing", 3, 2)
    back = lua.globals.thing.to_python()
    assert isinstance(back, rl.TorchObject) and back.torch_typename == "my.Thing"
    assert back.weight is thing.weight
    # code that comes later gives the objects their methods
    lua.execute(
        "my = {}; local T = torch.class('my.Thing'); function T:double() return 2 * self.n end"
    )
    assert lua.eval("thing:double()") == 6


def test_a_layer_without_code_says_what_is_missing(lua):
    lua.require("nn")
    lua.globals.layer = rl.TorchObject(
        "my.Scale", {"gradInput": rl.zeros(0), "output": rl.zeros(0)}
    )
    with pytest.raises(LuaError, match=r"no Lua code has defined the class my\.Scale"):
        lua.eval("layer:forward(torch.ones(1))")


def test_large_numbers_come_as_floats_and_can_be_given_back(same):
    for value in (2.0**60, -1e300, 2.0**53 + 2):
        assert type(same(value)) is float and same(same(value)) == value


def test_other_values_of_lua_are_kept_and_given_back(lua):
    values = lua.eval("{coroutine.create(print), io.stdout, require('ffi').new('int[3]')}")
    told = lua.eval("function(t, i, value) return rawequal(t[i], value), type(value) end")
    for position, kind in enumerate(["thread", "userdata", "cdata"], 1):
        value = values[position]
        assert isinstance(value, LuaValue) and value == values[position]
        assert told(values, position, value)[0] and kind in repr(value) + "userdata"


def test_true_and_1_stay_different_keys(lua):
    table = lua.eval("{[true] = 'yes', [1] = 'one', [0] = 'zero', [false] = 'no'}")
    for form in (table, table.to_python()):
        assert (form[True], form[1], form[0], form[False]) == ("yes", "one", "zero", "no")


def test_tables_of_any_size_can_be_listed(lua):
    table = lua.eval("(function() local t = {} for i = 1, 1e5 do t[i] = -i end return t end)()")
    assert bool(table) and len(table.keys()) == 10**5
    assert table.as_list() == [-i for i in range(1, 10**5 + 1)]
    assert not lua.eval("{}")


def test_long_lists_take_time_by_their_length_only(lua):
    assert lua.execute("return #..., (...)[300000]", list(range(300_000))) == (300_000, 299_999)


def test_attributes_and_items_are_one_value_each(lua):
    class Shaped:
        shape = (2, 3)

        def __getitem__(self, key):
            return (key, key)

    lua.globals.o = Shaped()
    assert list(lua.eval("o.shape")) == [2, 3]
    assert list(lua.eval("o[7]")) == [7, 7]


def test_lua_loops_over_iterators(lua):
    lua.globals.count = lambda n: (i * i for i in range(n))
    lua.globals.enumerate = enumerate
    source = "local sum = 0 for x in count(4) do sum = sum + x end return sum"
    assert lua.execute(source) == 14
    source = "local t = {} for i, word in enumerate({'a', 'b'}) do t[i + 1] = word end return t"
    assert list(lua.execute(source)) == ["a", "b"]
    assert lua.execute("return count(3):__next__()") == 0


def test_numbers_of_numpy_without_a_counterpart_are_refused(lua):
    with pytest.raises(TypeError, match="longdouble has no counterpart"):
        lua.execute("return ...", np.longdouble(1.5))
