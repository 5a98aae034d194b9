"""Habits of old research code that the Lua side goes along with."""

from __future__ import annotations

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.require("nngraph")
        yield runtime


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        ("nn.Linear(3, 2)", "3"),
        ("nn.SpatialConvolution(1, 1, 2, 2)", "1, 3, 3"),
        ("nn.TemporalConvolution(3, 2, 1)", "4, 3"),
    ],
)
def test_a_layer_without_grad_input_computes_only_the_gradients_of_its_weights(lua, layer, shape):
    absent, weight_moved = lua.execute(
        f"""
        local layer, input = {layer}, torch.ones({shape})
        layer.gradInput = nil
        layer:zeroGradParameters()
        local output = layer:forward(input)
        local gradInput = layer:backward(input, output:clone():fill(1))
        return gradInput == nil, layer.gradWeight:abs():sum() > 0
        """
    )
    assert absent and weight_moved


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("local a = nn.Identity()(); nn.CAddTable(){a, nn.Tanh()}", r"inputs\[2\] is an nn.Module"),
        (
            "local a = nn.Identity()(); nn.gModule({a, nn.Tanh()}, {a})",
            r"inputs\[2\] is an nn.Module, specifically a nn.Tanh",
        ),
        ("local a = nn.Identity()(); nn.gModule({a}, {a, nil, a})", r"outputs\[2\] is nil"),
        ("nn.Identity()({})", "cannot pass an empty table of inputs"),
        ("nn.Identity()(nil)", "is nil"),
        (
            "local a = nn.Identity()()\nlocal b = nn.Tanh()(a)\nnn.gModule({a}, {nn.Sigmoid()(a)})",
            r"node declared on \[.*\]:2_ does not connect to gmodule output",
        ),
        (
            "local a = nn.Identity()()\nlocal b, c = a:split(2)\nnn.gModule({a}, {b})",
            r"1 of split\(2\) outputs from the node declared at \[.*\]:1_ split at \[.*\]:2",
        ),
    ],
)
def test_mistakes_in_graphs_are_told_where_they_were_made(lua, program, message):
    with pytest.raises(LuaError, match=message):
        lua.execute(program)


def test_a_split_must_get_as_many_as_it_gives(lua):
    net = lua.execute(
        """
        local a = nn.Identity()()
        local b, c = nn.SplitTable(2)(a):split(2)
        return nn.gModule({a}, {b, c})
        """
    )
    with pytest.raises(LuaError, match=r"split\(2\) cannot split 3"):
        lua.execute("local net = ...; net:forward(torch.ones(4, 3))", net)


def test_what_goes_back_through_a_graph_is_what_update_grad_input_returns(lua):
    lua.execute(
        """
        local Odd, parent = torch.class('nn.OddGradient', 'nn.Module')
        function Odd:updateOutput(input) self.output = input; return input end
        function Odd:updateGradInput(input, gradOutput) return gradOutput * 3 end
        """
    )
    gradient = lua.execute(
        """
        local a = nn.Identity()()
        local net = nn.gModule({a}, {nn.OddGradient()(a)})
        net:forward(torch.ones(2))
        return net:backward(torch.ones(2), torch.ones(2))
        """
    )
    assert gradient.tolist() == [3.0, 3.0]


def test_nested_tables_of_tensors(lua):
    total, count = lua.execute(
        """
        local nesting = require 'nngraph.nesting'
        local a = {torch.ones(2), {torch.ones(3)}}
        local b = nesting.cloneNested(a)
        nesting.fillNested(b, 5)
        nesting.addNestedTo(a, b)
        local c = {}
        nesting.resizeNestedAs(c, a)
        nesting.copyNested(c, a)
        return c[1]:sum() + c[2][1]:sum(), #c
        """
    )
    assert (total, count) == (30, 2)


