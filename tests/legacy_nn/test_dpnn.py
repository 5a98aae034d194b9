"""Package dpnn: what the scripts of the golden corpus did, and the mathematics of what has no
golden case."""

import math

import numpy as np
import pytest
from golden_cases import copy_of, difference, load_cases

import relume as rl
from relume import legacy_nn as nn

EXACT = 1e-10


def script_case(section_file, name):
    for case in load_cases("dpnn", section_file):
        if case.name.startswith(name):
            rl.manual_seed(int(case.seed))
            return case.get("module"), case.get("inputs"), case.results
    raise KeyError(name)


def copies(tensors):
    return [tensor.detach().clone() for tensor in tensors]


# ---- methods that dpnn adds to every module ----


def test_clipping_decay_momentum_and_norms():
    m, i, expected = script_case("Module_methods", "gradParamClip")
    p, gp = m.parameters()
    m.forward(i.x)
    m.backward(i.x, i.g)
    assert difference(m.gradParamClip(0.5), expected.norm) < EXACT
    assert difference(gp, expected.clipped) < EXACT
    m.weightDecay(0.1)
    assert difference(gp, expected.decayed) < EXACT
    m.updateGradParameters(0.9)
    assert difference(gp, expected.momentum1) < EXACT
    m.updateParameters(0.2)
    m.maxParamNorm(0.8)
    assert difference(p, expected.params1) < EXACT
    m.zeroGradParameters()
    m.forward(i.x)
    m.backward(i.x, i.g)
    m.updateGradParameters(0.9, 0, True)
    assert difference(gp, expected.nesterov2) < EXACT
    m.updateParameters(0.2)
    m.maxParamNorm(-1, 0.7)
    assert difference(p, expected.params2) < EXACT
    m.zeroGradParameters()
    m.forward(i.x)
    m.backward(i.x, i.g)
    assert difference(m.gradParamClip(0.3, True), expected.norm_local) < EXACT
    assert difference(gp, expected.clipped_local) < EXACT


def test_shared_clone():
    m, i, expected = script_case("Module_methods", "sharedClone")
    c = m.sharedClone()
    m.forward(i.x)
    m.backward(i.x, i.g)
    c.forward(i.y)
    c.backward(i.y, i.h)
    p, gp = m.parameters()
    assert difference(gp, expected.gradParams) < EXACT
    p[0].fill_(7)
    assert c.parameters()[0][0].amin().item() == 7


def test_outside_and_extend():
    m, i, expected = script_case("Module_methods", "outside")
    assert list(m.outside([5, i.n])) == expected.size.as_list()
    m.extend(nn.Linear(3, 2), nn.Sigmoid())
    assert len(m.modules) == expected.n
    assert str(m) == expected.printed


# ---- learning from rewards ----


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("ReinforceBernoulli", "train"),
        ("ReinforceCategorical", "train"),
        ("ReinforceNormal", "constant stdev"),
        ("ReinforceNormal", "stdev tensor"),
        ("ReinforceNormal", "{mean, stdev}"),
    ],
)
def test_stochastic_layers_draw_and_learn_as_torch7(file, name):
    m, i, expected = script_case(file, name)
    assert difference(m.forward(i.x), expected.output) < EXACT
    m.reinforce(i.reward)
    assert difference(m.backward(i.x, copy_of(i.g)), expected.gradInput) < EXACT


def test_stochastic_layers_learn_on_the_tape():
    m, i, expected = script_case("ReinforceBernoulli", "train")
    x = i.x.clone().requires_grad_()
    y = m(x)
    m.reinforce(i.reward)
    (y * i.g).sum().backward()
    assert difference(y, expected.output) < EXACT
    assert difference(x.grad, expected.gradInput) < EXACT


@pytest.mark.parametrize("file", ["VRClassReward", "BinaryClassReward"])
def test_rewards_reach_the_network(file):
    c, i, expected = script_case(file, "with")
    net = c.module
    prediction = net.forward(i.x)
    assert difference(prediction, expected.prediction) == 0
    assert difference(c.forward([prediction, i.baseline], i.target), expected.output) < EXACT
    gradient = c.backward([prediction, i.baseline], i.target)
    assert difference(gradient, expected.gradInput) < EXACT
    assert difference(net.backward(i.x, gradient[1]), expected.netgrad) < EXACT
    assert difference(net.parameters()[1], expected.gradParams) < EXACT


