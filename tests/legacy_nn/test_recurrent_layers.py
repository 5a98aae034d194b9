"""Recurrent layers: one sequence in every way gives one result; memory, masks, copies, files."""

import pytest
from golden_cases import difference, load_cases

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}
CLOSE = 1e-12

# What takes a sequence of 3 features (time x batch) and gives 4, by name.
NETS = {
    "LSTM": lambda: nn.Sequencer(nn.LSTM(3, 4)),
    "LSTM without peepholes": lambda: nn.Sequencer(nn.LSTM(3, 4, None, False)),
    "FastLSTM": lambda: nn.Sequencer(nn.FastLSTM(3, 4)),
    "GRU": lambda: nn.Sequencer(nn.GRU(3, 4)),
    "MuFuRu": lambda: nn.Sequencer(nn.MuFuRu(3, 4, ["keep", "replace", "mul", "max"])),
    "Recurrent": lambda: nn.Sequencer(nn.Recurrent(4, nn.Linear(3, 4), nn.Linear(4, 4))),
    "LinearRNN": lambda: nn.Sequencer(nn.LinearRNN(3, 4)),
    "RecLSTM": lambda: nn.Sequencer(nn.RecLSTM(3, 4)),
    "RecLSTM with projection": lambda: nn.Sequencer(nn.RecLSTM(3, 6, 4)),
    "RecGRU": lambda: nn.Sequencer(nn.RecGRU(3, 4)),
    "stack": lambda: nn.Sequencer(nn.Sequential().add(nn.FastLSTM(3, 5)).add(nn.GRU(5, 4))),
    "sequencers": lambda: (
        nn.Sequential().add(nn.Sequencer(nn.GRU(3, 5))).add(nn.Sequencer(nn.Linear(5, 4)))
    ),
    "masked": lambda: nn.Sequencer(nn.LSTM(3, 4).maskZero(1)),
    "trimmed": lambda: nn.Sequencer(nn.GRU(3, 4).trimZero(1)),
    "SeqLSTM": lambda: nn.SeqLSTM(3, 4),
    "SeqLSTM with projection": lambda: nn.SeqLSTM(3, 6, 4),
    "SeqLSTMP": lambda: nn.SeqLSTMP(3, 6, 4),
    "SeqGRU": lambda: nn.SeqGRU(3, 4),
    "SeqBRNN": lambda: nn.SeqBRNN(3, 4),
    "SeqBLSTM": lambda: nn.SeqBLSTM(3, 4),
    "SeqBGRU": lambda: nn.SeqBGRU(3, 4),
}
TWO_WAYS = ("SeqBRNN", "SeqBLSTM", "SeqBGRU")
every_net = pytest.mark.parametrize("name", NETS)


@pytest.fixture(autouse=True)
def seed():
    rl.manual_seed(7)


def sequence(time=5, batch=2, features=3, **options):
    return rl.randn(time, batch, features, **(options or DOUBLE))


def clones(tensors):
    return [tensor.detach().clone() for tensor in tensors]


def run(net, x, g):
    """Output, gradient of the input and gradients of the parameters, by Torch7's protocol."""
    net.zeroGradParameters()
    output = net.forward(x)
    gradient = net.backward(x, g)
    return [output.clone(), gradient.clone(), *clones(net.parameters()[1])]


@every_net
def test_the_tape_gives_what_the_protocol_gives(name):
    net, x, g = NETS[name](), sequence(), sequence(features=4)
    expected = run(net, x, g)
    net.forget()
    net.zeroGradParameters()
    leaf = x.clone().requires_grad_()
    output = net(leaf)
    (output * g).sum().backward()
    assert difference([output.detach(), leaf.grad, *net.parameters()[1]], expected) < CLOSE


@every_net
def test_input_and_parameters_apart(name):
    net, x, g = NETS[name](), sequence(), sequence(features=4)
    expected = run(net, x, g)
    net.zeroGradParameters()
    net.forget()
    net.forward(x)
    gradient = net.updateGradInput(x, g).clone()
    net.accGradParameters(x, g)
    assert difference([net.output, gradient, *net.parameters()[1]], expected) < CLOSE


