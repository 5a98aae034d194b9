"""Penlight on the Lua side: results are those that its documentation and its guide show."""

from __future__ import annotations

import subprocess
import sys

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.execute("require 'pl'")
        runtime.execute(
            """
            -- one line of a value, with keys in order
            function show(...)
               local parts = {}
               for i = 1, select('#', ...) do
                  local value = select(i, ...)
                  if type(value) == 'table' then
                     local mt = getmetatable(value)
                     value = setmetatable(tablex.copy(value), nil)
                     for k, v in pairs(value) do
                        if type(v) == 'table' then value[k] = tablex.copy(v) end
                     end
                     parts[i] = pretty.write(value, '')
                  else
                     parts[i] = tostring(value)
                  end
               end
               return table.concat(parts, ' ')
            end
            """
        )
        yield runtime


CASES = [
    # utils
    ("utils.split('one two three')", '{"one","two","three"}'),
    ("utils.split('a,b,c', ',')", '{"a","b","c"}'),
    ("utils.split('a.b.c', '.', true, 2)", '{"a","b.c"}'),
    ("utils.splitv('user=jane=doe', '=', false, 2)", "user jane=doe"),
    ("utils.choose(1 > 2, 'yes', 'no')", "no"),
    ("utils.escape('a.b*c')", "a%.b%*c"),
    ("utils.string_lambda '|x|x+1' (2)", "3"),
    ("utils.string_lambda '_+1' (2)", "3"),
    ("utils.bind1(math.max, 10)(20)", "20"),
    ("utils.is_type('x', 'string')", "true"),
    ("utils.quote_arg {'-l', 'a b'}", "-l 'a b'"),
    ("utils.pack(nil, 2, nil).n", "3"),
    ("utils.readfile('/no/such/file')", "nil /no/such/file: No such file or directory"),
    # tablex
    ("tablex.find({10,20,30}, 20)", "2"),
    ("tablex.find({'a','b','a','c'}, 'a', 2)", "3"),
    ("tablex.rfind({10,10,10}, 10)", "3"),
    ("tablex.index_by({10,20,30,40}, {2,4})", "{20,40}"),
    ("tablex.map('_*_', {10,20,30,fred=2})", "{100,400,900,fred=4}"),
    ("tablex.imap('_*_', {10,20,30,fred=2})", "{100,400,900}"),
    ("tablex.map2('+', {1,2,3,m=4}, {10,20,30,m=40})", "{11,22,33,m=44}"),
    ("tablex.imap2('+', {1,2,3}, {10,20})", "{11,22}"),
    ("tablex.reduce('+', {1,2,3,4})", "10"),
    ("tablex.mapn(math.max, {1,20,300}, {10,2,3}, {100,200,100})", "{100,200,300}"),
    ("tablex.zip({10,20,30}, {100,200,300})", "{{10,100},{20,200},{30,300}}"),
    ("tablex.merge({alice=23,fred=34}, {bob=25,fred=34})", "{fred=34}"),
    ("tablex.merge({alice=23,fred=34}, {bob=25,fred=34}, true)", "{alice=23,bob=25,fred=34}"),
    ("tablex.difference({a=true,b=true}, {b=true})", "{a=true}"),
    ("tablex.pairmap(function(k,v) return {k,v},k end, {one=1,two=2}).one", '{"one",1}'),
    ("tablex.keys({a=1})", '{"a"}'),
    ("tablex.makeset {'x','y'}", "{x=true,y=true}"),
    ("tablex.index_map {10,20,30}[20]", "2"),
    ("tablex.size {10,20,30,fred=1}", "4"),
    ("tablex.deepcompare({1,{2,x=3}}, {1,{2,x=3}})", "true"),
    ("tablex.compare_no_order({1,2,3}, {3,1,2})", "true"),
    ("tablex.filter({1,-2,3}, '>', 0)", "{1,3}"),
    ("tablex.sub({10,20,30,40}, -3, -2)", "{20,30}"),
    ("tablex.range(1,9,4)", "{1,5,9}"),
    ("tablex.new(3, 'x')", '{"x","x","x"}'),
    ("tablex.insertvalues({1,5}, 2, {2,3})", "{1,2,3,5}"),
    ("tablex.removevalues({1,2,3,4}, 2, -2)", "{1,4}"),
    ("tablex.search(_G, math.sin, {package.loaded})", "math.sin"),
    ("tablex.count_map {1,2,1}[1]", "2"),
    # stringx
    ("stringx.split('one,two,three', ',', 2)", '{"one","two,three"}'),
    ("stringx.split('')", "{}"),
    ("stringx.join(' ', {1,2,3})", "1 2 3"),
    ("stringx.startswith('hello', 'he')", "true"),
    ("stringx.endswith('x.lua', {'.py','.lua'})", "true"),
    ("stringx.strip('  --== Hello ==--  ', '- =')", "Hello"),
    ("stringx.lstrip('  x ') .. '|'", "x |"),
    ("stringx.center('hello', 10, '*')", "**hello***"),
    ("stringx.ljust('hello', 10, '*')", "hello*****"),
    ("stringx.rjust('hello', 10, '*')", "*****hello"),
    ("stringx.partition('a,b,c', ',')", "a , b,c"),
    ("stringx.rpartition('a,b,c', ',')", "a,b , c"),
    ("stringx.count('banana', 'ana', true)", "2"),
    ("stringx.replace('a.b.c', '.', '%', 1)", "a%b.c"),
    ("stringx.lfind('abcabc', 'b')", "2"),
    ("stringx.rfind('abcabc', 'b')", "5"),
    ("stringx.title('hello world')", "Hello World"),
    ("stringx.expandtabs('\\tone,two,three', 4)", "    one,two,three"),
    ("stringx.splitlines('a\\r\\nb\\nc')", '{"a","b","c"}'),
    ("stringx.isdigit('123')", "true"),
    ("stringx.at('hello', -1)", "o"),
    (
        "text.Template('${here} is the $answer'):substitute{here='one', answer='two'}",
        "one is the two",
    ),
    ("text.dedent('  one\\n    two\\n')", "one\n  two\n"),
    # List and its kin
    ("List{1,2,3}:map('+', 10)", "{11,12,13}"),
    ("tostring(List{10,20} .. List{30})", "{10,20,30}"),
    ("List.range(4)", "{1,2,3,4}"),
    ("List.range(5,1,-1)", "{5,4,3,2,1}"),
    ("List{10,20}:splice(2, {21,22})", "{10,21,22,20}"),
    ("List{1,2,3,4}:slice(2, -2)", "{2,3}"),
    ("List{3,1,2}:sort()", "{1,2,3}"),
    ("List{1,2,3}:reverse()", "{3,2,1}"),
    ("List{1,2,3}:pop()", "3"),
    ("List{1,2,3,4}:filter('_>2')", "{3,4}"),
    ("List{1,2,3} == List{1,2,3}", "true"),
    ("List{'a','b'}:index('b')", "2"),
    ("List{1,5,2}:minmax()", "1 5"),
    ("List('help')", '{"h","e","l","p"}'),
    ("List{'one','three'}:partition(function(s) return #s end)[5]", '{"three"}'),
    ("Set{'one','two'} == Set{'two','one'}", "true"),
    ("Set{10,20,30} * Set{20,30,40} == Set{20,30}", "true"),
    ("(Set{1,2} + Set{3}):len()", "3"),
    ("Set{1} < Set{1,2}", "true"),
    ("tostring(OrderedMap{{z=2},{beta=1},{name='fred'}})", '{z=2,beta=1,name="fred"}'),
    ("Map{one=1,two=2}:items()", '{{"one",1},{"two",2}}'),
    ("Map{a=1} == Map{a=1}", "true"),
    # seq
    ("seq.sum {10,20,30}", "60 3"),
    ("seq.copy(seq.range(1,4))", "{1,2,3,4}"),
    ("seq.copy(seq.map('+', {10,20,30}, 1))", "{11,21,31}"),
    ("seq.reduce('-', {1,2,3,4,5})", "-13"),
    ("seq.copy(seq.splice({1,2}, {3}))", "{1,2,3}"),
    ("seq.copy2(seq.last {10,20,30})", "{{20,10},{30,20}}"),
    ("seq{1,2,3}:filter('_>1'):map('_*10'):copy()", "{20,30}"),
    ("seq.count_map {'one','two','two'}.two", "2"),
    # path
    ("path.splitpath('some/dir/myfile.txt')", "some/dir myfile.txt"),
    ("path.splitext('/bonzo/dog_stuff/cat.txt')", "/bonzo/dog_stuff/cat .txt"),
    ("path.join('/first', 'second', 'third')", "/first/second/third"),
    ("path.join('/first', '/second', 'third')", "/second/third"),
    ("path.normpath('A//B/./foo/../C')", "A/B/C"),
    ("path.extension('/some/path/file.txt')", ".txt"),
    ("path.basename('/some/path/file.txt')", "file.txt"),
    ("path.dirname('file.txt')", ""),
    ("path.relpath('/a/b/c.txt', '/a/d')", "../b/c.txt"),
    ("path.isabs('hello/path')", "false"),
    ("path.common_prefix('/hello/world', '/hello/world/filename.doc')", "/hello/world"),
    ("dir.fnmatch('test.txt', '*.t?t')", "true"),
    # pretty
    ("pretty.write({1,2,x={y='s'}}, '')", '{1,2,x={y="s"}}'),
    ("pretty.write {10,20}", "{\n  10,\n  20\n}"),
    ("pretty.write({a={b=1}})", "{\n  a = {\n    b = 1\n  }\n}"),
    ("pretty.write({['end']=1,['a b']=2}, '')", '{["a b"]=2,["end"]=1}'),
    ("pretty.read '{1,2,name=\"x\"}'.name", "x"),
    ("pretty.read 'function() end'", "nil not a Lua table"),
    ("pretty.number(123456, 'T')", "123,456"),
    ("pretty.number(2 * 1024 * 1024, 'M')", "2.0MiB"),
    # others
    ("types.type(List())", "List"),
    ("types.is_empty('  ', true)", "true"),
    ("types.to_bool('Yes')", "true"),
    ("func.compose(math.abs, math.min)(-3, -1)", "3"),
    ("List{10,20,30}:map(func._1 + 1)", "{11,21,31}"),
    ("func.bind(function(a, b) return a - b end, func._2, func._1)(1, 10)", "9"),
    ("array2d.transpose {{1,2},{3,4}}", "{{1,3},{2,4}}"),
    ("array2d.flatten {{1,2},{3,4},{5,6}}", "{1,2,3,4,5,6}"),
    ("array2d.product('..', {1,2}, {'a','b'})", '{{"1a","2a"},{"1b","2b"}}'),
    ("#permute.order_table {1,2,3}", "6"),
    ("stringio.open('20 10'):read('*n', '*n')", "20 10"),
    ("seq.copy(input.numbers '1 2 3')", "{1,2,3}"),
    ("(template.substitute('# for i = 1,2 do\\n$(i) hi\\n# end\\n', {}))", "1 hi\n2 hi\n"),
    ("url.quote('a b/c')", "a%20b/c"),
]


