"""Whole training runs of Torch7, repeated from the seed: initial parameters bit for bit, losses,
gradients, final parameters, printed networks and confusion matrices, and the next random number.

The runs with recurrent layers of package rnn are in test_recurrent_training.py, those of
nn.StochasticGradient in test_training_tools.py.
"""

import math

import pytest
from golden_cases import DATA, difference

import relume as rl
from relume import _C
from relume import legacy_nn as nn

TEXT = """the miller keeps a grey cat and the grey cat keeps the mill.
when the wind is in the west the sails turn round and round,
and the cat sleeps on the warm sacks and dreams of the river.
when the wind is in the east the sails stand still all day,
and the miller sleeps on the warm sacks and the cat keeps watch.
"""
LOSSES = {"torch.DoubleTensor": 1e-9, "torch.FloatTensor": 1e-4}
PARAMETERS = {"torch.DoubleTensor": 1e-8, "torch.FloatTensor": 1e-3}
LBFGS_PARAMETERS = 1e-7


@pytest.fixture(autouse=True)
def restored_default_type():
    yield
    nn.set_default_tensor_type("torch.DoubleTensor")


def start(name):
    """The golden run, with the default type and the seed of its script set."""
    golden = rl.load(DATA / "train" / f"{name}.t7")
    nn.set_default_tensor_type(golden.config.tensortype)
    rl.manual_seed(int(golden.config.seed))
    return golden, golden.config


def dtype():
    return nn.types.default_dtype()


def normal(*shape, deviation=1):
    return rl.empty(shape, dtype=dtype()).normal_(0, deviation)


def random(low, high):
    """torch.random(low, high)."""
    return low + _C.default_generator().random() % (high - low + 1)


class Batches:
    """Samples in random order, which is drawn anew after each pass."""

    def __init__(self, x, y, size):
        self.x, self.y, self.size = x, y, size
        self.order, self.position = rl.randperm(x.shape[0]).tolist(), 0

    def __next__(self):
        places = []
        for _ in range(self.size):
            if self.position == len(self.order):
                self.order, self.position = rl.randperm(len(self.order)).tolist(), 0
            places.append(self.order[self.position])
            self.position += 1
        places = rl.tensor(places)
        return self.x.index_select(0, places), self.y.index_select(0, places)


class Training:
    """Steps of an optimiser, with the losses and norms of gradients that a script notes."""

    def __init__(self, golden, net):
        self.golden, self.net, self.config = golden, net, golden.config
        self.weights, self.gradients = net.getParameters()
        self.optimise = getattr(nn.optim, golden.config.algo)
        self.state = dict(golden.config.optim.items())
        self.losses, self.norms = [], []

    def step(self, loss_and_backward):
        def feval(_):
            self.gradients.zero_()
            loss = loss_and_backward()
            norm = self.gradients.norm().item()
            self.norms[self.steps :] = [norm]
            return loss, self.gradients

        self.steps = len(self.losses)
        values = self.optimise(feval, self.weights, self.state)[1]
        self.losses.append(values[0])

    def classify(self, criterion, inputs, targets):
        def loss_and_backward():
            output = self.net.forward(inputs)
            loss = criterion.forward(output, targets)
            self.net.backward(inputs, criterion.backward(output, targets))
            return loss

        self.step(loss_and_backward)

    def check(self):
        golden, type_ = self.golden, self.config.tensortype
        is_lbfgs = self.config.algo == "lbfgs"
        tolerance = LBFGS_PARAMETERS if is_lbfgs else PARAMETERS[type_]
        assert difference(self.losses, list(golden.losses)) < LOSSES[type_] * (
            100 if is_lbfgs else 1
        )
        assert difference(self.norms, list(golden.gradnorms)) < tolerance * 10
        assert difference(self.weights, golden.final) < tolerance


def check_end(golden, net, confusion, output, labels):
    confusion.batchAdd(output, labels)
    assert str(confusion) == golden.confusion
    assert str(net) == golden.printed
    assert _C.default_generator().random() == golden.rng_next