def test_backward_without_reward_says_what_is_missing():
    m = nn.ReinforceBernoulli()
    x = rl.full((2, 3), 0.5)
    m.forward(x)
    with pytest.raises(RuntimeError, match="call reinforce"):
        m.backward(x, x)


def log_likelihood_slope(log_density, at, step=1e-6):
    return (log_density(at + step) - log_density(at - step)) / (2 * step)


def test_gamma_gradient_is_that_of_the_log_likelihood():
    rl.manual_seed(3)
    shape = rl.tensor([[2.0, 3.5]], dtype=rl.float64)
    scale = rl.tensor([[0.5, 1.5]], dtype=rl.float64)
    m = nn.ReinforceGamma()
    sample = m.forward([shape, scale])
    m.reinforce(rl.tensor([2.0], dtype=rl.float64))
    of_shape, of_scale = m.backward([shape, scale], sample).as_list()
    for column in range(2):
        x, k, s = (t[0, column].item() for t in (sample, shape, scale))

        def density(k, s, x=x):
            return (k - 1) * math.log(x) - x / s - k * math.log(s) - math.lgamma(k)

        slope = log_likelihood_slope(lambda k, s=s: density(k, s), k)
        assert of_shape[0, column].item() == pytest.approx(-2 * slope, rel=1e-6)
        slope = log_likelihood_slope(lambda s, k=k: density(k, s), s)
        assert of_scale[0, column].item() == pytest.approx(-2 * slope, rel=1e-6)


def test_evaluation_gives_the_input_unless_stochastic():
    probabilities = rl.tensor([[0.2, 0.8]])
    given = nn.ReinforceCategorical().evaluate().forward(probabilities)
    assert given.tolist() == probabilities.tolist()
    drawn = nn.ReinforceCategorical(True).evaluate().forward(probabilities).tolist()
    assert sorted(drawn[0]) == [0.0, 1.0]


# ---- noise-contrastive estimation ----


@pytest.mark.parametrize("name", ["batchnoise, Z given", "batchnoise, Z estimated", "per-sample"])
def test_noise_contrastive_estimation(name, capsys):
    m, i, expected = script_case("NCEModule", name)
    x = [i.x, i.target]
    output = m.forward(x)
    assert difference(output, expected.output) < EXACT
    assert difference(m.Z[0].item(), expected.Z) < EXACT
    assert m.sampleidx.tolist() == expected.sampleidx.tolist()
    c = nn.NCECriterion()
    assert difference(c.forward(output, i.target), expected.loss) < EXACT
    gradient = m.backward(x, c.backward(output, i.target), 1)
    assert difference(gradient[1], expected.gradInput) < EXACT
    assert difference(m.parameters()[1], expected.gradParams) < EXACT
    m.normalized = True
    m.evaluate()
    assert difference(m.forward(x), expected.softmax) < EXACT
    printed = capsys.readouterr().out
    assert printed.startswith("normalization constant Z") == ("estimated" in name)


def test_a_converted_layer_draws_the_same_noise():
    m, i, expected = script_case("NCEModule", "batchnoise, Z given")
    output = m.clone().float().forward([i.x.to(rl.float32), i.target])
    assert m.clone().float().aliasmultinomial.J.dtype == rl.int64
    for one, other in zip(output.as_list(), expected.output.as_list(), strict=True):
        assert one.dtype == rl.float32
        assert difference(one.to(rl.float64), other) < 1e-6


def test_alias_table_is_that_of_the_files():
    case = load_cases("dpnn", "NCEModule")[0]
    table = case.module.aliasmultinomial
    made = nn.NCEModule(2, 6, 4, rl.tensor([1.0, 2, 3, 4, 5, 6])).aliasmultinomial
    assert made.J.tolist() == table.J.tolist()
    assert made.q.tolist() == pytest.approx(table.q.tolist(), abs=1e-6)


def test_alias_table_draws_with_the_right_frequencies():
    rl.manual_seed(1)
    probabilities = np.array([0.5, 0.3, 0.2])
    module = nn.NCEModule(1, 3, 1, rl.tensor(probabilities))
    drawn = module.aliasmultinomial.draw(6000).numpy()
    found = np.bincount(drawn, minlength=4)[1:] / 6000
    assert np.abs(found - probabilities).max() < 0.025


# ---- constructors ----


def constructed(file, index, build):
    case = load_cases("dpnn", file)[index]
    rl.manual_seed(int(case.ctor_seed))
    return build(), case


