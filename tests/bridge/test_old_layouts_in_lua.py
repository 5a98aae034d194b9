"""Files of old Torch7 versions run in Lua, and networks that were made smaller before saving."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from golden_cases import DATA, difference, load_cases
from lua_layers import check_case

import relume as rl
from relume import legacy_nn as nn

FOLDER = Path(rl.__file__).parent.parent / "shared" / "legacy_files"
DOUBLE, FLOAT = 1e-9, 1e-5  # of the largest value

RUN = """
local path, module_path, input, target = ...
local module = torch.load(path)
if module_path ~= '.' then
   for step in module_path:gmatch('[^.]+') do module = module[tonumber(step) or step] end
end
if module.evaluate then module:evaluate() end
local output = module:forward(input, target)
return output
"""
# Removes what people remove before they save, and what old files do not say.
STRIP_AND_SAVE = """
local module, path = ...
local function strip(value)
   if type(value) ~= 'table' then return end
   if torch.isTypeOf(value, 'nn.Module') then
      for _, name in ipairs {'output', 'gradInput', 'gradWeight', 'gradBias'} do
         value[name] = nil
      end
   end
   for key, part in pairs(value) do strip(part) end
end
strip(module)
torch.save(path, module)
return torch.load(path, 'binary')
"""


# Their buffers alone say types, or the gradients of the case are not those of the start.
NOT_WITHOUT_BUFFERS = {"Copy", "Index", "WeightNorm"}


@pytest.fixture(scope="module")
def lua():
    with rl.bridge.Lua() as runtime:
        runtime.require("nngraph")
        runtime.require("nnx")
        # what the truth was computed with in the place of a Lua function on tensors
        runtime.execute(
            "autograd = {nn = {criterion = {}}}"
            "torch.class('autograd.nn.criterion.AutoMSE', 'nn.MSECriterion').sizeAverage = true"
        )
        yield runtime


@pytest.fixture(scope="module")
def plain():
    """A runtime in which no file loads package rnn, which changes layers of nn."""
    with rl.bridge.Lua() as runtime:
        runtime.require("nn")
        yield runtime


def runs():
    for path in sorted((FOLDER / "truth").glob("*.t7")) if FOLDER.is_dir() else []:
        for index, case in enumerate(rl.load(path).cases):
            if case.get("class") is None:  # a function, in bytecode of another Lua
                continue
            what = f"{path.stem}-{case.module_path}-{case.get('case')}"
            yield pytest.param(path.stem, index, id=what)


def largest_relative(actual, expected):
    if isinstance(expected, rl.Table):
        assert len(actual) == len(expected)
        return max(largest_relative(a, b) for a, b in zip(actual, expected, strict=True))
    actual, expected = (rl.tensor(v, dtype=rl.float64) for v in (actual, expected))
    assert actual.shape == expected.shape
    if not expected.numel():
        return 0
    return ((actual - expected).abs().max() / expected.abs().max().clamp(1e-30)).item()


@pytest.mark.skipif(not FOLDER.is_dir(), reason="needs ../shared/legacy_files")
@pytest.mark.parametrize(("name", "index"), list(runs()))
def test_old_files_give_what_torch7_gave(lua, name, index):
    case = list(rl.load(FOLDER / "truth" / f"{name}.t7").cases)[index]
    file = next((FOLDER / "files").glob(f"{name}.*"), FOLDER / "files" / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # files with something left over
        output = lua.execute(RUN, str(file), case.module_path, case.input, case.get("target"))
    if isinstance(output, rl.bridge.LuaTable):
        output = output.to_python()
    expected = case.output if case.get("output64") is None else case.output64
    is_float = case.type == "torch.FloatTensor"
    assert largest_relative(output, expected) <= (FLOAT if is_float else DOUBLE)


def load_in_lua(lua, tmp_path, typename, fields):
    """An object with these fields and no others, read by Lua's own reader."""
    path = tmp_path / "old.t7"
    rl.save(rl.TorchObject(typename, fields), path)
    return lua.eval(f"torch.load('{path}', 'binary')")


def doubles(*shape):
    return rl.arange(float(nn.shape_layers.product(shape)), dtype=rl.float64).reshape(shape) / 10