@pytest.mark.parametrize("name", ["mlp", "mlp_float_adam", "mlp_lbfgs"])
def test_perceptron(name):
    golden, config = start(name)
    samples, size, classes = int(config.samples), int(config.dim), int(config.classes)
    x = normal(samples, size)
    labels = [
        min(classes, 1 + math.floor(row.norm().item() * classes / (1.6 * math.sqrt(size))))
        for row in x
    ]
    y = rl.tensor(labels).to(dtype())
    assert difference(x, golden.X) == 0
    assert difference(y, golden.Y) == 0
    hidden, transfer = int(config.hidden), getattr(nn, config.transfer)
    net = nn.Sequential().add(nn.Linear(size, hidden)).add(transfer())
    net.add(nn.Linear(hidden, hidden)).add(transfer())
    net.add(nn.Linear(hidden, classes)).add(nn.LogSoftMax())
    criterion = nn.ClassNLLCriterion()
    training = Training(golden, net)
    assert difference(training.weights, golden.initial) == 0
    batches = Batches(x, y, int(config.batch))
    for _ in range(int(config.iterations)):
        training.classify(criterion, *next(batches))
    training.check()
    net.evaluate()
    output = net.forward(x)
    assert criterion.forward(output, y) == pytest.approx(golden.train_loss, rel=1e-4)
    predicted = output.argmax(1) + 1
    assert (predicted != y.to(rl.int64)).sum().item() == golden.errors
    check_end(golden, net, nn.optim.ConfusionMatrix(classes), output, y)


def bars(samples, size):
    """Noisy images of a line whose direction is the class."""
    x = normal(samples, 1, size, size, deviation=0.5)
    labels = []
    for image in x:
        label, place = random(1, 4), random(2, size - 2) - 1
        labels.append(label)
        if label == 1:
            image[0].narrow(0, place, 2).add_(1.5)
        elif label == 2:
            image[0].narrow(1, place, 2).add_(1.5)
        elif label == 3:
            image[0].diagonal().add_(2)
        else:
            image[0].narrow(0, 2, 6).narrow(1, 2, 6).add_(0.8)
    return x, rl.tensor(labels).to(dtype())


@pytest.mark.parametrize("name", ["lenet", "lenet_float"])
def test_convolutional_network(name):
    golden, config = start(name)
    classes = 4
    x, y = bars(int(config.samples), 12)
    assert difference(x, golden.X) == 0
    assert difference(y, golden.Y) == 0
    first, second, hidden = int(config.maps1), int(config.maps2), int(config.hidden)

    def convolution(*arguments):
        layer = nn.SpatialConvolution(*arguments)
        return layer.noBias() if config.nobias else layer

    net = nn.Sequential().add(convolution(1, first, 5, 5))
    net.add(nn.SpatialBatchNormalization(first)).add(nn.ReLU(True))
    net.add(nn.SpatialMaxPooling(2, 2, 2, 2)).add(convolution(first, second, 3, 3, 1, 1, 1, 1))
    net.add(nn.SpatialBatchNormalization(second)).add(nn.ReLU(True))
    net.add(nn.SpatialMaxPooling(2, 2)).add(nn.View(-1).setNumInputDims(3))
    net.add(nn.Dropout(config.dropout)).add(nn.Linear(second * 4, hidden)).add(nn.Tanh())
    net.add(nn.Linear(hidden, classes)).add(nn.LogSoftMax())
    criterion = nn.ClassNLLCriterion()
    training = Training(golden, net)
    assert difference(training.weights, golden.initial) == 0
    net.training()
    batches = Batches(x, y, int(config.batch))
    for _ in range(int(config.iterations)):
        training.classify(criterion, *next(batches))
    training.check()
    tolerance = PARAMETERS[config.tensortype]
    for norm, running in zip(
        net.findModules("nn.SpatialBatchNormalization")[0], golden.running, strict=True
    ):
        assert difference(norm.running_mean, running["mean"]) < tolerance
        assert difference(norm.running_var, running["var"]) < tolerance
    net.evaluate()
    output = net.forward(x)
    assert difference(output, golden.eval_output) < 10 * tolerance
    assert criterion.forward(output, y) == pytest.approx(golden.eval_loss, rel=1e-3)
    confusion = nn.optim.ConfusionMatrix(["rows", "columns", "diagonal", "square"])
    check_end(golden, net, confusion, output, y)