@every_net
def test_a_second_backward_adds_up_scaled(name):
    net, x, g = NETS[name](), sequence(), sequence(features=4)
    once = run(net, x, g)[2:]
    net.forget()
    net.forward(x)
    net.backward(x, g, 0.5)
    assert difference(net.parameters()[1], [1.5 * gradient for gradient in once]) < CLOSE


@every_net
def test_gradients_are_those_of_the_output(name):
    net, x = NETS[name](), sequence(time=3, batch=1)
    assert rl.autograd.gradcheck(net, (x.requires_grad_(),))


@pytest.mark.parametrize("name", ["FastLSTM", "GRU", "SeqLSTM", "SeqLSTMP", "SeqGRU", "masked"])
def test_second_order_gradients(name):
    net, x = NETS[name](), sequence(time=2, batch=1)
    assert rl.autograd.gradgradcheck(net, (x.requires_grad_(),))


@every_net
def test_a_clone_is_independent(name):
    net, x, g = NETS[name](), sequence(), sequence(features=4)
    expected = run(net, x, g)
    copy = net.clone()
    for parameter in net.parameters()[0]:
        parameter.detach().zero_()
    copy.forget()
    assert difference(run(copy, x, g), expected) < CLOSE


@every_net
def test_flat_parameters_are_those_of_all_steps(name):
    net, x, g = NETS[name](), sequence(), sequence(features=4)
    expected = run(net, x, g)
    flat, flat_gradient = net.getParameters()
    assert flat.numel() == sum(parameter.numel() for parameter in net.parameters()[0])
    net.forget()
    assert difference(run(net, x, g), expected) < CLOSE
    gradients = rl.cat([gradient.reshape((-1,)) for gradient in net.parameters()[1]])
    assert difference(flat_gradient.sort()[0], gradients.sort()[0]) == 0
    flat.zero_()
    net.forget()
    assert difference(net.forward(x), expected[0]) > 1e-3


@every_net
def test_types_and_cleared_states(name):
    net, x, g = NETS[name](), sequence(), sequence(features=4)
    expected = [value.to(rl.float32) for value in run(net, x, g)]
    net.float()
    found = run(net, x.to(rl.float32), g.to(rl.float32))
    assert difference(found, expected) < 1e-5
    net.double().clearState()
    assert difference(net.forward(x).to(rl.float32), expected[0]) < 1e-5


@every_net
def test_written_and_read(name, tmp_path):
    net, x, g = NETS[name](), sequence(), sequence(features=4)
    expected = run(net, x, g)
    rl.save(net, tmp_path / "net.t7")
    again = rl.load(tmp_path / "net.t7")
    assert str(again) == str(net)
    again.forget()
    assert difference(run(again, x, g), expected) < CLOSE
    flat, _ = again.getParameters()
    flat.zero_()
    net.forget()
    again.forget()
    for parameter in net.parameters()[0]:
        parameter.detach().zero_()
    assert difference(again.forward(x), net.forward(x)) < CLOSE


@every_net
def test_evaluation_gives_the_same(name):
    net, x = NETS[name](), sequence()
    expected = net.forward(x).clone()
    net.evaluate()
    assert difference(net.forward(x), expected) < CLOSE
    with rl.no_grad():
        assert difference(net(x), expected) < CLOSE


@pytest.mark.parametrize("name", [name for name in NETS if name not in TWO_WAYS])
@pytest.mark.parametrize("is_training", [True, False])
def test_remembering_goes_on_where_the_last_sequence_ended(name, is_training):
    net, x = NETS[name](), sequence(time=6)
    expected = net.forward(x).clone()
    net.remember("both")
    if not is_training:
        net.evaluate()
    net.forget()
    parts = [net.forward(part).clone() for part in (x[:2], x[2:3], x[3:])]
    assert difference(rl.cat(parts, 0), expected) < CLOSE
    net.forget()
    assert difference(net.forward(x[:2]), expected[:2]) < CLOSE
    net.forget()
    parts = [net(part).detach() for part in (x[:2], x[2:])]
    assert difference(rl.cat(parts, 0), expected) < CLOSE


