"""Functions that the packages' documentation describes and no golden case shows."""

from __future__ import annotations

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
