"""The trajectories of Torch7's optim, call by call, in Lua."""

from pathlib import Path

import numpy as np
import pytest

import relume as rl

GOLDEN = Path(__file__).parents[1] / "data" / "optim"
STEPPING = ["sgd", "nag", "asgd", "adagrad", "adadelta", "rmsprop", "adam", "adamax", "rprop"]
STEPPING += ["cg", "lbfgs"]
# Line searches decide by comparing: the last bits may lead a different way.
TOLERANCES = {"cg": (1e-6, 1e-4), "lbfgs": (1e-6, 1e-5)}

RUN = """
local case = ...
require 'optim'
local f, calls = loadstring(case.opfunc_src)()(case.data), 0
local function counted(x)
   calls = calls + 1
   return f(x)
end
local config = case.config0
if case.linesearch then config.lineSearch = optim.lswolfe end
local state = case.separate_state and {} or nil
local x = case.x0:clone()
torch.manualSeed(case.seed)
local result = {xs = {}, fs = {}, nevals = {}, extra = {}}
for call = 1, case.calls do
   local y, fs, extra = optim[case.algo](counted, x, config, state)
   result.xs[call], result.fs[call], result.nevals[call] = y:clone(), fs, calls
   result.extra[call] = torch.isTensor(extra) and extra:clone() or extra
end
return result
"""


@pytest.fixture(scope="module")
def lua():
    with rl.bridge.Lua() as runtime:
        runtime.require("optim")
        yield runtime


def cases(*names):
    return [
        pytest.param(case, id=f"{name}: {case.name}")
        for name in names
        for case in rl.load(GOLDEN / f"{name}.t7")["cases"].as_list()
    ]


def close(got, want, limit=1e-9):
    got, want = (np.asarray(v, dtype=np.float64) for v in (got, want))
    scale = np.maximum(1, np.maximum(np.abs(got), np.abs(want)))
    assert (np.abs(got - want) / scale <= limit).all(), f"{got} is not {want}"


@pytest.mark.parametrize("case", cases(*STEPPING))
def test_trajectory(lua, case):
    limit = TOLERANCES.get(case.algo, (1e-9, 1e-5))[case.type == "torch.FloatTensor"]
    got = lua.execute(RUN, case).to_python()
    for call in range(1, case.calls + 1):
        close(got.xs[call].numpy(), case.xs[call].numpy(), limit)
        close(got.fs[call].as_list(), case.fs[call].as_list(), limit)
        assert got.nevals[call] == case.nevals[call]
        extra = case.extra.get(call) if case.get("extra") else None
        if isinstance(extra, rl.Tensor):
            close(got.extra[call].numpy(), extra.numpy(), limit)
        elif extra is not None:
            assert got.extra[call] == extra


@pytest.mark.parametrize("case", cases("de"))
def test_differential_evolution(lua, case):
    got = lua.execute(RUN, case).to_python()
    evaluations = case.config0.popsize * (case.config0.maxFEs // case.config0.popsize)
    close(got.xs[1].numpy(), case.xs[1].numpy())
    close(got.fs[1].numpy()[:evaluations], case.fs[1].numpy()[:evaluations])


@pytest.mark.parametrize("case", cases("cmaes"))
def test_evolution_gets_as_low_as_torch7(lua, case):
    got = lua.execute(RUN, case).to_python()
    f = lua.execute(
        "local src, data = ...; return loadstring(src)()(data)", case.opfunc_src, case.data
    )
    reached = f(got.xs[1])[0]
    start = f(case.x0)[0]
    wanted = f(case.xs[1])[0]
    assert reached - wanted < 0.25 * (start - wanted) + 1e-6


@pytest.mark.parametrize("case", cases("fista"))
def test_fista(lua, case):
    solution, history = lua.execute(
        """
        local case = ...
        local f, g, pl = loadstring(case.src)()(case.data)
        return optim.FistaLS(f, g, pl, torch.zeros(5), case.params0)
        """,
        case,
    )
    close(solution.numpy(), case.solution.numpy())
    for i, wanted in enumerate(case.history.as_list(), 1):
        for key in ("F", "Q", "L", "nline"):
            close(history[i][key], wanted[key])


@pytest.mark.parametrize("case", cases("polyinterp"))
def test_polyinterp(lua, case):
    position = lua.execute(
        "local points, low, high = ...; return (optim.polyinterp(points, low, high))",
        case.points,
        case.get("xmin"),
        case.get("xmax"),
    )
    close(position, case.pos, 1e-6)


@pytest.mark.parametrize("case", cases("lswolfe"))
def test_lswolfe(lua, case):
    f, g, moved, t, evaluations = lua.execute(
        """
        local case = ...
        local opfunc = loadstring(case.opfunc_src)()(case.data)
        return optim.lswolfe(opfunc, case.x0:clone(), case.t0, case.d, case.f0, case.g0, case.gtd,
           case.options)
        """,
        case,
    )
    assert evaluations == case.nevals
    close(t, case.t, 1e-6)
    close(f, case.f, 1e-6)
    close(moved.numpy(), case.x.numpy(), 1e-6)
    close(g.numpy(), case.g.numpy(), 1e-5)


@pytest.mark.parametrize("case", cases("checkgrad"))
def test_checkgrad(lua, case):
    _, given, estimate = lua.execute(
        """
        local case = ...
        return optim.checkgrad(loadstring(case.opfunc_src)()(case.data), case.x0:clone(), case.eps)
        """,
        case,
    )
    close(given.numpy(), case.dC.numpy())
    close(estimate.numpy(), case.dC_est.numpy(), 1e-6)


@pytest.mark.parametrize("case", cases("ConfusionMatrix"))
def test_confusion_matrix(lua, case):
    matrix, printed, *rates = lua.execute(
        """
        local case = ...
        local confusion = loadstring('return ' .. case.ctor)()
        for _, op in ipairs(case.ops) do confusion[op[1]](confusion, unpack(op[2])) end
        local printed = tostring(confusion)
        return confusion.mat, printed, confusion:farFrr()
        """,
        case,
    )
    assert matrix.tolist() == case.mat.tolist()
    assert printed == case.printed
    if case.get("frrs") is not None:
        for got, name in zip(rates, ("classFrrs", "classFars", "frrs", "fars"), strict=True):
            np.testing.assert_allclose(got.numpy(), case[name].numpy(), rtol=1e-12)


@pytest.mark.parametrize("case", cases("Logger"))
def test_logger(lua, case, tmp_path):
    path = tmp_path / "train.log"
    lua.execute("path = ...", str(path))
    lua.execute(case.src)
    assert path.read_text() == case.text


def test_a_logger_draws_its_columns_of_numbers(lua, tmp_path):
    pytest.importorskip("matplotlib")
    lua.execute(
        """
        local logger = optim.Logger(...)
        logger:setNames{'loss', 'accuracy', 'note'}
        logger:style{'-', '|', '+'}
        logger:setlogscale(true)
        for i = 1, 3 do logger:add{10 ^ -i, i, 'text'} end
        logger:plot()
        """,
        str(tmp_path / "train.log"),
    )
    drawn = (tmp_path / "train.log.eps").read_bytes()
    assert drawn.startswith(b"%!PS") and len(drawn) > 5000
