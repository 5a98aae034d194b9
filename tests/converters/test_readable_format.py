"""A file is what it holds, whatever its name."""

import pytest

import relume as rl
from relume import legacy_nn as nn


def network():
    return nn.Sequential().add(nn.Linear(3, 2)).add(nn.Tanh())


@pytest.mark.parametrize("ending", ["t7", "safetensors", "npz", "h5"])
@pytest.mark.parametrize("name", ["model", "model.npz", "v1.2/model.h5"])
def test_names_do_not_matter(tmp_path, ending, name):
    net = network()
    rl.convert(net, tmp_path / f"right.{ending}")
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    (tmp_path / f"right.{ending}").rename(path)
    assert rl.load(path).get(1).weight.tolist() == net.get(1).weight.tolist()
    assert rl.compare(path, net).agrees
    assert rl.convert(path, tmp_path / "again.safetensors").verified


@pytest.mark.parametrize("options", [{"format": "ascii"}, {"byte_order": "big"}, {"long_size": 4}])
def test_torch7_files_of_all_forms(tmp_path, options):
    (tmp_path / "model.npz").write_bytes(rl.dumps(network(), **options))
    assert isinstance(rl.load(tmp_path / "model.npz"), nn.Sequential)


def test_a_checkpoint_of_pytorch_with_the_ending_of_torch7(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"weight": torch.arange(3.0)}, tmp_path / "model.t7")
    assert rl.load(tmp_path / "model.t7")["weight"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("ending", ["t7", "safetensors", "npz", "h5", "pt", "onnx"])
@pytest.mark.parametrize("data", [b"", b"\n", b"no model", bytes(5000)])
def test_what_is_no_model_is_refused(tmp_path, ending, data):
    path = tmp_path / f"model.{ending}"
    path.write_bytes(data)
    for use in (rl.load, lambda path: rl.compare(path, network())):
        with pytest.raises(ValueError) as refused:
            use(path)
        assert str(path) in str(refused.value) or "model" in str(refused.value)
