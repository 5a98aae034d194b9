"""Functions that the packages' documentation describes and no golden case shows."""

from __future__ import annotations

import os

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        for name in ("torch", "image", "tds", "paths", "xlua"):
            runtime.require(name)
        yield runtime


def test_tds_shows_what_is_inside_what(lua):
    """The text of the README's example."""
    assert lua.execute(
        """
        local d = tds.Vec(4, torch.Tensor {0.1958, 0.5663}, tds.Hash(), 'hello world')
        d[3].stuff = tds.Vec('how', 'are')
        return tostring(d)
        """
    ) == (
        "tds.Vec[4]{\n"
        "    1 : 4\n"
        "    2 :  0.1958\n"
        "         0.5663\n"
        "        [torch.DoubleTensor of size 2]\n"
        "\n"
        "    3 : tds.Hash[1]{\n"
        "        stuff : tds.Vec[2]{\n"
        "                    1 : how\n"
        "                    2 : are\n"
        "                }\n"
        "        }\n"
        "    4 : hello world\n"
        "}"
    )  # fmt: skip


def test_ids_of_classes(lua):
    lua.execute(
        """
        assert(torch.id(torch.Tensor()) == torch.typename2id('torch.DoubleTensor'))
        assert(torch.id(torch.FloatTensor()) ~= torch.id(torch.Tensor()))
        assert(torch.id(5) == nil and torch.typename2id('nonsense') == nil)
        assert(type(torch.id(torch.Tensor())) == 'userdata')
        """
    )


def test_drawing_a_rectangle(lua):
    lua.execute(
        """
        local black = torch.zeros(3, 10, 12)
        local drawn = image.drawRect(black, 3, 2, 8, 6, {color = {0, 255, 0}})
        assert(black:sum() == 0)
        assert(drawn[2]:sum() == 2 * 6 + 2 * 3 and drawn[1]:sum() == 0)
        assert(drawn[2][2][3] == 1 and drawn[2][6][8] == 1 and drawn[2][3][4] == 0)
        local bytes = torch.ByteTensor(3, 10, 12):zero()
        assert(image.drawRect(bytes, 3, 2, 8, 6, {inplace = true}) == bytes)
        assert(bytes[1]:max() == 255 and bytes[2]:max() == 0)
        """
    )
    with pytest.raises(LuaError, match="three planes"):
        lua.execute("image.drawRect(torch.zeros(4, 4), 1, 1, 2, 2)")


def test_drawing_text(lua):
    pytest.importorskip("PIL")
    lua.execute(
        """
        local black = torch.zeros(3, 60, 60)
        local drawn = image.drawText(black, 'hi', 5, 5, {color = {255, 255, 255}})
        local larger = image.drawText(black, 'hi', 5, 5, {color = {255, 255, 255}, size = 2})
        assert(drawn:sum() > 0 and larger:sum() == 4 * drawn:sum())
        assert(drawn[{{}, {1, 4}, {}}]:sum() == 0 and drawn[{{}, {}, {1, 4}}]:sum() == 0)
        local lines = image.drawText(black, 'hi\\nhi', 5, 5, {color = {255, 255, 255}})
        assert(lines:sum() == 2 * drawn:sum())
        """
    )


def test_colour_spaces_there_and_back(lua):
    assert (
        lua.execute(
            """
            local x = image.lena()[{{}, {1, 9}, {1, 9}}]
            return (image.lab2rgb(image.rgb2lab(x)) - x):abs():max()
            """
        )
        < 1e-5
    )


def test_colour_maps(lua):
    lua.execute(
        """
        local map = image.colormap(3)
        assert(map:size(1) == 3 and map:size(2) == 3)
        assert((map - torch.eye(3)):abs():max() < 1e-12)  -- red, green, blue
        """
    )


def test_local_contrast_normalization_takes_out_what_changes_slowly(lua):
    """Brightness and contrast of an image do not change the result."""
    lua.execute(
        """
        torch.manualSeed(1)
        local x = torch.rand(30, 30)
        local difference = (image.lcn(x) - image.lcn(x * 7 + 3)):abs():max()
        assert(difference < 1e-8, difference)
        """
    )


def test_global_variables_can_be_listed_and_cleared(lua):
    lua.execute("some_variable = 5; xlua.clearall(); assert(some_variable == nil and torch)")


