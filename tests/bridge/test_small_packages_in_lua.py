"""Packages argcheck, class, argparse, csvigo, torchx and gnuplot.

Expected values are from their documentation; those of argparse and argcheck also from running the
real packages, which are pure Lua, on the same calls.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        for name in ("torch", "csvigo", "torchx", "gnuplot"):
            runtime.require(name)
        runtime.execute(
            """
            argcheck, class, argparse = require 'argcheck', require 'class', require 'argparse'
            pretty = require 'pl.pretty'
            function nine() return 9 end
            function show(...)
               local parts = {}
               for i = 1, select('#', ...) do
                  local value = select(i, ...)
                  parts[i] = type(value) == 'table' and pretty.write(value, '') or tostring(value)
               end
               return table.concat(parts, ' ')
            end
            """
        )
        yield runtime


# ---- argcheck ----

RULES = """
    {name = 'x', type = 'number', default = 0, help = 'the age of the captain'},
    {name = 'msg', type = 'string', help = 'a message'}
"""


@pytest.mark.parametrize(
    ("rules", "call", "expected"),
    [
        ("{name='x', type='number'}", "5", "5"),
        ("{name='x', type='number'}", "{x = 5}", "5"),
        (RULES, "4, 'hello'", "4 hello"),
        (RULES, "'hello'", "0 hello"),
        (RULES, "{msg = 'hello'}", "0 hello"),
        ("{name='x', type='number'}, {name='y', type='number', defaulta='x'}", "3", "3 3"),
        (
            "{name='x', type='number'}, {name='y', type='number', defaultf=_G.nine}",
            "3",
            "3 9",
        ),
        ("{name='x', type='number'}, {name='s', type='string', opt=true}", "3", "3 nil"),
        ("pack=true, {name='x', type='number'}", "3", "{x=3}"),
        ("quiet=true, {name='x', type='number'}", "3", "true 3"),
        ("{name='t', type='torch.*Tensor'}", "torch.FloatTensor(1):zero()", " 0\n[torch.F"),
        ("call=function(x) return x + 5 end, {name='x', type='number'}", "1", "6"),
        ("{name='self', type='table'}, {name='x', type='number'}", "{1}, {x = 7}", "{1} 7"),
    ],
)
def test_argcheck(lua, rules, call, expected):
    assert lua.eval(f"show(argcheck{{{rules}}}({call}))").startswith(expected)


@pytest.mark.parametrize(
    ("rules", "call"),
    [
        ("{name='x', type='number'}", ""),
        ("{name='x', type='number'}", "'text'"),
        ("{name='x', type='number'}", "1, 2"),
        ("nonamed=true, {name='x', type='number'}", "{x = 1}"),
        ("noordered=true, {name='x', type='number'}", "1"),
        ("{name='x', type='number', check=function(x) return x < 10 end}", "11"),
        ("{name='t', type='torch.FloatTensor'}", "torch.IntTensor(1)"),
    ],
)
def test_argcheck_refuses(lua, rules, call):
    with pytest.raises(LuaError, match="invalid arguments"):
        lua.execute(f"argcheck{{{rules}}}({call})")


def test_argcheck_explains_the_arguments(lua):
    assert lua.execute(f"return select(2, argcheck{{quiet = true, {RULES}}}(5))") == (
        "\n*Arguments:*\n```\n({\n"
        "  [x   = number]  -- the age of the captain [default=0]\n"
        "   msg = string   -- a message\n"
        "})\n```\n*Got:* **number**\n"
    )


def test_argcheck_chooses_between_overloaded_functions(lua):
    lua.execute(
        """
        f = argcheck{{name = 'x', type = 'number'}, call = function(x) return 'number' end}
        f = argcheck {
           {name = 's', type = 'string'}, overload = f, call = function(s) return 'string' end,
        }
        """
    )
    assert lua.eval("show(f(1), f('x'), f{s = 'x'})") == "number string string"
    with pytest.raises(LuaError, match="ambiguous situations"):
        lua.execute("argcheck{{name = 'y', type = 'number'}, overload = f, call = print}")


# ---- class ----


def test_class(lua):
    assert lua.execute(
        """
        local A = class('packageA')
        function A:__init(stuff) self.stuff = stuff end
        function A:run() return self.stuff end
        local B = class('packageB', 'packageA')
        function B:twice() return self.stuff .. self.stuff end
        local b = B('x')
        return show(
           b:run(), b:twice(), class.type(b), class.istype(b, 'packageA'),
           class.istype(A.new(), 'packageB'), class.type(3),
           class.metatable('packageA').run == A.run, class.factory('packageB').stuff)
        """
    ) == "x xx packageB true false number true nil"  # fmt: skip


# ---- argparse ----

PARSER = """
    local p = argparse('script', 'An example.')
    p:argument('input', 'Input file.')
    p:option('-o --output', 'Output file.', 'a.out')
    p:option('-I --include', 'Include locations.'):count('*')
    p:flag('-v --verbose', 'Says more.'):count('0-2'):target('verbosity')
    p:option('--pair'):args(2)
    p:option('-t --times'):convert(tonumber)
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("foo", '{include={},input="foo",output="a.out",verbosity=0}'),
        (
            "foo -I/usr -Isrc -o bar -vv",
            '{include={"/usr","src"},input="foo",output="bar",verbosity=2}',
        ),
        (
            "--pair a b --times=3 -- -foo",
            '{include={},input="-foo",output="a.out",pair={"a","b"},times=3,verbosity=0}',
        ),
        ("foo bar", "too many arguments"),
        ("", "missing argument 'input'"),
        ("foo --outptu=bar", "unknown option '--outptu'\nDid you mean '--output'?"),
        ("foo --times=many", "malformed argument 'many'"),
        ("foo --pair a", "option '--pair' requires 2 arguments"),
        ("foo -o", "option '-o' requires an argument"),
        ("foo --verbose=1", "option '--verbose' does not take arguments"),
    ],
)
def test_argparse(lua, words, expected):
    result = lua.execute(f"{PARSER} return show(select(2, p:pparse(...)))", words.split())
    assert result == expected


