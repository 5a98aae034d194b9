"""What PyTorch exports as ONNX becomes old networks that compute what PyTorch does."""

import warnings

import numpy as np
import pytest

import relume as rl
from relume.converters.proof.running import run

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
layers, functional = torch.nn, torch.nn.functional


class Recurrent(torch.nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.recurrent = kind(3, 4, **options)
        self.head = layers.Linear(8 if options.get("bidirectional") else 4, 2)

    def forward(self, x):
        return self.head(self.recurrent(x)[0])


class LastState(Recurrent):
    def forward(self, x):
        return self.head(self.recurrent(x)[1][0][-1])


class Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = layers.Sequential(
            layers.Conv2d(3, 8, 7, 2, 3, bias=False), layers.BatchNorm2d(8), layers.ReLU()
        )
        self.pool = layers.MaxPool2d(3, 2, 1)
        self.block = layers.Conv2d(8, 8, 3, 1, 1)
        self.head = layers.Linear(8, 5)

    def forward(self, x):
        x = self.pool(self.stem(x))
        x = functional.relu(x + self.block(x))
        return self.head(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = layers.Conv2d(3, 4, 1)
        self.grouped = layers.Conv2d(3, 6, 3, padding=1, groups=3)

    def forward(self, x):
        pooled = functional.avg_pool2d(self.grouped(x), 3, 1, 1)
        return functional.log_softmax(torch.cat([self.one(x), pooled], 1).mean((2, 3)), 1)


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = layers.Linear(4, 8)

    def forward(self, x):
        a, b = self.linear(x).chunk(2, 1)
        return torch.tanh(a) * torch.sigmoid(b) * 2 - 1 / (1 + torch.exp(-a))


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vectors = layers.Embedding(10, 4)
        self.head = layers.Linear(4, 2)

    def forward(self, x):
        return self.head(self.vectors(x).mean(1))


MODELS = {
    "LSTM": (lambda: Recurrent(layers.LSTM), (5, 2, 3)),
    "two layers of LSTM": (lambda: Recurrent(layers.LSTM, num_layers=2), (5, 2, 3)),
    "LSTM in both directions": (lambda: Recurrent(layers.LSTM, bidirectional=True), (5, 2, 3)),
    "GRU": (lambda: Recurrent(layers.GRU), (5, 2, 3)),
    "last state": (lambda: LastState(layers.LSTM), (5, 2, 3)),
    "residual": (Residual, (2, 3, 32, 32)),
    "branches": (Branches, (2, 3, 6, 6)),
    "gated": (Gated, (2, 4)),
    "words": (Words, None),
}


@pytest.mark.parametrize("name", MODELS)
def test_computes_the_same(name, tmp_path):
    torch.manual_seed(1)
    make, shape = MODELS[name]
    model = make().eval()
    x = torch.tensor([[1, 2, 9], [0, 3, 4]]) if shape is None else torch.randn(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this way of exporting needs no further packages
        torch.onnx.export(model, (x,), tmp_path / "model.onnx", dynamo=False)
    rl.save(rl.load(tmp_path / "model.onnx"), tmp_path / "model.t7")
    output = run(rl.load(tmp_path / "model.t7"), x.numpy())[0]
    expected = model(x).detach().numpy()
    assert output.shape == expected.shape
    assert np.abs(output - expected).max() < 1e-5
