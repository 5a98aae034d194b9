"""relume.Table behaves as a Lua table does."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import relume as rl
from relume.converters import TdsHash, TdsVec


def test_keys_are_those_of_lua():
    table = rl.Table()
    table[2.0] = "two"
    table[True] = "true"
    table[1] = "one"
    table["1"] = "text"
    table[1.5] = "half"
    table[b"\xff"] = "bytes"
    assert table[2] == "two"
    assert table[np.int64(2)] == "two"
    assert table[np.float32(1.5)] == "half"
    assert table[1] == "one"
    assert table[True] == "true"
    assert False not in table
    assert table["1"] == "text"
    assert table[b"\xff"] == "bytes"
    assert set(map(repr, table.keys())) == {"1", "2", "True", "'1'", "1.5", "b'\\xff'"}


@pytest.mark.parametrize("key", [None, float("nan")])
def test_impossible_keys(key):
    table = rl.Table([1])
    with pytest.raises(ValueError, match="cannot be the key"):
        table[key] = 1
    assert key not in table
    assert table.get(key, "no") == "no"


def test_objects_are_keys_by_identity():
    tensor, other = rl.zeros([2]), rl.zeros([2])
    inner = rl.Table()
    table = rl.Table()
    table[tensor] = 1
    table[inner] = 2
    assert table[tensor] == 1
    assert other not in table
    assert table[inner] == 2
    assert rl.Table() not in table


def test_length_grows_and_shrinks_as_lua_says():
    table = rl.Table(["a", "b", "c"])
    assert len(table) == 3
    table[5] = "e"
    assert len(table) == 3
    table[4] = "d"
    assert len(table) == 5
    assert list(table) == ["a", "b", "c", "d", "e"]
    table[5] = None
    assert len(table) == 4
    table[2] = None
    assert table.get(2) is None
    assert table[3] == "c"
    assert len(table) == 1
    table[2] = "again"
    assert len(table) == 4
    assert table.as_list() == ["a", "again", "c", "d"]


def test_lists_and_others():
    assert rl.Table([1, 2]).is_list()
    assert rl.Table().as_list() == []
    mixed = rl.Table({"x": 1, 1: "a"})
    assert not mixed.is_list()
    with pytest.raises(ValueError, match="'x'"):
        mixed.as_list()
    assert list(mixed) == ["a"]
    assert mixed.items() == [(1, "a"), ("x", 1)]


def test_missing_keys():
    table = rl.Table({"a": 1})
    with pytest.raises(KeyError, match="nope"):
        table["nope"]
    with pytest.raises(KeyError):
        table[1]
    with pytest.raises(AttributeError, match="nope"):
        table.nope  # noqa: B018
    with pytest.raises(KeyError, match=r"no key 0: .* count from 1, this one to 2"):
        rl.Table(["a", "b"])[0]
    with pytest.raises(KeyError):
        del table["nope"]
    assert table.get("nope") is None
    assert not hasattr(table, "nope")


def test_attributes_are_string_keys():
    table = rl.Table()
    table.weight = 3
    assert table["weight"] == table.weight == 3
    assert "weight" in dir(table)
    del table.weight
    assert "weight" not in table


def test_identity_is_equality():
    first, second = rl.Table([1]), rl.Table([1])
    assert first == first
    assert first != second
    assert len({first, second}) == 2
    assert bool(first)
    assert not rl.Table()


def test_repr_of_cycles_and_of_deep_trees():
    table = rl.Table([1, "a"])
    table.me = table
    assert repr(table) == "Table({[1] = 1, [2] = 'a', me = {...}})"
    deep = rl.Table()
    for _ in range(50_000):
        deep = rl.Table([deep])
    assert len(repr(deep)) < 100


def test_copies_and_pickles():
    table = rl.Table({1: "a", "x": [1, 2]})
    table[True] = "t"
    shallow = copy.copy(table)
    assert shallow.items() == table.items()
    assert shallow.x is table.x
    again = pickle.loads(pickle.dumps(table))
    assert again.items() == table.items()
    deep = copy.deepcopy(table)
    assert deep.x == table.x
    assert deep.x is not table.x
    cycle = rl.Table()
    cycle.me = cycle
    again = copy.deepcopy(cycle)
    assert again.me is again


def test_torch_objects_are_edited_copied_and_not_run():
    point = rl.TorchObject("my.Point", {"x": 1})
    point.y = 2
    assert point.fields == {"x": 1, "y": 2}
    del point.x
    with pytest.raises(AttributeError, match=r"my\.Point"):
        point.x  # noqa: B018
    assert copy.deepcopy(point).fields == {"y": 2}
    assert pickle.loads(pickle.dumps(point)).torch_typename == "my.Point"
    with pytest.raises(NotImplementedError, match=r"my\.Point"):
        point(1)


def test_tds_containers():
    hash_ = TdsHash({"a": 1, 1: "x"})
    assert len(hash_) == 2
    assert hash_.torch_typename == "tds.Hash"
    vector = TdsVec(["a", None])
    vector[3] = "c"
    assert vector.items() == [(1, "a"), (2, None), (3, "c")]
    with pytest.raises(IndexError, match="1 to 3"):
        vector[0]