def test_argparse_usage_and_help(lua):
    usage, shown = lua.execute(f"{PARSER} return p:get_usage(), p:get_help()")
    assert usage == (
        "Usage: script [-o <output>] [-I <include>] [-v] [--pair <pair> <pair>]\n"
        "       [-t <times>] [-h] <input>"
    )
    assert shown == usage + (
        "\n\nAn example.\n\nArguments:\n   input                 Input file.\n\nOptions:\n"
        "         -o <output>,    Output file. (default: a.out)\n"
        "   --output <output>\n"
        "          -I <include>,  Include locations.\n"
        "   --include <include>\n"
        "   -v, --verbose         Says more.\n"
        "   --pair <pair> <pair>\n"
        "        -t <times>,\n"
        "   --times <times>\n"
        "   -h, --help            Show this help message and exit."
    )


def test_argparse_commands_and_groups_of_which_one_is_used(lua):
    lua.execute(
        """
        parser = argparse('script'):command_target('command')
        local install = parser:command 'install i'
        install:argument 'rock'
        install:option '-f --from'
        parser:mutex(parser:flag '-q --quiet', parser:flag '-v --verbose')
        """
    )

    def parse(words):
        return lua.execute("return show(select(2, parser:pparse(...)))", words.split())

    assert (
        parse("install foo --from=bar -q")
        == '{command="install",from="bar",install=true,quiet=true,rock="foo"}'
    )
    assert parse("i foo") == '{command="install",install=true,rock="foo"}'
    assert parse("instal foo") == "unknown command 'instal'\nDid you mean 'install'?"
    assert parse("-qv install x") == "option '-v' can not be used together with option '-q'"
    assert parse("") == "a command is required"
    assert lua.eval("parser:get_usage()") == "Usage: script ([-q] | [-v]) [-h] <command> ..."