def test_only_one_direction_can_remember():
    x = sequence(time=4)
    net = nn.SeqBGRU(3, 4).remember()
    forward, reverse = net.modules[0].get(1).modules
    parts = [net.forward(part).clone() for part in (x[:2], x[2:])]
    net.forget()
    expected = forward.forward(x)[2:] + reverse.forward(x[2:])
    assert difference(parts[1], expected) < CLOSE


@pytest.mark.parametrize("mode", ["train", "eval", "neither"])
def test_remembering_only_in_one_mode(mode):
    net, x = nn.Sequencer(nn.GRU(3, 4)).remember(mode), sequence(time=2)
    for set_mode, is_kept in ((net.training, mode == "train"), (net.evaluate, mode == "eval")):
        set_mode()
        net.forget()
        first = net.forward(x).clone()
        assert (difference(net.forward(x), first) > 1e-6) == is_kept


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="both, train, eval, neither"):
        nn.SeqLSTM(3, 4).remember("always")


@pytest.mark.parametrize("name", ["LSTM", "FastLSTM", "GRU", "Recurrent", "LinearRNN"])
def test_samples_without_a_batch(name):
    net, x, g = NETS[name](), sequence(batch=1), sequence(batch=1, features=4)
    expected = run(net, x, g)
    net.forget()
    found = run(net, x[:, 0], g[:, 0])
    assert difference(found[0], expected[0][:, 0]) < CLOSE
    assert difference(found[1], expected[1][:, 0]) < CLOSE
    assert difference(found[2:], expected[2:]) < CLOSE


def test_tables_are_sequences_too():
    net, x, g = nn.Sequencer(nn.LSTM(3, 4)), sequence(), sequence(features=4)
    expected = run(net, x, g)
    net.forget()
    net.zeroGradParameters()
    output = rl.stack(net.forward(list(x)).as_list())
    gradient = rl.stack(net.backward(list(x), list(g)).as_list())
    assert difference([output, gradient, *net.parameters()[1]], expected) < CLOSE
    assert difference(rl.stack(net(list(x)).as_list()), expected[0]) < CLOSE


def test_sequence_layers_become_stepwise_ones_with_the_same_numbers():
    x, g = sequence(), sequence(features=4)
    pairs = [(nn.SeqLSTM(3, 4), "toFastLSTM"), (nn.SeqGRU(3, 4), "toGRU")]
    for layer, method in pairs:
        output, gradient, *_ = run(layer, x, g)
        cell = getattr(layer, method)()
        own = [g.sum().item() for g in cell.parameters()[1]]
        assert abs(sum(own) - sum(g.sum().item() for g in layer.parameters()[1])) < 1e-9
        assert difference(run(nn.Sequencer(cell), x, g)[:2], [output, gradient]) < CLOSE


def test_step_cells_have_the_numbers_of_sequence_layers():
    x = sequence()
    for layer, cell in (
        (nn.SeqLSTM(3, 6, 4), nn.RecLSTM(3, 6, 4)),
        (nn.SeqLSTM(3, 4), nn.RecLSTM(3, 4)),
        (nn.SeqGRU(3, 4), nn.RecGRU(3, 4)),
    ):
        for mine, theirs in zip(cell.parameters()[0], layer.parameters()[0], strict=True):
            mine.copy_(theirs)
        assert difference(nn.Sequencer(cell).forward(x), layer.forward(x)) < CLOSE


@pytest.mark.parametrize("name", ["SeqLSTM", "SeqLSTMP", "SeqGRU"])
def test_batch_first(name):
    net, x, g = NETS[name](), sequence(), sequence(features=4)
    expected = run(net, x, g)
    net.batchfirst = True
    found = run(net, x.transpose(0, 1), g.transpose(0, 1))
    turned = [value.transpose(0, 1) for value in found[:2]]
    assert difference([*turned, *found[2:]], expected) < CLOSE