def test_folders_of_an_install_have_names(lua):
    names = [
        "bin",
        "man",
        "lib",
        "share",
        "include",
        "hlp",
        "html",
        "cmake",
        "lua_path",
        "lua_cpath",
    ]
    assert all(isinstance(lua.eval(f"paths.install_{name}"), str) for name in names)


def test_expanded_tensors_are_changed_element_by_element(lua):
    """As in the documentation of `expand`; each element is written as often as it is seen."""
    assert lua.execute(
        """
        local x = torch.ones(3, 1)
        local y = torch.expand(x, 3, 2)
        local i = 0
        y:apply(function() i = i + 1; return i end)
        local applied = x:view(-1):totable()
        y:copy(torch.Tensor {{1, 2}, {3, 4}, {5, 6}})
        return table.concat(applied, ' '), table.concat(x:view(-1):totable(), ' ')
        """
    ) == ("2 4 6", "2 4 6")  # fmt: skip


def test_rounding_is_exact_beside_one_half(lua):
    """As round() of C, which Torch7 used: away from zero at one half."""
    assert lua.execute(
        """
        local x = torch.FloatTensor {0.49999997, 0.5, 1.5, 2.5, -0.5, -2.5, 8388609, 1 / 0, -1 / 0}
        return table.concat(x:round():totable(), ' ')
        """
    ) == "0 1 2 3 -1 -3 8388609 inf -inf"  # fmt: skip


def test_images_of_bytes_stand_for_numbers_up_to_one(lua):
    """As the image package's own tests ask: the function of the bytes is that of the numbers."""
    assert lua.execute(
        """
        local function bytes(x) return torch.round(x * 255):clamp(0, 255):byte() end
        local picture = image.lena()[{{}, {1, 64}, {1, 64}}]:float()
        local largest = 0
        for _, name in ipairs {'rgb2hsv', 'hsv2rgb', 'rgb2hsl', 'hsl2rgb', 'rgb2y'} do
           local expected, given = bytes(image[name](picture)), image[name](bytes(picture))
           largest = math.max(largest, (expected:int() - given:int()):abs():max())
        end
        return largest
        """
    ) == 0  # fmt: skip
    with pytest.raises(LuaError, match="bytes cannot hold"):
        lua.execute("image.rgb2lab(torch.ByteTensor(3, 2, 2))")


def test_scaling_bytes_rounds_after_each_direction(lua):
    assert lua.execute(
        """
        local up = image.scale(torch.ByteTensor {{1, 2}, {2, 3}}, 3, 3)
        local cubic = image.scale(torch.ByteTensor {{0, 1, 32}}, 4, 1, 'bicubic')
        return table.concat(up:view(-1):totable(), ' '), table.concat(cubic:view(-1):totable(), ' ')
        """
    ) == ("1 2 2 2 3 3 2 3 3", "0 0 9 32")  # fmt: skip


def test_saving_an_image_leaves_it_as_it_was(lua, tmp_path):
    pytest.importorskip("PIL")
    lua.execute(
        """
        local x = torch.rand(3, 4, 4)
        local before = x:clone()
        image.save(..., x)
        image.compressPNG(x)
        assert(x:equal(before))
        """,
        str(tmp_path / "x.png"),
    )


def test_named_arguments_of_dok(lua):
    assert lua.execute(
        """
        local _, size, width = dok.unpack({{size = 3}}, 'f', 'does it',
           {arg = 'size', type = 'string'}, {arg = 'width', type = 'number', defaulta = 'size'})
        return size, width
        """
    ) == (3, 3)  # fmt: skip


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="the system has no /dev/shm")
def test_a_storage_in_shared_memory_has_a_name_while_it_lives(lua):
    name = f"relume_test_{os.getpid()}"
    lua.execute(
        """
        local name = ...
        storage = torch.FloatStorage(name, true, 6, true)
        storage:fill(3)
        local same = torch.FloatStorage('/dev/shm/' .. name, true)
        assert(#same == 6 and same[6] == 3)
        same[1] = 5
        assert(storage[1] == 5)
        """,
        name,
    )
    assert os.path.getsize(f"/dev/shm/{name}") == 24
    lua.execute("storage = nil; collectgarbage(); collectgarbage()")
    assert not os.path.exists(f"/dev/shm/{name}")