def test_argparse_ends_the_program_with_its_usage(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("require('argparse')('script'):parse()")
    done = subprocess.run(
        [sys.executable, "-m", "relume", "lua", str(script), "extra"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "Usage: script [-h]\n\nError: too many arguments\n"


# ---- csvigo ----


def test_csvigo(lua, tmp_path):
    lua.globals.path = str(tmp_path / "x.csv")
    lua.execute("csvigo.save{path = path, data = {{'a','b'},{1,'x,y'},{2,'q\"'}}, verbose = false}")
    assert (tmp_path / "x.csv").read_text() == 'a,b\n1,"x,y"\n2,"q"""\n'
    assert lua.execute(
        """
        local tidy = csvigo.load{path = path, verbose = false}
        local raw = csvigo.load{path = path, mode = 'raw', verbose = false}
        local query = csvigo.load{path = path, mode = 'query', verbose = false}
        local large = csvigo.load{path = path, mode = 'large'}
        return show(tidy, #raw, query('inter', {a = 2}), query 'vars', #large, large[2])
        """
    ) == (
        '{a={"1","2"},b={"x,y","q\\""}} 3 {a={"2"},b={"q\\""}} {"a","b"} 3 {"1","x,y"}'
    )  # fmt: skip
    with pytest.raises(LuaError, match="read-only"):
        lua.execute("csvigo.load{path = path, mode = 'large'}[1] = 'x'")


def test_csvigo_writes_columns_and_reads_numbers_without_a_header(lua, tmp_path):
    lua.globals.path = str(tmp_path / "y.csv")
    lua.execute("csvigo.save{path = path, data = {b = {3, 4}, a = {1, 2}}, verbose = false}")
    assert (tmp_path / "y.csv").read_text() == "a,b\n1,3\n2,4\n"
    (tmp_path / "y.csv").write_text("1;2\r\n3;4\r\n")
    assert (
        lua.eval("show(csvigo.load{path = path, separator = ';', verbose = false})")
        == '{var_1={"1","3"},var_2={"2","4"}}'
    )


# ---- torchx ----


def test_torchx(lua):
    assert lua.execute(
        """
        local groups, values = torch.group(torch.Tensor {5,3,4,5,3,5})
        local function copy(x, y) y:resizeAs(x):copy(x) end
        local made = select(2, torch.remap({torch.ones(2)}, nil, copy))
        return show(
           torch.md5.sumhexa 'helloworld!', torch.find(torch.Tensor {1,2,3,1,1,2}, 1),
           torch.find(torch.Tensor {{1,2,3,4,5},{5,6,0.6,0,2}}, 2, 2), groups[5].idx:size(1),
           groups[4].idx[1], values[6], made[1]:sum(),
           torch.concat({torch.ones(2,3), torch.ones(2,1)}, 2):size(2))
        """
    ) == "420e57b017066b44e05ea1577f6e2e12 {1,4,5} {{2},{5}} 3 3 5 2 4"  # fmt: skip


def test_paths_indexdir(lua, tmp_path):
    for name in ("b.png", "a.png", "frame1.png", "c.txt"):
        (tmp_path / name).write_text("")
    files = lua.execute(
        """
        local files, names = paths.indexdir(..., 'png', false, '*frame*'), {}
        for i = 1, files:size() do names[i] = paths.basename(files:filename(i)) end
        return show(names)
        """,
        str(tmp_path),
    )
    assert files == '{"a.png","b.png"}'
    count = lua.execute(
        "return paths.indexdir(..., 'png', false, 'frame?.png'):size()", str(tmp_path)
    )
    assert count == 2


# ---- gnuplot ----

PLOTS = [
    ("pngfigure", "a.png", "gnuplot.plot(torch.sin(x))", b"\x89PNG"),
    ("svgfigure", "b.svg", "gnuplot.plot('Sin', x / 3, torch.sin(x), '|')", b"<?xml"),
    (
        "pdffigure",
        "c.pdf",
        "gnuplot.plot({'Cos', x, torch.cos(x), '~'}, {'Sin', x, torch.sin(x), 'with points'})",
        b"%PDF",
    ),
    ("epsfigure", "d.eps", "gnuplot.hist(torch.sin(x), 5)", b"%!PS"),
    ("pngfigure", "e.png", "gnuplot.imagesc(torch.rand(5, 5), 'color')", b"\x89PNG"),
    ("pngfigure", "f.png", "gnuplot.splot({torch.rand(5, 5)}, {torch.rand(5, 5) + 2})", b"\x89PNG"),
    ("pngfigure", "g.png", "gnuplot.scatter3({'a', x, x, x}, {'b', x, -x, x})", b"\x89PNG"),
    ("pngfigure", "h.png", "gnuplot.plot(torch.rand(5, 2), torch.rand(5, 2), 'v')", b"\x89PNG"),
]


@pytest.mark.parametrize(("figure", "name", "plot", "start"), PLOTS)
def test_gnuplot_writes_files(lua, tmp_path, figure, name, plot, start):
    pytest.importorskip("matplotlib")
    lua.execute(
        f"""
        local x = torch.linspace(-5, 5)
        gnuplot.{figure}(...)
        {plot}
        gnuplot.xlabel('X') gnuplot.ylabel('Y') gnuplot.title('T') gnuplot.grid(true)
        gnuplot.movelegend('left', 'bottom')
        gnuplot.raw('set xrange [-2:2]')
        gnuplot.plotflush()
        """,
        str(tmp_path / name),
    )
    assert (tmp_path / name).read_bytes().startswith(start)


def test_gnuplot_draws_what_it_is_told(lua, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "plot.svg"
    lua.execute(
        """
        gnuplot.svgfigure(...)
        gnuplot.plot({'Curve', torch.Tensor {1, 2, 3}, torch.Tensor {1, 4, 9}, '-'})
        gnuplot.xlabel 'LABEL X'
        gnuplot.axis {0, 10, 0, ''}
        gnuplot.close()
        """,
        str(path),
    )
    text = path.read_text()
    for word in ("Curve", "LABEL X"):
        assert f"<!-- {word} -->" in text


def test_gnuplot_prints_the_current_figure(lua, tmp_path):
    pytest.importorskip("matplotlib")
    lua.execute(
        "gnuplot.figure() gnuplot.plot(torch.rand(3)) gnuplot.figprint(...)",
        str(tmp_path / "p.png"),
    )
    assert (tmp_path / "p.png").stat().st_size > 0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("gnuplot.plot(5)", "expected tensors and strings"),
        ("gnuplot.plot(torch.ones(3), torch.ones(4))", "3 values of x and 4 of y"),
        ("gnuplot.imagesc(torch.ones(3))", "expected a matrix"),
        ("gnuplot.plot(torch.ones(3)) gnuplot.figprint('x.doc')", "gnuplot writes .png"),
        ("gnuplot.movelegend('up', 'top')", "left, right or center"),
    ],
)
def test_gnuplot_explains_mistakes(lua, source, message):
    with pytest.raises((LuaError, ValueError), match=message):
        lua.execute(source)


def test_torchx_goes_down_a_tree_to_the_largest(lua):
    value, place = lua.execute(
        """
        require 'torchx'
        -- the sums of three parts are 5, 6 and 4; of (2, 4) the second is larger
        return torch.treemax(torch.Tensor{5, 0, 2, 4, 3, 1}, {3, 2})
        """
    )
    assert (value, place) == (4, 4)


def test_torchx_draws_by_given_probabilities(lua):
    shares = lua.execute(
        """
        require 'torchx'
        torch.manualSeed(5)
        local table = torch.AliasMultinomial(torch.Tensor{6, 1, 3})
        local drawn = table:batchdraw(torch.LongTensor(20000))
        return torch.Tensor{drawn:eq(1):sum(), drawn:eq(2):sum(), drawn:eq(3):sum()}:div(20000)
        """
    )
    assert shares.tolist() == pytest.approx([0.6, 0.1, 0.3], abs=0.015)


def test_torchx_concatenates_into_a_tensor(lua):
    assert lua.execute(
        """
        require 'torchx'
        return torch.Tensor():concat({torch.ones(2, 1), torch.ones(2, 2)}, 2):size(2)
        """
    ) == 3  # fmt: skip


@pytest.mark.parametrize(
    ("text", "separator", "parts"),  # as Torch7's xlua and sys printed them
    [
        ("", ",", []),
        ("a,", ",", ["a"]),
        (",a", ",", ["a"]),
        (",,a", ",", ["", "a"]),
        ("a,b,,", ",", ["a", "b", ""]),
        ("a,,b", ",", ["a", "", "b"]),
        (",,", ",", [""]),
        (" a  b ", "%s+", ["a", "b"]),
        ("a.b.c", ".", ["", "", "", ""]),
        ("a1b22c", "%d+", ["a", "b", "c"]),
    ],
)
def test_texts_are_split_as_xlua_does(lua, text, separator, parts):
    split = "require 'xlua'; local text, separator = ...; return text:split(separator)"
    assert list(lua.execute(split, text, separator)) == parts