@pytest.mark.parametrize("name", ["SeqLSTM", "SeqLSTMP", "SeqGRU", "masked", "trimmed"])
def test_zeros_part_independent_sequences(name):
    net, x, g = NETS[name](), sequence(time=6), sequence(time=6, features=4)
    if name.startswith("Seq"):
        net.maskZero()
    x[2, 0] = 0
    output, gradient, *_ = run(net, x, g)
    assert output[2, 0].abs().sum().item() == 0
    assert gradient[2, 0].abs().sum().item() == 0
    net.forget()
    after = net.forward(x[3:, :1])
    assert difference(output[3:, :1], after) < CLOSE
    whole = net.forward(x[:, 1:])
    assert difference(output[:, 1:], whole) < CLOSE


@pytest.mark.parametrize("name", ["SeqLSTM", "SeqLSTMP", "SeqGRU"])
def test_masked_sequences_have_true_gradients(name):
    net, x = NETS[name](), sequence(time=4)
    net.maskZero()
    x[1, 0] = 0
    kept = (x != 0).to(rl.float64)
    assert rl.autograd.gradcheck(lambda x: net(x * kept), (x.requires_grad_(),))


def test_first_states_may_be_given():
    x, g = sequence(time=4), sequence(time=4, features=4)
    lstm = nn.SeqLSTM(3, 4)
    lstm.forward(x[:2])
    cell, hidden = lstm.cell[-1].clone(), lstm.output[-1].clone()
    lstm.forget()
    given = lstm.forward([cell, hidden, x[2:]]).clone()
    gradients = lstm.backward([cell, hidden, x[2:]], g[2:])
    assert [gradient.shape for gradient in gradients] == [(2, 4), (2, 4), (2, 2, 3)]
    lstm.forget()
    assert difference(lstm.forward(x)[2:], given) < CLOSE
    gradients = lstm.backward([hidden, x], g)  # the cell is that of the last forward: zeros
    assert [gradient.shape for gradient in gradients] == [(2, 4), (4, 2, 3)]


def coupled(encoder, decoder, x, y, g, hand_over, hand_back):
    """Decoder after encoder, states handed over and gradients handed back."""
    for net in (encoder, decoder):
        net.zeroGradParameters()
        net.forget()
    encoder.forward(x)
    hand_over(encoder, decoder)
    output = decoder.forward(y).clone()
    decoder.backward(y, g)
    hand_back(encoder, decoder)
    gradient = encoder.backward(x, rl.zeros(*x.shape[:2], 4, **DOUBLE)).clone()
    return [output, gradient]


def test_a_decoder_goes_on_from_an_encoder():
    x, y, g = sequence(time=3), sequence(time=2), sequence(time=2, features=4)
    layer = nn.SeqLSTM(3, 4)
    whole = run(layer, rl.cat([x, y]), rl.cat([rl.zeros(3, 2, 4, **DOUBLE), g]))
    expected = [whole[0][3:], whole[1][:3]]

    def hand_over(encoder, decoder):
        decoder.userPrevOutput = encoder.output[-1].clone()
        decoder.userPrevCell = encoder.cell[-1].clone()

    def hand_back(encoder, decoder):
        encoder.gradPrevOutput = decoder.userGradPrevOutput
        encoder.userNextGradCell = decoder.userGradPrevCell

    found = coupled(layer, layer.clone(), x, y, g, hand_over, hand_back)
    assert difference(found, expected) < CLOSE

    cell = layer.toFastLSTM()
    encoder, decoder = nn.Sequencer(cell), nn.Sequencer(cell.clone())

    def hand_over_cells(encoder, decoder):
        source, target = encoder.module, decoder.module
        target.userPrevOutput, target.userPrevCell = source.getHiddenState(3).as_list()

    def hand_back_cells(encoder, decoder):
        source, target = encoder.module, decoder.module
        gradients = target.getGradHiddenState(0).as_list()
        source.userNextGradOutput, source.userNextGradCell = gradients

    found = coupled(encoder, decoder, x, y, g, hand_over_cells, hand_back_cells)
    assert difference(found, expected) < CLOSE


