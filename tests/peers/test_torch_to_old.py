"""PyTorch modules become old networks; weights go back and forth between both worlds."""

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.converters.formats import CannotConvert
from relume.converters.importing.torch_module import network_of
from relume.converters.proof.running import run
from relume.converters.pytorch import file as pytorch_file
from relume.converters.pytorch import state_dict_file

torch = pytest.importorskip("torch")
functional = torch.nn.functional


class Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.pool = torch.nn.AdaptiveAvgPool2d(1)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x):
        x = functional.relu(self.norm(self.first(x)))
        x = x + self.second(x)
        return functional.log_softmax(self.head(torch.flatten(self.pool(x), 1)), dim=1)


class TwoInputs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(3, 4)
        self.other = torch.nn.Linear(3, 4)

    def forward(self, x, y):
        return torch.tanh(self.one(x)) * torch.sigmoid(self.other(y)) + 0.5


def chain(*layers):
    return torch.nn.Sequential(*layers)


MODULES = {
    "perceptron": (
        lambda t: chain(t.Linear(4, 5), t.ReLU(), t.Dropout(0.5), t.Linear(5, 3), t.Softmax(1)),
        [(2, 4)],
    ),
    "LeNet": (
        lambda t: chain(
            t.Conv2d(1, 6, 5, padding=2),
            t.BatchNorm2d(6),
            t.MaxPool2d(2),
            t.Conv2d(6, 8, 3, stride=2, dilation=2),
            t.LeakyReLU(0.1),
            t.AvgPool2d(2),
            t.Flatten(),
            t.Linear(32, 10),
            t.LogSoftmax(dim=1),
        ),
        [(2, 1, 28, 28)],
    ),
    "residual": (lambda t: Residual(), [(2, 3, 8, 8)]),
    "two inputs": (lambda t: TwoInputs(), [(2, 3), (2, 3)]),
    "transposed": (
        lambda t: chain(t.ConvTranspose2d(3, 4, 4, 2, 1), t.Upsample(scale_factor=2), t.PReLU(4)),
        [(2, 3, 5, 5)],
    ),
    "sequences": (
        lambda t: chain(t.Conv1d(3, 4, 3, padding=1), t.MaxPool1d(2), t.Flatten(), t.Linear(20, 2)),
        [(2, 3, 10)],
    ),
    "volumes": (
        lambda t: chain(t.Conv3d(2, 3, 3), t.BatchNorm3d(3), t.MaxPool3d(2)),
        [(2, 2, 8, 8, 8)],
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_becomes_an_old_network(name, tmp_path):
    torch.manual_seed(0)
    make, shapes = MODULES[name]
    module = make(torch.nn).eval()
    for part in module.modules():
        if hasattr(part, "running_mean"):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    inputs = [torch.randn(shape) for shape in shapes]
    rl.convert(module, tmp_path / "net.t7", verify=False)
    given = [tensor.numpy() for tensor in inputs]
    output = run(rl.load(tmp_path / "net.t7"), given if len(given) > 1 else given[0])[0]
    expected = module(*inputs).detach().numpy()
    assert output.shape == expected.shape
    assert np.abs(output - expected).max() < 1e-5


def test_layers_without_a_counterpart_are_listed():
    module = chain(torch.nn.GELU(), torch.nn.GELU(), torch.nn.AdaptiveAvgPool2d(3))
    with pytest.raises(CannotConvert) as caught:
        network_of(module)
    counts = {refusal.class_name: refusal.count for refusal in caught.value.refusals}
    assert counts == {"GELU": 2, "AdaptiveAvgPool2d": 1}


# ---- there, one step of training, and back ----


def convolutional():
    net = (
        nn.Sequential()
        .add(nn.SpatialConvolutionMM(1, 4, 3, 3))
        .add(nn.SpatialBatchNormalization(4))
    )
    net.add(nn.ReLU()).add(nn.View(-1).setNumInputDims(3)).add(nn.Linear(144, 3))
    return net.add(nn.LogSoftMax()), (5, 1, 8, 8)


def with_shared_weights():
    layer = nn.Linear(4, 4)
    net = nn.Sequential().add(layer).add(nn.Tanh()).add(layer.clone("weight", "bias"))
    return net.add(nn.Add(4)), (5, 4)


def over_frames():
    net = nn.Sequential().add(nn.TemporalConvolution(3, 4, 2)).add(nn.Tanh())
    return net.add(nn.TemporalMaxPooling(2)).add(nn.Mean(2)), (5, 9, 3)


def recurrent():
    net = nn.Sequential().add(nn.SeqLSTM(3, 4)).add(nn.Sequencer(nn.FastLSTM(4, 2)))
    return net, (6, 5, 3)


def connection_table():
    table = nn.tables.random(2, 4, 1)
    net = (
        nn.Sequential()
        .add(nn.SpatialConvolutionMap(table, 3, 3))
        .add(nn.SpatialSubSampling(4, 2, 2, 2, 2))
    )
    return net, (5, 2, 8, 8)


@pytest.mark.parametrize(
    "make", [convolutional, with_shared_weights, over_frames, recurrent, connection_table]
)
def test_weights_that_pytorch_trained_come_back(make, tmp_path):
    net, shape = make()
    rl.save(net, tmp_path / "old.t7")
    rl.convert(tmp_path / "old.t7", tmp_path / "net.py")
    module = pytorch_file.load_module(tmp_path / "net.py").load().train()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    x = torch.randn(shape, dtype=torch.float64)
    module(x).square().mean().backward()
    optimizer.step()
    torch.save(module.state_dict(), tmp_path / "new.pt")

    rl.convert(tmp_path / "new.pt", tmp_path / "new.t7", into=tmp_path / "old.t7")
    expected = module.eval()(x).detach().numpy()
    before, after = (run(rl.load(tmp_path / name), x.numpy())[0] for name in ("old.t7", "new.t7"))
    assert np.abs(after - expected).max() < 1e-9
    assert np.abs(before - expected).max() > 1e-4


# ---- files ----


def test_torch_loads_what_relume_wrote(tmp_path):
    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array(3, np.int64),
        "c": np.zeros((0, 2)),
        "d": np.array([True, False]),
        "é": np.float16([1.5]),
    }
    arrays["again"] = arrays["a"]
    state_dict_file.write(tmp_path / "weights.pt", arrays)
    state = torch.load(tmp_path / "weights.pt", weights_only=True)
    assert list(state) == list(arrays)
    for name, array in arrays.items():
        assert state[name].numpy().dtype == array.dtype
        assert state[name].numpy().tolist() == array.tolist()
    assert state["again"].data_ptr() == state["a"].data_ptr()


@pytest.mark.parametrize("is_zip", [True, False], ids=["zip", "before 2020"])
def test_relume_reads_what_torch_wrote(tmp_path, is_zip):
    whole = torch.arange(12.0).reshape(3, 4)
    state = {"whole": whole, "column": whole[:, 1], "turned": whole.t(), "double": whole.double()}
    torch.save(
        {"state_dict": state, "epoch": 3},
        tmp_path / "checkpoint.pt",
        _use_new_zipfile_serialization=is_zip,
    )
    found = rl.load(tmp_path / "checkpoint.pt")
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        name: tensor.tolist() for name, tensor in state.items()
    }


def test_a_pickled_module_is_refused_with_advice(tmp_path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    with pytest.raises(rl.FileFormatError, match="state_dict"):
        rl.load(tmp_path / "module.pt")


def test_a_module_gets_its_weights_into_an_old_network(tmp_path):
    module = chain(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.ReLU()).add(nn.Linear(4, 2)).float()
    rl.convert(module, tmp_path / "new.t7", into=net)
    x = torch.randn(5, 3)
    output = run(rl.load(tmp_path / "new.t7"), x.numpy())[0]
    assert np.abs(output - module(x).detach().numpy()).max() < 1e-6
