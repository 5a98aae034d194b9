"""Files that Lua writes are files of Torch7, and the other way round."""

from __future__ import annotations

import numpy as np
import pytest

import relume as rl


@pytest.fixture(scope="module")
def lua():
    with rl.bridge.Lua() as runtime:
        yield runtime


@pytest.mark.parametrize("format", ["binary", "ascii"])
def test_python_reads_what_lua_wrote(lua, tmp_path, format):
    path = str(tmp_path / "object.t7")
    lua.execute(
        """
        local path, format = ...
        local shared = torch.range(1, 4)
        torch.save(path, {numbers = {1, 2.5}, text = 'a\\0b', yes = true, x = shared,
           part = shared:narrow(1, 2, 2), ints = torch.IntTensor{7}}, format)
        """,
        path,
        format,
    )
    found = rl.load(path)
    assert found.numbers.as_list() == [1, 2.5]
    assert found.text == "a\0b"
    assert found.yes is True
    found.x.numpy()[1] = 20
    assert found.part.tolist() == [20, 3]
    assert found.ints.dtype == rl.int32


def test_lua_reads_what_python_wrote(lua, tmp_path):
    path = tmp_path / "object.t7"
    path.write_bytes(rl.dumps({"x": rl.tensor([1.0, 2.0], dtype=rl.float64), "n": 3}))
    total, n = lua.execute("local t = torch.load(...); return t.x:sum(), t.n", str(path))
    assert (total, n) == (3, 3)


def test_longs_of_four_bytes_are_read_without_being_told(lua, tmp_path):
    path = str(tmp_path / "old.t7")
    lua.execute("local p = ...; torch.save(p, {x = torch.LongTensor{5, 6}}, 'b32')", path)
    assert lua.execute("return torch.load(...).x[2]", path) == 6


def test_a_class_that_nobody_knows_is_loaded_with_its_fields(lua, tmp_path):
    path = str(tmp_path / "unknown.t7")
    with rl.bridge.Lua() as other:
        other.execute(
            """
            torch.class('Stranger')
            local s = Stranger()
            s.w = torch.ones(3)
            torch.save(..., s)
            """,
            path,
        )
    kind, total = lua.execute("local s = torch.load(...); return torch.type(s), s.w:sum()", path)
    assert (kind, total) == ("Stranger", 3)


def test_closures_keep_sharing_their_variable(lua):
    assert lua.execute(
        """
        local n = 0
        local pair = {function() n = n + 1; return n end, function() return n end}
        local copy = torch.deserialize(torch.serialize(pair))
        copy[1]()
        return copy[2](), pair[2]()
        """
    ) == (1, 0)


def test_bytecode_of_another_lua_is_kept_and_written_back(lua):
    code = b"\x1bLua\x51" + bytes(20)
    written = lua.execute(
        """
        local code = ...
        local file = torch.MemoryFile():binary()
        file:writeInt(8); file:writeInt(1)
        file:writeInt(#code); file:writeChar(torch.CharStorage(#code):string(code))
        file:writeObject({})
        file:seek(1)
        local f = file:readObject()
        local ok, message = pcall(f)
        return torch.serialize(f), ok, message
        """,
        code,
    )
    text, ok, message = written
    assert code in (text if isinstance(text, bytes) else text.encode())
    assert not ok
    assert "cannot run" in message


@pytest.mark.parametrize("damage", [b"", b"\x09\0\0\0", b"\x04\0\0\0\x01\0\0\0\xff\xff\xff\x7f"])
def test_a_damaged_file_is_an_error(lua, tmp_path, damage):
    path = tmp_path / "damaged.t7"
    path.write_bytes(damage)
    with pytest.raises((rl.bridge.LuaError, ValueError)):
        lua.execute("torch.load(...)", str(path))


def test_a_storage_on_a_file_changes_the_file(lua, tmp_path):
    path = tmp_path / "numbers.bin"
    np.arange(4, dtype=np.float64).tofile(path)
    lua.execute("torch.DoubleStorage(..., true)[2] = 10", str(path))
    lua.collect_garbage()
    assert np.fromfile(path).tolist() == [0, 10, 2, 3]


def test_python_functions_may_give_tensors_of_every_type(lua):
    for dtype in (rl.uint8, rl.int8, rl.int16, rl.int32, rl.int64, rl.float32, rl.float64):
        result = lua.execute("return (...)():sum()", lambda dtype=dtype: rl.ones(3, dtype=dtype))
        assert result == 3


def test_data_sets_without_sign_are_read_as_the_signed_type_of_their_size(lua, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for bits in (8, 16, 32, 64):
            file[f"u{bits}"] = np.array([3, 100], f"uint{bits}")
    types = lua.execute(
        """
        local file, said = require('hdf5').open(..., 'r'), ''
        for _, bits in ipairs{8, 16, 32, 64} do
           local x = file:read('u' .. bits):all()
           said = said .. x:type():match '%.(%a+)Tensor' .. x[2] .. ' '
        end
        return said
        """,
        str(tmp_path / "x.h5"),
    )
    assert types == "Byte100 Short100 Int100 Long100 "