@pytest.mark.parametrize("is_fused", [True, False])
def test_a_limit_of_steps_lets_clones_be_used_again(is_fused):
    cell = nn.FastLSTM(3, 4, 2)
    if not is_fused:
        cell.maskZero()
    x, g = sequence(time=7), sequence(time=7, features=4)
    outputs = [cell.forward(step).clone() for step in x]
    assert len(cell.sharedClones.items()) == (1 if is_fused else 3)
    assert len(cell.outputs.items()) <= 5
    whole = nn.Sequencer(cell.clone())
    assert difference(rl.stack(outputs), whole.forward(x)) < CLOSE
    found = [cell.backward(x[t], g[t]) for t in (6, 5)]
    masked = g.clone()
    masked[:5] = 0
    expected = whole.backward(x, masked)
    assert difference(found, [expected[6], expected[5]]) < CLOSE


def test_training_resumes_from_a_file_with_its_clones():
    case = load_cases("rnn", "Sequencer")[1]
    net = case.module_after
    inner = net.module
    assert len(inner.sharedClones.items()) == 4
    second = case.second
    output = net.forward(second.input)
    assert difference(output, second.output) < 1e-10
    gradient = net.backward(second.input, second.gradOutput, second.scale)
    assert difference(gradient, second.gradInput) < 1e-10
    assert difference(net.parameters()[1], second.gradParams) < 1e-10
    for clone in inner.sharedClones.values():
        for mine, theirs in zip(clone.parameters()[0], net.parameters()[0], strict=True):
            assert mine.data_ptr() == theirs.data_ptr()


def test_repeaters_and_attention_refuse_gradients_of_other_lengths():
    net, x = nn.Repeater(nn.GRU(3, 4), 3), sequence()[0]
    net.forward(x)
    with pytest.raises(ValueError, match="3 gradients"):
        net.backward(x, [sequence(features=4)[0]])


def test_errors_say_what_was_expected():
    with pytest.raises(ValueError, match="time x batch x 3"):
        nn.SeqLSTM(3, 4).forward(rl.zeros(2, 2, 5, **DOUBLE))
    with pytest.raises(ValueError, match="one gradient for each of the 5 steps"):
        net, x = nn.Sequencer(nn.GRU(3, 4)), sequence()
        net.forward(x)
        net.backward(x, sequence(time=4, features=4))
    with pytest.raises(ValueError, match=r"modules\[1\].*Linear") as raised:
        nn.Sequencer(nn.Sequential().add(nn.Linear(7, 4))).forward(sequence())
    assert "root.modules[1]" in str(raised.value)
    with pytest.raises(RuntimeError, match="backward needs a forward"):
        nn.LSTM(3, 4).backward(sequence()[0], sequence(features=4)[0])
    with pytest.raises(ValueError, match="after forget"):
        net = nn.SeqGRU(3, 4).remember()
        net.forward(sequence(batch=2))
        net.forward(sequence(batch=3))
    for cell in (nn.GRU(3, 4), nn.GRU(3, 4).maskZero()):
        cell.forward(sequence(batch=1)[0])
        with pytest.raises(ValueError, match=r"forget|one size"):
            cell.forward(sequence(batch=2)[0])
    with pytest.raises(TypeError, match="expected a module"):
        nn.Sequencer("LSTM")
    with pytest.raises(ValueError, match="mono"):
        nn.GRU(3, 4, None, 0.5).trimZero(1)