ONE, ZERO = rl.ones(1, 1, dtype=rl.float64), rl.zeros(1, dtype=rl.float64)
CONVOLUTION = {"nInputPlane": 1, "nOutputPlane": 1, "kW": 1, "kH": 1, "weight": ONE, "bias": ZERO}
STD = rl.tensor([0.5, 2.0], dtype=rl.float64)
OLD = [
    # class, what an old file has, input, output
    ("nn.SpatialConvolutionMM", CONVOLUTION, [[[1, 2]]], [[[1, 2]]]),
    ("nn.SpatialConvolutionMM", {**CONVOLUTION, "padding": 1}, [[[1]]],
     [[[0, 0, 0], [0, 1, 0], [0, 0, 0]]]),
    ("nn.SpatialAveragePooling", {"kW": 2, "kH": 1, "dW": 2, "dH": 1}, [[[1, 2]]], [[[3]]]),
    ("nn.SpatialMaxPooling", {"kW": 2, "kH": 1, "dW": 2, "dH": 1}, [[[1, 2, 3]]], [[[2]]]),
    ("nn.SpatialPadding", {"pad_l": 1, "pad_r": 0, "pad_t": 0, "pad_b": 0}, [[[1]]], [[[0, 1]]]),
    ("nn.Replicate", {"nfeatures": 2}, [1, 2], [[1, 2], [1, 2]]),
    ("nn.Padding", {"dim": 1, "pad": 1, "nInputDim": 1}, [1, 1], [1, 1, 0]),
    ("nn.Sqrt", {}, [4, 0], [2, 0]),
    ("nn.LeakyReLU", {"negative_scale": 0.5}, [-1, 2], [-0.5, 2]),
    ("nn.BatchNormalization", {"running_mean": rl.zeros(2, dtype=rl.float64), "running_std": STD,
                               "train": False}, [[1, 1], [2, 2]], [[0.5, 2], [1, 4]]),
    ("nn.View", {"size": rl.tensor([3, -1]).storage()}, [[1, 2, 3]], [[1], [2], [3]]),
    ("nn.Linear", {"weight": rl.ones(1, 2, dtype=rl.float64), "bias": rl.ones(1, dtype=rl.float64)},
     [2, 3], [6]),
]  # fmt: skip


@pytest.mark.parametrize(("typename", "fields", "x", "output"), OLD)
def test_fields_that_old_files_leave_out(lua, tmp_path, typename, fields, x, output):
    layer = load_in_lua(lua, tmp_path, typename, fields)
    x = rl.tensor(x, dtype=rl.float64)
    expected = rl.tensor(output, dtype=rl.float64)
    y = layer.forward(x)
    assert difference(y, expected) < 1e-12
    assert layer.backward(x, rl.ones_like(expected)).shape == x.shape


def test_parameters_decide_the_type_of_mixed_files(lua, tmp_path):
    weight, bias = rl.ones(2, 3), rl.ones(2)
    linear = rl.TorchObject("nn.Linear", {"weight": weight, "bias": bias})
    tanh = rl.TorchObject("nn.Tanh", {"_type": "torch.DoubleTensor"})
    modules = rl.Table([linear, tanh])
    net = load_in_lua(lua, tmp_path, "nn.Sequential", {"modules": modules})
    assert net.type() == "torch.FloatTensor"
    assert net.forward(rl.zeros(3)).tolist() == pytest.approx([0.76159416] * 2)
    assert net.backward(rl.zeros(3), rl.zeros(2)).dtype == rl.float32


def test_a_criterion_of_an_old_file(lua, tmp_path):
    criterion = load_in_lua(lua, tmp_path, "nn.ClassNLLCriterion", {})
    log_probabilities = rl.tensor([[-1.0, -3.0], [-5.0, -2.0]], dtype=rl.float64)
    loss, _ = criterion.forward(log_probabilities, rl.tensor([1.0, 1.0], dtype=rl.float64))
    assert loss == 3


def test_a_sequencer_of_2015_holds_any_module(tmp_path):
    linear = nn.Linear(3, 4)
    x = rl.randn(4, 2, 3, dtype=rl.float64)
    with rl.bridge.Lua() as fresh:
        fresh.require("rnn")
        net = load_in_lua(fresh, tmp_path, "nn.Sequencer", {"module": linear, "train": True})
        assert difference(net.forward(x)[2], linear.forward(x[2])) < 1e-12


def test_the_package_of_a_class_is_loaded(tmp_path):
    path = tmp_path / "net.t7"
    net = nn.Sequencer(nn.LSTM(3, 4))
    x = rl.randn(2, 1, 3, dtype=rl.float64)
    expected = net.forward(x).clone()
    rl.save(net, path)
    with rl.bridge.Lua() as fresh:
        y = fresh.eval(f"torch.load('{path}')").forward(x)
        assert difference(y, expected) < 1e-12


@pytest.mark.parametrize("name", sorted(path.stem for path in (DATA / "nn").glob("*.t7")))
def test_networks_that_were_made_smaller(plain, tmp_path, name):
    for case in load_cases("nn", name):
        if (
            case.protocol != "module"
            or name in NOT_WITHOUT_BUFFERS
            or not plain.eval(f"torch.getmetatable('nn.{name}') ~= nil")
        ):
            continue
        case.module = plain.execute(STRIP_AND_SAVE, case.module, str(tmp_path / "net.t7"))
        try:
            check_case(plain, case)
        except (AssertionError, rl.bridge.LuaError) as error:
            raise AssertionError(f"case {case.name!r}: {error}") from error