@pytest.mark.parametrize("index", [0, 1, 2])
def test_fire_module_draws_torch7s_numbers(index):
    arguments = [(2, 2, 3, 2), (2, 2, 2, 3, "Tanh"), (2, 2, 3, 2)][index]
    made, case = constructed("FireModule", index, lambda: nn.FireModule(*arguments))
    expected = case.params if case.get("init_is_params") else case.init_params
    assert difference(made.parameters()[0], expected) == 0
    assert str(made) == case.printed


@pytest.mark.parametrize("index", [0, 1, 2])
def test_inception_is_built_as_in_torch7(index):
    both = {"inputSize": 2, "outputSize": [2, 3], "reduceSize": [2, 2, 1, 2]}
    both.update(kernelSize=[5, 3], kernelStride=[1, 1], reduceStride=[1, 1, 1, 1])
    settings = [
        {**both, "transfer": nn.Tanh()},
        {
            **both,
            "transfer": nn.Tanh(),
            "batchNorm": True,
            "pool": nn.SpatialAveragePooling(3, 3, 1, 1),
        },
        {
            "inputSize": 2,
            "outputSize": [2],
            "reduceSize": [2, 1, 2],
            "kernelSize": [3],
            "kernelStride": [1],
            "padding": False,
        },
    ][index]
    made, case = constructed("Inception", index, lambda: nn.Inception(settings))
    assert str(made) == case.printed
    expected = case.params if case.get("init_is_params") else case.get("init_params")
    assert difference(made.parameters()[0], expected) == 0


def test_inception_leaves_out_columns():
    block = nn.Inception(inputSize=2, outputSize=[3], reduceSize=[2], kernelSize=[3])
    # The large filters and the pooled planes, without 1x1 filters of their own.
    assert block.forward(rl.zeros(1, 2, 6, 6, dtype=rl.float64)).shape == (1, 5, 6, 6)
    assert len(block.get(1).modules) == 2


# ---- what Serial leaves out of files ----


def saved_serial(how, *arguments):
    layer = nn.Serial(nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh()), *arguments)
    getattr(layer, how)()
    x = rl.ones(4, 3, dtype=rl.float64)
    layer.backward(x, rl.ones_like(layer.forward(x)))
    again = rl.loads(rl.dumps(layer))
    assert layer.get(1).get(1).output.numel() == 8  # the original keeps everything
    return layer.get(1).get(1), again.get(1).get(1)


def test_heavy_serial_writes_everything():
    own, linear = saved_serial("heavySerial")
    assert linear.output.shape == (4, 2)
    assert difference(linear.gradWeight, own.gradWeight) == 0


def test_medium_serial_writes_no_results():
    own, linear = saved_serial("mediumSerial")
    assert linear.output.numel() == linear.gradInput.numel() == 0
    assert difference(linear.gradWeight, own.gradWeight) == 0


def test_light_serial_writes_parameters_only():
    own, linear = saved_serial("lightSerial")
    assert "gradWeight" not in vars(linear) or vars(linear)["gradWeight"].numel() == 0
    assert difference(linear.weight, own.weight) == 0


def test_serial_writes_in_another_type():
    own, linear = saved_serial("mediumSerial", "torch.FloatTensor")
    assert linear.weight.dtype == rl.float32
    assert own.weight.dtype == rl.float64


@pytest.mark.parametrize(("depth", "scale"), [(100_000, 2), (3, 1e9), (40, 0.5), (3, -2)])
def test_glimpses_of_no_sensible_size_are_refused(depth, scale):
    layer = nn.SpatialGlimpse(4, depth, scale)
    with pytest.raises(ValueError, match="times as large as the one before"):
        layer.forward([rl.zeros(2, 1, 9, 9), rl.zeros(2, 2)])


@pytest.mark.parametrize("shape", [(4,), (4, 1), (1, 4)])
def test_logistic_regression_takes_a_vector_in_any_form(shape):
    criterion = nn.BinaryLogisticRegression()
    loss = criterion.forward(rl.zeros(shape), rl.ones(shape))
    assert loss == pytest.approx(math.log(2))


def test_noise_classes_are_drawn_into_a_tensor_by_the_given_shares():
    unigrams = rl.tensor([0.0, 3.0, 1.0], dtype=rl.float64)
    layer = nn.NCEModule(2, 3, 5, unigrams)
    assert unigrams.tolist() == [0.0, 0.75, 0.25]
    drawn = layer.noiseSample(rl.empty((0,), dtype=rl.int64), 4, 50)
    assert drawn.shape == (4, 50)
    assert set(drawn.reshape((-1,)).tolist()) == {2, 3}