@pytest.mark.parametrize(("expression", "expected"), CASES)
def test_values(lua, expression, expected):
    assert lua.eval(f"show({expression})") == expected


def test_classes(lua):
    assert lua.execute(
        """
        class.Animal()
        function Animal:_init(name) self.name = name end
        function Animal:__tostring() return self.name .. ': ' .. self:speak() end
        class.Dog(Animal)
        function Dog:speak() return 'bark' end
        class.Cat(Animal)
        function Cat:_init(name, breed)
           self:super(name)
           self.breed = breed
        end
        function Cat:speak() return 'meow' end
        local leo = Cat('Leo', 'tabby')
        return tostring(Dog('Fido')), tostring(leo), leo.breed, leo:is_a(Animal), leo:is_a(Dog),
           Animal:class_of(leo), Cat._name
        """
    ) == ("Fido: bark", "Leo: meow", "tabby", True, False, True, "Cat")


LAPP = """
Does some calculations
   -o,--offset (default 0.0)  Offset to add to scaled number
   -s,--scale  (number)  Scaling factor
   -v...  Verbosity
   -m,--mode (slow|fast default slow)
   -n (1..10 default 1)
   -q,--quiet  A flag
   --dry-run  Another
   <number> (number) Number to be scaled
   <rest...> (default nothing)
"""


