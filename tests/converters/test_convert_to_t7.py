"""relume.convert to Torch7 files, from Torch7 files and from files of weights."""

from __future__ import annotations

import numpy as np
import pytest

import relume as rl
from relume import command_line
from relume import legacy_nn as nn


@pytest.mark.parametrize("ending", ["npz", "safetensors", "h5"])
def test_a_file_of_weights_gives_the_network_back(tmp_path, ending):
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Linear(4, 4)).add(nn.Linear(4, 4))
    net.get(3).share(net.get(2), "weight")
    rl.convert(net, tmp_path / f"net.{ending}")
    report = rl.convert(tmp_path / f"net.{ending}", tmp_path / "net.t7")
    assert (report.format, report.verified) == ("t7", True)
    again = rl.load(tmp_path / "net.t7")
    assert again.get(1).weight.tolist() == net.get(1).weight.tolist()
    assert again.get(3).weight is again.get(2).weight


def test_files_of_other_tools(tmp_path):
    arrays = {"steps": np.array(7), "mask": np.array([True, False])}
    np.savez(tmp_path / "w.npz", weight=np.ones((2, 3), np.float16), **arrays)
    rl.convert(tmp_path / "w.npz", tmp_path / "w.t7")
    table = rl.load(tmp_path / "w.t7")
    assert table.weight.torch_typename == "torch.HalfTensor"
    assert table.steps.tolist() == [7]
    assert table.mask.torch_typename == "torch.ByteTensor"


def test_an_old_file_becomes_one_of_today(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh())
    rl.save({"net": net, "epoch": 3}, tmp_path / "old.t7", format="ascii", long_size=4)
    report = rl.convert(tmp_path / "old.t7", tmp_path / "new.t7")
    assert report.verified
    checkpoint = rl.load(tmp_path / "new.t7")
    assert checkpoint.epoch == 3
    x = rl.ones(2, 3, dtype=rl.float64)
    assert checkpoint.net.forward(x).tolist() == net.forward(x).tolist()


def test_the_command_converts_weights_to_t7(tmp_path, monkeypatch, capsys):
    np.savez(tmp_path / "w.npz", weight=np.ones(3))
    arguments = ["relume", "convert", str(tmp_path / "w.npz"), str(tmp_path / "w.t7")]
    monkeypatch.setattr("sys.argv", arguments)
    try:
        command_line.main()
    except SystemExit as end:
        assert not end.code
    assert "1 tensors" in capsys.readouterr().out
    assert rl.load(tmp_path / "w.t7").weight.tolist() == [1, 1, 1]