def lstm(inputs, hidden, layers, dropout):
    """A step of an LSTM language model as a graph: {x, c, h, ...} -> {c, h, ..., log p}."""
    nodes = [nn.Identity()() for _ in range(1 + 2 * layers)]
    outputs, below, size = [], nodes[0], inputs
    for layer in range(layers):
        c, h = nodes[1 + 2 * layer], nodes[2 + 2 * layer]
        if layer:
            below, size = outputs[-1], hidden
            below = nn.Dropout(dropout)(below) if dropout else below
        x_to_gates = nn.Linear(size, 4 * hidden)(below)
        sums = nn.CAddTable()([x_to_gates, nn.Linear(hidden, 4 * hidden)(h)])
        parts = nn.SplitTable(2)(nn.Reshape(4, hidden)(sums)).split(4)
        i, f, o = (nn.Sigmoid()(part) for part in parts[:3])
        new = nn.CMulTable()([i, nn.Tanh()(parts[3])])
        outputs.append(nn.CAddTable()([nn.CMulTable()([f, c]), new]))
        outputs.append(nn.CMulTable()([o, nn.Tanh()(outputs[-1])]))
    top = nn.Dropout(dropout)(outputs[-1]) if dropout else outputs[-1]
    outputs.append(nn.LogSoftMax()(nn.Linear(hidden, inputs)(top)))
    return nn.gModule(nodes, outputs)


class Characters:
    """The text as rows of numbers of characters (from 1), and the rows one character later."""

    def __init__(self, rows):
        self.names = list(dict.fromkeys(TEXT))
        numbers = [self.names.index(character) + 1 for character in TEXT]
        self.length = (len(numbers) - 1) // rows
        starts = [row * self.length for row in range(rows)]
        self.x = rl.tensor([numbers[s : s + self.length] for s in starts])
        self.y = rl.tensor([numbers[s + 1 : s + 1 + self.length] for s in starts])
        self.one_hot = rl.eye(len(self.names), dtype=dtype())

    def vectors(self, step):
        return self.one_hot.index_select(0, self.x[:, step] - 1)


CHARACTER_RUNS = [
    ("charlstm", False),
    ("charlstm_float", False),
    ("charlstm_2layers_dropout", False),
    ("charlstm_2layers_dropout", True),
]


@pytest.mark.parametrize(("name", "collapsed"), CHARACTER_RUNS)
def test_character_lstm_with_clones_or_one_cell(name, collapsed):
    golden, config = start(name)
    batch, steps, hidden = int(config.batch), int(config.T), int(config.hidden)
    text = Characters(batch)
    assert text.names == list(golden.vocab)
    cell = lstm(len(text.names), hidden, int(config.layers), config.dropout)
    training = Training(golden, cell)
    if config.get("uniform_init"):
        training.weights.uniform_(-config.uniform_init, config.uniform_init)
    assert difference(training.weights, golden.initial) == 0
    shared = ("weight", "bias", "gradWeight", "gradBias")
    cells = [cell.clone(*shared) for _ in range(steps)]
    if collapsed:
        cells = nn.collapse_clones(cells)
    criterions = [nn.ClassNLLCriterion() for _ in range(steps)]
    count = 2 * int(config.layers)
    zeros = [rl.zeros(batch, hidden, dtype=dtype()) for _ in range(count)]
    states, position = zeros, 0
    for _ in range(int(config.iterations)):
        if position + steps > text.length:
            position, states = 0, zeros

        def loss_and_backward(first=position):
            nonlocal states
            inputs, outputs, loss = [], [], 0
            for t in range(steps):
                cells[t].training()
                inputs.append([text.vectors(first + t), *states])
                outputs.append(list(cells[t].forward(inputs[t])))
                states = outputs[t][:count]
                loss += criterions[t].forward(outputs[t][count], text.y[:, first + t])
            gradients = zeros
            for t in reversed(range(steps)):
                last = criterions[t].backward(outputs[t][count], text.y[:, first + t])
                gradients = list(cells[t].backward(inputs[t], [*gradients, last]))[1:]
            training.gradients.clamp_(-config.clip, config.clip)
            return loss / steps

        training.step(loss_and_backward)
        position += steps
    training.check()
    tolerance = PARAMETERS[config.tensortype]
    assert difference(states, list(golden.init)) < tolerance
    if not collapsed:
        assert sample(cell, text, golden, count, hidden) == (golden.sampled, golden.greedy)
        assert _C.default_generator().random() == golden.rng_next


def sample(cell, text, golden, count, hidden):
    """Characters drawn one after the other, and the likeliest ones."""
    cell.evaluate()
    states = [rl.zeros(1, hidden, dtype=dtype()) for _ in range(count)]
    previous, sampled, greedy = text.names.index("t"), "", ""
    for _ in range(int(golden.config.sample)):
        x = text.one_hot.index_select(0, rl.tensor([previous]))
        *states, log_p = cell.forward([x, *states])
        greedy += text.names[log_p.argmax(1).item()]
        p = log_p.exp().flatten()
        previous = rl.multinomial(p / p.sum(), 1).item()
        sampled += text.names[previous]
    return sampled, greedy