def test_classes_derived_from_the_tester_and_the_command_line(lua, capfd):
    lua.execute(
        """
        local suite = torch.TestSuite()
        function suite.works() end
        assert(suite.__tests.works == suite.works)
        local Counting, parent = torch.class('CountingTester', 'torch.Tester')
        function Counting:_assert_sub(...)
           self.seen = (self.seen or 0) + 1
           return parent._assert_sub(self, ...)
        end
        local tester = CountingTester()
        tester:add(function() tester:eq(1, 1); tester:assert(true) end, 'two')
        tester:run()
        assert(tester.seen == 2)
        local cmd = torch.CmdLine()
        cmd:option('-size', 3, 'how large')
        assert(cmd.helplines[1].key == '-size' and cmd.options['-size'].type == 'number')
        assert(cmd:__readOption__({}, {'-size', '4'}, 1) == 2)
        """
    )
    assert "1 test" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("band(0xFFFFFFFF, 0xF0F0)", 0xF0F0),
        ("bor(0x80000000, 1)", 0x80000001),
        ("bnot(0)", 0xFFFFFFFF),
        ("bxor(5, 3)", 6),
        ("lshift(1, 31)", 2**31),
        ("lshift(1, 32)", 0),
        ("rshift(0x80000000, 31)", 1),
        ("arshift(0x80000000, 31)", 0xFFFFFFFF),
        ("lrotate(0x80000001, 1)", 3),
        ("extract(0xABCD, 4, 8)", 0xBC),
        ("replace(0xABCD, 0, 4, 8)", 0xA00D),
        ("btest(4, 12)", True),
    ],
)
def test_bits(lua, expression, value):
    assert lua.eval(f"require('bit32').{expression}") == value


def test_a_vector_has_one_target(lua):
    targets = "torch.LongTensor{2, 1}"
    loss = lua.eval(f"(nn.ClassNLLCriterion():forward(torch.Tensor{{-1, -2}}, {targets}))")
    assert loss == 2


def test_the_reach_of_a_recurrent_layer_may_become_smaller_in_a_sequence(lua):
    lua.require("rnn")
    steps = lua.execute(
        """
        local layer = nn.LSTM(2, 2)
        local x, back = torch.rand(1, 2), 0
        for _, count in ipairs {4, 1, 4} do
           for _ = 1, count do layer:forward(x) end
           layer:maxBPTTstep(count)
           for _ = 1, count do
              layer:backward(x, torch.ones(1, 2))
              back = back + 1
           end
        end
        return back
        """
    )
    assert steps == 9


def test_methods_of_a_python_class_are_methods_in_lua(lua):
    lua.require("dpnn")
    count, shape = lua.execute(
        """
        local layer = nn.NCEModule(4, 5, 3, torch.rand(5))
        local both = nn.Sequential():extend(nn.Tanh(), nn.Tanh())
        local probabilities = layer:noiseProb(torch.Tensor(2, 3), torch.LongTensor(2, 3):fill(1))
        return #both.modules, probabilities:size(2)
        """
    )
    assert (count, shape) == (2, 3)


def test_the_alias_method_draws_no_index_below_one(lua):
    lowest = lua.execute(
        """
        torch.manualSeed(3)
        local state = torch.multinomialAliasSetup(torch.Tensor{0.9, 0.05, 0.05})
        return torch.multinomialAlias(torch.LongTensor(1000), state):min()
        """
    )
    assert lowest == 1


def test_a_hook_sees_an_object_that_is_written_twice_as_one(lua):
    same, value = lua.execute(
        """
        local file = torch.MemoryFile('rw')
        local part = {1}
        file:writeObject({part, part}, nil, function(object)
           return object == part and {2} or object
        end)
        file:seek(1)
        local read = file:readObject()
        return read[1] == read[2], read[1][1]
        """
    )
    assert (same, value) == (True, 2)


def test_what_cannot_be_written_is_named_by_the_variables_that_lead_to_it(lua):
    with pytest.raises(LuaError, match=r"at <\?>\.outer\.inner\.call\.thread"):
        lua.execute(
            """
            local thread = coroutine.create(function() end)
            local outer = {inner = {call = function() return thread end}}
            torch.serialize(function() return outer end)
            """
        )


def test_a_layer_whose_type_method_gives_nothing_stays_in_its_container(lua):
    count = lua.execute(
        """
        local Odd = torch.class('nn.OddType', 'nn.Identity')
        function Odd:type(name) end
        local net = nn.Sequential():add(nn.OddType()):add(nn.Linear(1, 1))
        return #net:float().modules
        """
    )
    assert count == 2


def test_planes_that_no_connection_names_are_ignored(lua):
    equal, unused = lua.execute(
        """
        local table = torch.Tensor{{1, 1}, {2, 1}}
        local layer = nn.SpatialConvolutionMap(table, 2, 2)
        local wide = torch.randn(3, 4, 4)
        local output = layer:forward(wide):clone()
        local gradient = layer:backward(wide, output)
        return torch.dist(layer:forward(wide:narrow(1, 1, 2)), output), gradient[3]:norm()
        """
    )
    assert (equal, unused) == (0, 0)