def test_lapp_reads_a_command_line(lua):
    args = lua.globals.lapp(
        LAPP, ["-s", "2.2", "-vv", "--mode=fast", "-n5", "--dry-run", "10", "x", "y"]
    )
    args = args.to_python()
    assert {str(k): v for k, v in args.items() if k not in ("v", "rest")} == {
        "offset": 0, "scale": 2.2, "mode": "fast", "n": 5, "quiet": False, "dry_run": True,
        "number": 10,
    }  # fmt: skip
    assert list(args["v"]) == [True, True]
    assert list(args["rest"]) == ["x", "y"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("10", "missing required parameter: scale"),
        ("-s 2 x10", "unable to convert to number: x10"),
        ("-s 1 -n 12 10", "n out of range"),
        ("-s 1 -m medium 10", "value 'medium' not in slow|fast"),
        ("-s 1 --nonsense 10", "unrecognized parameter: nonsense"),
    ],
)
def test_lapp_says_what_is_wrong(lua, words, message):
    lua.execute("lapp.show_usage_error = 'throw'")
    with pytest.raises(LuaError, match=message):
        lua.globals.lapp(LAPP, words.split())


def test_lapp_shows_its_text_and_ends_the_program(tmp_path):
    script = tmp_path / "scale.lua"
    script.write_text(
        f"local args = require('pl.lapp') [[{LAPP}]]\nprint(args.scale * args.number)"
    )

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "relume", "lua", str(script), *words],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    good = run("-s", "2", "21")
    assert (good.returncode, good.stdout) == (0, "42\n")
    bad = run()
    assert bad.returncode == 1
    assert "scale: missing required parameter: scale" in bad.stderr
    assert "Does some calculations" in bad.stderr


