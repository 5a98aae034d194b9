"""The trajectories of Torch7's optim, call by call."""

from pathlib import Path

import numpy as np
import pytest

import relume as rl
from relume.legacy_nn import optim

GOLDEN = Path(__file__).parents[2] / "data" / "optim"
STEPPING = ["sgd", "nag", "asgd", "adagrad", "adadelta", "rmsprop", "adam", "adamax", "rprop"]


@pytest.fixture(scope="module")
def lua():
    with rl.bridge.Lua() as runtime:
        yield runtime


def cases(name):
    for case in rl.load(GOLDEN / f"{name}.t7")["cases"].as_list():
        yield pytest.param(name, case, id=f"{name}: {case.name}")


def close(got, want, is_float, tolerance=1e-9):
    got, want = (np.asarray(v, dtype=np.float64) for v in (got, want))
    limit = 1e-5 if is_float else tolerance
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
    is_float = case.type == "torch.FloatTensor"
    rl.manual_seed(case.seed)
    for call in range(1, case.calls + 1):
        result, values, *more = getattr(optim, name)(opfunc, x, config, state)
        assert result is x
        close(x.numpy(), case.xs[call].numpy(), is_float)
        close([float(v) for v in values], case.fs[call].as_list(), is_float)
        assert opfunc.calls == case.nevals[call]
        if more and case.get("extra") and case.extra.get(call) is not None:
            close(more[0].numpy(), case.extra[call].numpy(), is_float)
    assert_kept(
        state if case.get("separate_state") else config, case.get("state") or case.config, is_float
    )


def assert_kept(got, want, is_float):
    """What the state holds afterwards, scratch tensors aside."""
    scratch = {"denom", "paramStd", "delta", "max", "deltaParameters", "decayParameters"}
    scratch |= {"psign", "nsign", "zsign", "dminmax", "sign"}
    for key, value in want.items():
        if key in scratch:
            continue
        if isinstance(value, rl.Tensor):
            close(got[key].numpy(), value.numpy(), is_float)
        else:
            assert got[key] == pytest.approx(value), key