def test_variable_lengths():
    net = nn.VariableLength(nn.SeqLSTM(3, 4))
    samples = [sequence(time=n)[:, 0] for n in (4, 1, 3)]
    plain = net.modules[0].clone()
    plain.maskzero = False
    expected = [plain.forward(x.unsqueeze(1))[:, 0].clone() for x in samples]
    assert difference(net.forward(samples), expected) < CLOSE
    gradients = [rl.ones_like(y) for y in expected]
    found = net.backward(samples, gradients)
    for x, g, gradient in zip(samples, gradients, found, strict=True):
        plain.forward(x.unsqueeze(1))
        whole = plain.backward(x.unsqueeze(1), g.unsqueeze(1))
        assert difference(gradient, whole[:, 0]) < CLOSE
    last = nn.VariableLength(net.modules[0], True)
    assert difference(last.forward(samples), rl.stack([y[-1] for y in expected])) < CLOSE


def test_masks_of_the_last_version_are_told():
    x, mask = sequence(time=3), rl.zeros(3, 2, dtype=rl.uint8)
    mask[1, 0] = 1
    zeroed = x.clone()
    zeroed[1, 0] = 0
    told, found = nn.SeqGRU(3, 4), nn.SeqGRU(3, 4)
    for mine, theirs in zip(told.parameters()[0], found.parameters()[0], strict=True):
        mine.copy_(theirs)
    told.maskZero(False).setZeroMask(mask)
    found.maskZero()
    assert difference(told.forward(zeroed), found.forward(zeroed)) < CLOSE
    stepwise = nn.Sequencer(nn.RecGRU(3, 4))
    for mine, theirs in zip(stepwise.parameters()[0], found.parameters()[0], strict=True):
        mine.copy_(theirs)
    stepwise.maskZero().setZeroMask(mask)
    assert difference(stepwise.forward(zeroed), found.forward(zeroed)) < CLOSE


def test_steps_without_a_sequencer_share_a_tape():
    cell, x = nn.FastLSTM(3, 4), sequence()
    expected = nn.Sequencer(cell.clone()).forward(x)
    with nn.Unrolling():
        outputs = [cell(step) for step in x]
    assert difference(rl.stack(outputs).detach(), expected) < CLOSE


def test_lazy_dropout_keeps_its_mask_through_a_sequence():
    net = nn.Sequencer(nn.GRU(3, 4, None, 0.5))
    x = rl.ones(4, 1, 3, **DOUBLE)
    masks = [m for m in net.module.recurrentModule.listModules() if isinstance(m, nn.Dropout)]
    net.forward(x)
    kept = [mask.noise.clone() for mask in masks]
    for clone in net.module.sharedClones.values():
        clones_of_masks = [m for m in clone.listModules() if isinstance(m, nn.Dropout)]
        assert difference([m.noise for m in clones_of_masks], kept) == 0
    assert difference(net(x).detach(), net(x).detach()) > 1e-6  # a new mask per sequence


def test_criterions_of_sequences_on_the_tape():
    x, t = sequence(), sequence()
    for criterion, target in (
        (nn.SequencerCriterion(nn.MSECriterion(), True), t),
        (nn.RepeaterCriterion(nn.MSECriterion()), t[0]),
        (nn.MaskZeroCriterion(nn.MSECriterion(), 2), t),
    ):
        leaf = x.clone().requires_grad_()
        value = criterion(leaf, target)
        value.backward()
        assert abs(criterion.forward(x, target) - value.item()) < CLOSE
        assert difference(criterion.backward(x, target), leaf.grad) < CLOSE


@pytest.mark.parametrize("name", ["FastLSTM", "LSTM", "GRU"])
def test_a_cell_may_change_its_mode_between_steps(name):
    cell, x, g = NETS[name]().module, sequence(time=4), sequence(time=4, features=4)
    expected = NETS[name]()
    for mine, theirs in zip(expected.parameters()[0], cell.parameters()[0], strict=True):
        mine.copy_(theirs)
    outputs = [cell.forward(x[0]), cell.forward(x[1])]
    kept = clones(outputs)
    cell.evaluate()
    outputs.append(cell.forward(x[2]))
    cell.training()
    outputs.append(cell.forward(x[3]))
    assert difference(outputs[:2], kept) == 0
    assert difference(rl.stack(outputs), expected.forward(x)) < CLOSE
    masked = g.clone()
    masked[:3] = 0
    assert difference(cell.backward(x[3], g[3]), expected.backward(x, masked)[3]) < CLOSE