def test_files_and_folders(lua, tmp_path):
    lua.globals.folder = str(tmp_path)
    lua.execute(
        """
        local deep = path.join(folder, 'a', 'b')
        assert(dir.makepath(deep))
        assert(file.write(path.join(deep, 'x.txt'), 'hello'))
        assert(dir.copyfile(path.join(deep, 'x.txt'), folder))
        assert(file.read(path.join(folder, 'x.txt')) == 'hello')
        assert(path.isfile(path.join(folder, 'x.txt')) and path.isdir(deep))
        assert(path.getsize(path.join(folder, 'x.txt')) == 5)
        assert(#dir.getallfiles(folder, '*.txt') == 2)
        assert(dir.getfiles(folder) == List {path.join(folder, 'x.txt')})
        local seen = List()
        for root, dirs, files in dir.walk(folder) do seen:append(#files) end
        assert(seen == List {1, 0, 1})
        assert(dir.rmtree(path.join(folder, 'a')))
        assert(not path.exists(deep))
        """
    )


def test_data_is_read_and_asked(lua, tmp_path):
    table = tmp_path / "xyz.txt"
    table.write_text("x,y,z\n10,20,1\n2,5,1\n40,50,1\n")
    lua.globals.table_path = str(table)
    assert lua.execute(
        """
        local d = data.read(table_path)
        local rows = List()
        local query = d:select 'x,y where x > 3 and z < 2 sort by y desc'
        for x, y in query do rows:append(x .. ':' .. y) end
        return show(d.fieldnames), show(d:column_by_name 'y'), rows:join ' '
        """
    ) == ('{"x","y","z"}', "{20,5,50}", "40:50 10:20")


def test_configuration_files(lua):
    assert lua.execute(
        """
        local timeouts = '; a comment\\n[timeouts]\\nread=10\\nwrite.x=5\\n'
        local ini = stringio.open(timeouts .. '[ports]\\nlist=1,2,3\\n')
        return pretty.write(config.read(ini), '')
        """
    ) == "{ports={list={1,2,3}},timeouts={read=10,write_x=5}}"  # fmt: skip


def test_command_line_flags(lua):
    flags, rest = lua.execute(
        "return app.parse_args({'-abc', '--out', 'x', '--level=3', '-n2', 'rest'}, {out = true})"
    )
    assert dict(flags.to_python()) == {
        "a": True, "b": True, "c": True, "out": "x", "level": "3", "n": "2",
    }  # fmt: skip
    assert list(rest.to_python()) == ["rest"]


def test_strict_globals_are_checked():
    with Lua() as lua:
        lua.execute("require 'pl.strict'; known = 1")
        assert lua.execute("return (function() return known end)()") == 1
        with pytest.raises(LuaError, match="variable 'unknown' is not declared"):
            lua.execute("(function() return unknown end)()")
