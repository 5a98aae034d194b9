"""The trajectories of Torch7's optim, call by call."""

from pathlib import Path

import numpy as np
import pytest

import relume as rl
from relume import _C
from relume.legacy_nn import optim

GOLDEN = Path(__file__).parents[2] / "data" / "optim"
STEPPING = ["sgd", "nag", "asgd", "adagrad", "adadelta", "rmsprop", "adam", "adamax", "rprop"]
STEPPING += ["cg", "lbfgs"]
# Line searches decide by comparing: the last bits may lead a different way.
TOLERANCES = {"cg": (1e-6, 1e-4), "lbfgs": (1e-6, 1e-5)}


@pytest.fixture(scope="module")
def lua():
    with rl.bridge.Lua() as runtime:
        yield runtime


def cases(name):
    golden = rl.load(GOLDEN / f"{name}.t7")["cases"].as_list()
    return [pytest.param(name, case, id=f"{name}: {case.name}") for case in golden]


def close(got, want, limit=1e-9):
    got, want = (np.asarray(v, dtype=np.float64) for v in (got, want))
    scale = np.maximum(1, np.maximum(np.abs(got), np.abs(want)))
    assert (np.abs(got - want) / scale <= limit).all(), f"{got} is not {want}"


def opfunc_of(lua, case):
    """The case's function, written in Lua, with a count of its calls."""
    function = lua.execute(case.opfunc_src)(case.data)

    def counted(x):
        counted.calls += 1
        return function(x)

    counted.calls = 0
    return counted


@pytest.mark.parametrize(("name", "case"), [case for name in STEPPING for case in cases(name)])
def test_trajectory(lua, name, case):
    opfunc, x = opfunc_of(lua, case), case.x0.clone()
    config = dict(case.config0.items())
    state = {} if case.get("separate_state") else None
    if case.get("linesearch"):
        config["lineSearch"] = optim.lswolfe
    limit = TOLERANCES.get(name, (1e-9, 1e-5))[case.type == "torch.FloatTensor"]
    rl.manual_seed(case.seed)
    for call in range(1, case.calls + 1):
        result, values, *more = getattr(optim, name)(opfunc, x, config, state)
        assert result is x
        close(x.numpy(), case.xs[call].numpy(), limit)
        close([float(v) for v in values], case.fs[call].as_list(), limit)
        assert opfunc.calls == case.nevals[call]
        if more and case.get("extra") and case.extra.get(call) is not None:
            extra = case.extra[call]
            close(more[0].numpy() if isinstance(extra, rl.Tensor) else more[0], extra, limit)
    assert_kept(
        state if case.get("separate_state") else config, case.get("state") or case.config, limit
    )


def assert_kept(got, want, limit):
    """What the state holds afterwards, scratch tensors aside."""
    scratch = {"denom", "paramStd", "delta", "max", "deltaParameters", "decayParameters"}
    scratch |= {"psign", "nsign", "zsign", "dminmax", "sign"}  # rprop
    scratch |= {"s", "df0", "df1", "df2", "x0", "al"}  # cg, lbfgs
    for key, value in want.items():
        if key in scratch:
            continue
        if isinstance(value, rl.Table):
            for ours, theirs in zip(got[key].as_list(), value.as_list(), strict=True):
                close(ours.numpy(), theirs.numpy(), limit)
        elif isinstance(value, rl.Tensor):
            close(got[key].numpy(), value.numpy(), limit)
        else:
            assert got[key] == pytest.approx(value, rel=max(limit, 1e-6)), key


@pytest.mark.parametrize(("_", "case"), cases("de"))
def test_de(lua, _, case):
    opfunc, x = opfunc_of(lua, case), case.x0.clone()
    rl.manual_seed(case.seed)
    best, values = optim.de(opfunc, x, dict(case.config0.items()))
    close(best.numpy(), case.xs[1].numpy())
    close(values.numpy(), case.fs[1].numpy())
    assert opfunc.calls == case.nevals[1]
    assert _C.default_generator().random() == case.rng_next  # it has a generator of its own


