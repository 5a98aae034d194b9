"""Tensors that give the same elements over and over, as `expand` makes them."""

import os

import pytest

import relume as rl
from relume.converters.formats import CannotConvert

ENDINGS = ["t7", "safetensors", "npz", "h5"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_repeated_rows_share_memory_again(tmp_path, ending):
    row = rl.arange(3.0)
    report = rl.convert({"row": row, "rows": row.expand(4, 3)}, tmp_path / f"x.{ending}")
    assert report.verified
    again = rl.load(tmp_path / f"x.{ending}")
    assert again["rows"].tolist() == [[0, 1, 2]] * 4
    again["row"][0] = 5
    assert again["rows"][3].tolist() == [5, 1, 2]


@pytest.mark.parametrize("ending", ENDINGS)
def test_more_elements_than_any_disk_has(tmp_path, ending):
    root = {"row": rl.arange(3.0), "huge": rl.ones(1).expand(1 << 40)}
    if ending == "t7":
        assert rl.convert(root, tmp_path / "x.t7").verified
        assert rl.load(tmp_path / "x.t7")["huge"].shape == (1 << 40,)
        return
    with pytest.raises(CannotConvert, match="repeats 1 numbers to 1099511627776"):
        rl.convert(root, tmp_path / f"x.{ending}")
    assert os.listdir(tmp_path) == []
