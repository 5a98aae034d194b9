"""Recurrent layers step by step, against what a real Torch7 gave: forward 1, ..., T, then
backward T, ..., 1; and the scripts of the corpus, which use their memory."""

import pytest
from golden_cases import TOLERANCE, difference, load_cases, values_of

import relume as rl
from relume import _C
from relume import legacy_nn as nn

STEPWISE = ["FastLSTM", "GRU", "LSTM", "MuFuRu", "NormStabilizer", "Recurrence", "Recurrent"]
STEPWISE += ["Recursor"]


def cases(protocol, names):
    for name in names:
        for index, case in enumerate(load_cases("rnn", name)):
            if case.protocol == protocol:
                yield pytest.param(name, index, id=f"{name}-{case.name}")


def check(actual, expected, tolerance, what):
    found = difference(actual, expected)
    assert found <= tolerance, f"{what} differs by {found:.3g}"


def next_random():
    return _C.default_generator().random()


def run_steps(module, case, tolerance, backward):
    """The protocol 'steps' of the corpus; `backward` goes back one step."""
    inputs = values_of(case.inputs)
    rl.manual_seed(int(case.seed))
    outputs = [module.forward(x) for x in inputs]
    check(outputs, case.outputs, tolerance, "outputs")
    if case.get("nobackward"):
        return
    gradients = values_of(case.gradOutputs)
    pairs = list(zip(inputs, gradients, strict=True))
    found = [backward(module, x, g.clone()) for x, g in reversed(pairs)]
    check(found[::-1], case.gradInputs, tolerance, "gradInputs")
    assert next_random() == case.rng_next, "another number of random numbers was used"
    if case.get("gradParams") is not None:
        check(module.parameters()[1], case.gradParams, tolerance, "gradParams")


@pytest.mark.parametrize(("name", "index"), list(cases("steps", STEPWISE)))
def test_steps(name, index):
    case = load_cases("rnn", name)[index]
    module, tolerance = case.module, TOLERANCE[case.type]
    assert str(module) == case.printed
    run_steps(module, case, tolerance, lambda m, x, g: m.backward(x, g))
    if case.get("updated") is not None:
        module.updateParameters(case.lr)
        check(module.parameters()[0], case.updated, tolerance, "updated parameters")


def in_two_calls(module, x, gradient):
    result = module.updateGradInput(x, gradient)
    module.accGradParameters(x, gradient)
    return result


@pytest.mark.parametrize(("name", "index"), list(cases("steps", STEPWISE)))
def test_input_and_parameters_apart(name, index):
    case = load_cases("rnn", name)[index]
    run_steps(case.module, case, TOLERANCE[case.type], in_two_calls)


def clones_of(values):
    return [value.clone() for value in values]


def hidden_states(m, i):
    m.forward(i.x[1])
    m.forward(i.x[2])
    h2, c2 = clones_of(m.getHiddenState(2))
    m.forget()
    m.setHiddenState(0, [i.h, i.c])
    y = m.forward(i.x[3])
    gx = m.backward(i.x[3], rl.ones_like(y))
    gh, gc = m.getGradHiddenState(0)
    return {"h2": h2, "c2": c2, "y": y, "gx": gx, "gh": gh, "gc": gc}


def remembered_layer(m, i):
    m.remember("both")
    r = {"o1": m.forward(i.x1).clone(), "g1": m.backward(i.x1, i.g1).clone()}
    r["o2"], r["g2"] = m.forward(i.x2).clone(), m.backward(i.x2, i.g2).clone()
    m.forget()
    r["o3"] = m.forward(i.x2).clone()
    return {**r, "gradParams": m.parameters()[1]}


def remembered_sequencer(m, i):
    m.remember(i.mode)
    r = {}
    for k, x in enumerate(i.x, 1):
        r[f"out{k}"] = clones_of(m.forward(x))
        if i.get("backward"):
            r[f"grad{k}"] = clones_of(m.backward(x, i.g[k]))
    m.forget()
    return {**r, "after_forget": list(m.forward(i.x[1])), "gradParams": m.parameters()[1]}


def lazy_dropout(m, i):
    r = {"a": m.forward(i.a).clone(), "b": m.forward(i.b).clone()}
    r["g"] = m.backward(i.b, i.g).clone()
    return {**r, "c": m.forward(i.c).clone()}


def attention(m, i):
    out = clones_of(m.forward(i.x))
    actions = clones_of(m.actions)
    m.reinforce(i.reward)
    gradient = m.backward(i.x, i.g)
    return {"out": out, "actions": actions, "gradInput": gradient, "gradParams": m.parameters()[1]}


# What the scripts of the corpus do, in Python.
SCRIPTS = {
    "LSTM": hidden_states,
    "SeqGRU": remembered_layer,
    "SeqLSTM": remembered_layer,
    "SeqLSTMP": remembered_layer,
    "Sequencer": remembered_sequencer,
    "Dropout": lazy_dropout,
    "RecurrentAttention": attention,
}


@pytest.mark.parametrize(("name", "index"), list(cases("script", SCRIPTS)))
def test_script(name, index):
    case = load_cases("rnn", name)[index]
    assert str(case.module) == case.printed
    rl.manual_seed(int(case.seed))
    results = SCRIPTS[name](case.module, case.inputs)
    for key, expected in case.results.items():
        if key == "out2" and not case.train:
            continue  # in evaluation the real one returns the same table from every forward
        check(results[key], expected, TOLERANCE[case.type], key)
    assert next_random() == case.rng_next, "another number of random numbers was used"


@pytest.mark.parametrize(("index", "batch_normalised"), [(6, False), (7, True)])
def test_cells_as_graphs_draw_torch7s_numbers(index, batch_normalised, monkeypatch):
    case = load_cases("rnn", "FastLSTM")[index]
    monkeypatch.setattr(nn.FastLSTM, "usenngraph", True)
    monkeypatch.setattr(nn.FastLSTM, "bn", batch_normalised)
    rl.manual_seed(int(case.ctor_seed))
    cell = nn.FastLSTM(3, 4, None, 1e-3, 0.1, True)
    assert difference(cell.parameters()[0], case.params) == 0
    for module in (cell.recurrentModule, case.module.recurrentModule):
        assert module.torch_typename == "nn.gModule"
    run_steps(cell, case, TOLERANCE[case.type], lambda m, x, g: m.backward(x, g))


@pytest.mark.parametrize("kind", ["batchfirst", "maskzero"])
@pytest.mark.parametrize("name", ["SeqLSTM", "SeqLSTMP", "SeqGRU"])
def test_options_of_sequence_layers_are_fields(name, kind):
    case = next(case for case in load_cases("rnn", name) if case.name == kind)
    rl.manual_seed(int(case.ctor_seed))
    layer = getattr(nn, name)(3, 4, 2) if name == "SeqLSTMP" else getattr(nn, name)(3, 4)
    setattr(layer, kind, True)
    check(layer.forward(case.input), case.output, TOLERANCE[case.type], "output")