@pytest.mark.parametrize(("_", "case"), cases("cmaes"))
def test_cmaes(lua, _, case):
    opfunc, x = opfunc_of(lua, case), case.x0.clone()
    rl.manual_seed(case.seed)
    best, values, evaluations = optim.cmaes(opfunc, x, dict(case.config0.items()))
    expected = case.fs[1].as_list()
    # Until the first decomposition nothing hangs on the signs of eigenvectors.
    close(values[:2], expected[:2])
    assert len(values) == len(expected)
    assert values[-1] == opfunc(best)[0]
    assert values[-1] <= max(2 * expected[-1], expected[-1] / 2)
    assert opfunc.calls == case.nevals[1] + 1
    assert evaluations == case.extra[1]
    assert _C.default_generator().random() == case.rng_next


@pytest.mark.parametrize(("_", "case"), cases("polyinterp"))
def test_polyinterp(_, case):
    bounds = (case.get("xmin"), case.get("xmax"))
    position, value = optim.polyinterp(case.points, *bounds)
    close(position, case.pos)
    if case.get("value") is not None:
        close(value, case.value)


@pytest.mark.parametrize(("_", "case"), cases("lswolfe"))
def test_lswolfe(lua, _, case):
    opfunc, x = opfunc_of(lua, case), case.x0.clone()
    f, g, moved, t, evaluations = optim.lswolfe(
        opfunc, x, case.t0, case.d, case.f0, case.g0, case.gtd, case.options
    )
    assert evaluations == opfunc.calls == case.nevals
    close(t, case.t, 1e-6)
    close(f, case.f, 1e-6)
    close(moved.numpy(), case.x.numpy(), 1e-6)
    close(g.numpy(), case.g.numpy(), 1e-5)


@pytest.mark.parametrize(("_", "case"), cases("fista"))
def test_fista(lua, _, case):
    f, g, pl = lua.execute(case.src)(case.data)
    params = dict(case.params0.items())
    solution, history = optim.FistaLS(f, g, pl, rl.zeros(5, dtype=rl.float64), params)
    close(solution.numpy(), case.solution.numpy())
    assert len(history) == len(case.history.as_list())
    for ours, theirs in zip(history, case.history.as_list(), strict=True):
        for key, value in theirs.items():
            close(ours[key], value)
    close(params["L"], case.L)


@pytest.mark.parametrize(("_", "case"), cases("checkgrad"))
def test_checkgrad(lua, _, case):
    x = case.x0.clone()
    difference, given, estimate = optim.checkgrad(opfunc_of(lua, case), x, case.eps)
    close(x.numpy(), case.x0.numpy())
    close(given.numpy(), case.dC.numpy())
    close(estimate.numpy(), case.dC_est.numpy(), 1e-5)
    assert difference < 1e-5


@pytest.mark.parametrize(("_", "case"), cases("ConfusionMatrix"))
def test_confusion_matrix(lua, _, case):
    arguments = lua.eval("{" + case.ctor.partition("(")[2][:-1] + "}")
    confusion = optim.ConfusionMatrix(*arguments.as_list())
    for method, values in (op.as_list() for op in case.ops.as_list()):
        getattr(confusion, method)(*values.as_list())
    assert confusion.mat.tolist() == case.mat.tolist()
    assert str(confusion) == case.printed
    assert confusion.averageValid == pytest.approx(case.averageValid, nan_ok=True)
    assert confusion.averageUnionValid == pytest.approx(case.averageUnionValid, nan_ok=True)
    np.testing.assert_allclose(confusion.valids.numpy(), case.valids.numpy(), rtol=1e-6)
    np.testing.assert_allclose(confusion.unionvalids.numpy(), case.unionvalids.numpy(), rtol=1e-6)
    if case.get("frrs") is not None:
        rates = [case[name] for name in ("classFrrs", "classFars", "frrs", "fars")]
        for ours, theirs in zip(confusion.farFrr(), rates, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)


LOGS = {
    "setNames": lambda logger: (
        logger.setNames(["train loss", "test loss"]),
        [logger.add([1 / i, 2 / (i + 1)]) for i in range(1, 5)],
    ),
    "keys": lambda logger: [logger.add({"accuracy": i * 12.345678}) for i in range(1, 4)],
    "strings": lambda logger: (
        logger.setNames(["epoch", "note", "value"]),
        logger.add([1, "first", 1e-10]),
        logger.add([2, "second", -123456.789]),
        logger.add([3, "third", 0]),
    ),
}


@pytest.mark.parametrize(("case", "write"), list(zip(cases("Logger"), LOGS.values(), strict=True)))
def test_logger(case, write, tmp_path):
    path = tmp_path / "train.log"
    write(optim.Logger(path))
    assert path.read_text() == case.values[1].text