def test_unsup_finds_the_shrinkage_that_was_written_in_c(lua):
    shrunk = lua.execute("require 'libunsup'; return torch.Tensor{-3, 0.5, 3}:shrinkage(1)")
    assert shrunk.tolist() == [-2, 0, 2]


def test_a_hash_has_no_entries_but_its_own(lua):
    assert lua.execute(
        """
        local words = require('tds').Hash()
        local absent = words.pairs == nil and words.write == nil and words.new == nil
        words.write = 3
        local copy = torch.deserialize(torch.serialize(words))
        return absent, copy.write, #copy
        """
    ) == (True, 3, 1)


def test_a_sequencer_in_evaluation_gives_as_many_steps_as_it_was_given(lua):
    counts = lua.execute(
        """
        require 'rnn'
        local net = nn.Sequencer(nn.Linear(2, 2))
        net:evaluate()
        local steps = {torch.ones(2), torch.ones(2), torch.ones(2)}
        local first = #net:forward(steps)
        return first, #net:forward({steps[1]}), #net:forward(steps)
        """
    )
    assert counts == (3, 1, 3)


def test_constructors_lead_to_their_classes_by_metatables(lua):
    name, parent, registered, type_of_it = lua.execute(
        """
        local class = getmetatable(nn.SoftMax)
        local registered, parent = debug.getregistry()[class], getmetatable(class)
        return class.__typename, parent.__typename, registered, torch.type(nn.SoftMax)
        """
    )
    assert (name, parent) == ("nn.SoftMax", "nn.Module")
    assert (registered, type_of_it) == ("nn.SoftMax", "table")


@pytest.mark.parametrize(
    ("layer", "other"),
    [
        ("nn.SpatialFullConvolution(1, 1, 2, 2)", "nn.SpatialConvolution"),
        ("nn.SpatialConvolutionMM(1, 1, 2, 2)", "nn.SpatialConvolution"),
        ("nn.VolumetricDropout()", "nn.SpatialDropout"),
    ],
)
def test_layers_are_not_of_the_classes_that_they_resemble(lua, layer, other):
    assert lua.eval(f"torch.isTypeOf({layer}, '{other}')") is False
    assert lua.eval(f"torch.isTypeOf({layer}, 'nn.Module')") is True


def test_a_container_accumulates_gradients_without_a_scale(lua):
    grown = lua.execute(
        """
        local Layer = torch.class('nn.NeedsScale', 'nn.Identity')
        function Layer:accGradParameters(input, gradOutput, scale) seen = scale end
        local net = nn.Sequential():add(nn.NeedsScale())
        net:forward(torch.ones(1))
        net:accGradParameters(torch.ones(1), torch.ones(1))
        return seen
        """
    )
    assert grown == 1


def test_the_size_of_an_element_asks_no_storage(lua):
    assert lua.eval("torch.LongStorage.elementSize()") == 8


def test_arguments_in_one_table_reach_layers_that_run_in_python(lua):
    lua.execute("require 'nnx'")
    assert lua.eval("nn.SpatialGraph{dist = 'cosine', normalize = false}.normalize") == 0


def test_digests_of_strings(lua):
    digest = "900150983cd24fb0d6963f7d28e17f72"  # RFC 1321
    assert lua.execute("return require('md5').sumhexa('abc')") == digest
    assert lua.execute("return #require('md5').sum('abc')") == 16


@pytest.mark.parametrize("package", ["env", "display", "pprint", "argcheck.doc", "iterm.dot"])
def test_packages_of_the_prompt_and_of_windows_are_there(lua, package):
    lua.execute("require(...)", package)


def test_showing_goes_on_without_a_window(lua):
    window = lua.execute(
        """
        require 'image'
        image.display{image = torch.rand(3, 2, 2), zoom = 2}
        return require('display').image(torch.rand(3, 2, 2), {win = 10})
        """
    )
    assert window == 10


def test_texts_are_documented_while_they_are_recorded(lua):
    text = lua.execute(
        """
        local doc = require 'argcheck.doc'
        doc 'lost'
        doc.record()
        doc 'one '
        doc.doc 'two'
        return doc.stop()
        """
    )
    assert text == "one two"