def test_backward_in_evaluation_is_about_the_last_step():
    """As in Torch7, whether the cell runs as one function or as its modules."""
    x, g = sequence(time=3), sequence(time=3, features=4)
    cell = nn.FastLSTM(3, 4)
    watched = cell.clone()
    watched.recurrentModule.updateOutput = watched.recurrentModule.updateOutput  # as a trace does
    found = []
    for net in (cell, watched):
        net.evaluate()
        net.zeroGradParameters()
        for step in x:
            net.forward(step)
        gradients = [net.backward(x[t], g[t]).clone() for t in (2, 1, 0)]
        found.append([*gradients, *clones(net.parameters()[1])])
    assert difference(found[0], found[1]) < CLOSE


@pytest.mark.parametrize("name", ["FastLSTM", "Recurrent", "stack", "masked"])
def test_replaced_modules_are_used_by_all_steps(name):
    net, x = NETS[name](), sequence()
    before = net.forward(x).clone()
    net.replace(lambda m: nn.Tanh() if m.torch_typename == "nn.Sigmoid" else m)
    assert not net.find_modules("nn.Sigmoid")
    net.forget()
    after = net.forward(x).clone()
    assert difference(after, before) > 1e-3
    assert difference(net(x).detach(), after) < CLOSE
    net.evaluate()
    assert difference(net.forward(x), after) < CLOSE


@pytest.mark.parametrize("name", ["FastLSTM", "Recurrent", "stack", "masked"])
def test_shared_parameters_are_those_of_all_steps(name):
    net, other, x = NETS[name](), NETS[name](), sequence()
    net.forward(x)
    net.share(other, "weight", "bias", "gradWeight", "gradBias")
    assert difference(net.forward(x), other.forward(x)) < CLOSE


@pytest.mark.parametrize("name", ["FastLSTM", "stack", "masked", "Recurrent"])
def test_collapsed_clones_train_on(name):
    net, x, g = NETS[name](), sequence(), sequence(features=4)
    expected = run(net, x, g)
    nn.collapse_clones(net)
    net.forget()
    assert difference(run(net, x, g), expected) < CLOSE
    nn.expand_clones(net)
    net.forget()
    assert difference(run(net, x, g), expected) < CLOSE


@pytest.mark.parametrize("name", ["LSTM", "FastLSTM", "GRU", "Recurrent", "stack", "masked"])
@pytest.mark.parametrize("is_training", [True, False])
def test_a_sequence_without_end_keeps_only_what_is_in_reach(name, is_training):
    net, x, g = NETS[name]().remember("both"), sequence(time=3), sequence(time=3, features=4)
    if not is_training:
        net.evaluate()
    cells = [m for m in net.listModules() if isinstance(m, nn.AbstractRecurrent)]
    for _ in range(8):
        net.forward(x)
        if is_training:
            net.backward(x, g)
    for cell in cells:
        assert cell.step == 25
        tables = [value for value in vars(cell).values() if isinstance(value, rl.Table)]
        assert max(len(table.items()) for table in tables) <= 6
        assert len(cell._kept.fused) <= 5


@every_net
def test_networks_of_halves(name):
    """float16 has a tenth of the digits, not other numbers."""
    rl.manual_seed(2)
    net, x = NETS[name](), rl.randn(5, 2, 3, **DOUBLE)
    output = net.forward(x)
    gradient = net.backward(x, rl.ones_like(output)).clone()
    half = rl.loads(rl.dumps(net.forget().clearState())).half()
    found = half.forward(x.half())
    assert found.dtype == rl.float16
    assert difference(found.double(), output) < 1e-2
    found = half.backward(x.half(), rl.ones_like(found))
    assert found.dtype == rl.float16
    assert difference(found.double(), gradient) < 3e-2
