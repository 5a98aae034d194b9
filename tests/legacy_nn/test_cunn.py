"""Containers that spread a network over GPUs: they run undivided."""

import pytest
from ascii_files import Written, ascii_of
from golden_cases import difference

import relume as rl
from relume import legacy_nn as nn

DOUBLE = {"dtype": rl.float64}


def random(*shape):
    return rl.randn(*shape, **DOUBLE)


def linear_fields(weight, bias):
    return {"weight": weight, "bias": bias, "_type": "torch.DoubleTensor", "train": True}


def write(path, value):
    path.write_text(ascii_of(value))
    return path


@pytest.mark.parametrize("version", [1, 2, 3])
def test_files_with_and_without_the_list_of_gpus(tmp_path, version):
    weight, bias = random(2, 3), random(2)
    gpus = [1.0, 2.0]
    table = Written(
        "nn.DataParallelTable",
        {
            "modules": [("nn.Linear", linear_fields(weight, bias))],
            "dimension": 1, "gpuAssignments": gpus, "flattenParams": False, "inputGpu": {},
            "impl": ("nn.DataParallelTable.Basic", {"dpt": 0}),
        },
        version,
        gpus if version > 1 else None,
    )  # fmt: skip
    net = ("nn.Sequential", {"modules": [table, ("nn.Tanh", {"train": True})], "train": True})
    loaded = rl.load(write(tmp_path / "net.t7", net))
    inner = loaded.get(1)
    assert isinstance(inner, nn.DataParallelTable)
    assert list(inner.gpuAssignments) == gpus
    assert str(inner) == "DataParallelTable: 2 x nn.Linear(3 -> 2)"
    x = random(4, 3)
    assert difference(loaded.forward(x), (x @ weight.t() + bias).tanh()) < 1e-12
    assert loaded.backward(x, random(4, 2)).shape == (4, 3)
    assert len(loaded.parameters()[0]) == 2


def test_copies_of_other_gpus_in_old_files_are_not_run(tmp_path):
    first, second = ("nn.Linear", linear_fields(random(2, 3), random(2))), random(2, 3)
    modules = [first, ("nn.Linear", linear_fields(second, random(2)))]
    fields = {"modules": modules, "dimension": 1, "gpuAssignments": [1.0, 2.0]}
    net = rl.load(write(tmp_path / "old.t7", Written("nn.DataParallelTable", fields, 1)))
    assert len(net.parameters()[0]) == 2
    assert len(net.find_modules("nn.Linear")) == 1


def test_data_parallel_table_is_its_module():
    inner = nn.Sequential().add(nn.Linear(3, 2)).add(nn.Dropout(0.5))
    net = nn.DataParallelTable(1, True).add(inner, [1, 2, 3])
    x, g = random(4, 3), random(4, 2)
    net.evaluate()
    assert inner.get(2).train is False
    assert difference(net.forward(x), inner.get(1).forward(x)) < 1e-12
    net.backward(x, g, 0.5)
    assert difference(inner.get(1).gradBias, g.sum(0) / 2) < 1e-12
    assert difference(net(x), net.forward(x)) < 1e-12
    flat, flat_gradient = net.getParameters()
    assert flat.numel() == 8
    flat.zero_()
    assert net.forward(x).abs().sum().item() == 0
    assert net.flattenedParams[1][2] is flat_gradient
    copy = net.clone().float()
    assert copy.forward(x.to(rl.float32)).dtype == rl.float32
    one_by_one = nn.DataParallelTable(1).add(inner, 1).add(inner, 2)
    assert list(one_by_one.gpuAssignments) == [1, 2]
    assert one_by_one.size() == 1


def test_fbcunns_data_parallel():
    inner = nn.Linear(3, 2)
    net = nn.DataParallel(1).add(inner).add(inner.clone(), 2)
    x = random(4, 3)
    assert difference(net.forward(x), inner.forward(x)) == 0
    assert len(net.parameters()[0]) == 2
    assert str(net).split("\n")[:3] == [
        "DataParallel {",
        "  input",
        "    |`-> (1) [gpu:1] nn.Linear(3 -> 2)",
    ]


def test_fbcunns_model_parallel_joins_its_parts():
    parts = [nn.Linear(3, 2), nn.Linear(3, 1)]
    net = nn.ModelParallel(2).add(parts[0], 1).add(parts[1], 2)
    x, g = random(4, 3), random(4, 3)
    assert difference(net.forward(x), rl.cat([p.forward(x) for p in parts], 1)) == 0
    expected = g[:, :2] @ parts[0].weight + g[:, 2:] @ parts[1].weight
    assert difference(net.backward(x, g), expected) < 1e-12
    assert len(net.parameters()[0]) == 4