def test_a_table_is_printed_with_its_keys_in_order(lua):
    text = lua.execute("return require('pprint').pretty_string{b = {}, a = 'x', 7}")
    assert text == '{\n  1 : 7\n  a : "x"\n  b : {}\n}'


def test_samples_become_batches_and_back(lua):
    lua.execute("require 'dpnn'")
    batch, sample = lua.execute(
        """
        local net, x = nn.Identity(), torch.ones(2, 3)
        local batch = net:toBatch(x, 2)
        return batch:dim(), net:fromBatch(batch, 1):dim()
        """
    )
    assert (batch, sample) == (3, 2)


def test_a_serial_module_is_written_small_and_in_its_type(lua):
    size, kind, shared = lua.execute(
        """
        require 'dpnn'
        local net = nn.Sequential():add(nn.Linear(2, 3)):Serial():mediumSerial()
        net:forward(torch.ones(2))
        net.tensortype = 'torch.FloatTensor'
        local copy = net:clone()
        local linear = copy:get(1):get(1)
        return linear.output:nElement(), linear.weight:type(), net:get(1):get(1).output:nElement()
        """
    )
    assert (size, kind, shared) == (0, "torch.FloatTensor", 3)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("torch.zeros(2, 'torch.IntTensor')", "torch.IntTensor"),
        ("torch.range(1, 3, 'torch.LongTensor')", "torch.LongTensor"),
        ("torch.randn(2, 2, 'torch.FloatTensor')", "torch.FloatTensor"),
        ("torch.ones(2)", "torch.DoubleTensor"),
    ],
)
def test_a_last_argument_may_name_the_type_of_the_result(lua, call, kind):
    assert lua.eval(f"{call}:type()") == kind


def test_objects_are_read_from_tensors_of_bytes(lua):
    assert lua.execute(
        """
        local storage = torch.serializeToStorage({7})
        local bytes = torch.CharTensor(storage:size() + 5)
        bytes:narrow(1, 6, storage:size()):copy(torch.CharTensor(storage))
        return torch.deserializeFromStorage(bytes:narrow(1, 6, storage:size()))[1]
        """
    ) == 7  # fmt: skip


def test_settings_come_from_the_environment(lua, monkeypatch):
    monkeypatch.setenv("depth", "28")
    monkeypatch.setenv("nesterov", "False")
    monkeypatch.setenv("name", "wide")
    settings = lua.execute(
        """
        require 'xlua'
        local defaults = {depth = 1, nesterov = true, name = '', width = 2}
        local s = xlua.envparams(defaults)
        return s.depth, s.nesterov, s.name, s.width
        """
    )
    assert settings == (28, False, "wide", 2)


def test_an_error_is_caught(lua):
    lua.execute("require 'xlua'")
    assert lua.execute("return xlua.trycatch(function() return 3 end)") == 3
    assert lua.execute("return xlua.trycatch(error, function() return 'caught' end)") == "caught"
    assert lua.eval("xlua.installed('nn')") is True
    assert lua.eval("xlua.installed('never_there')") is False


def test_classes_write_themselves_by_methods_with_underscores(lua):
    assert lua.execute(
        """
        local Kept = torch.class('KeptByName')
        function Kept:__write(file) file:writeObject('name') end
        function Kept:__read(file) self.name = file:readObject() end
        local object = Kept.new()
        object.thread = coroutine.create(function() end)
        return torch.deserialize(torch.serialize(object)).name
        """
    ) == "name"  # fmt: skip


def test_squeeze_keeps_its_output_object_whose_sizes_another_input_does_not_change(lua):
    same, sizes = lua.execute(
        """
        local layer = nn.Squeeze(2)
        local output = layer:forward(torch.ones(3, 1))
        local again = layer:forward(torch.ones(3, 1))
        return output == again, output:dim()
        """
    )
    assert (same, sizes) == (True, 1)


def test_index_linear_takes_a_count_as_a_number_and_a_step_at_once(lua):
    weight, kept, size = lua.execute(
        """
        local layer = nn.IndexLinear(5, 1)
        local input = {torch.LongTensor{2, 2, 4}, torch.Tensor{1, 1, 3}, 3}
        local output = layer:forward(input)
        layer:accUpdateGradParameters(input, torch.ones(1), 0.5)
        return layer.weight:view(-1), layer.running.counter, output:dim()
        """
    )
    assert weight.tolist() == [0, -1, 0, -1.5, 0]
    assert (kept, size) == (1, 1)
