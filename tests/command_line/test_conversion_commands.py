"""relume convert, compare and diff: what they print, write and answer."""

import json
import os
import sys

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.command_line import main


@pytest.fixture
def relume(monkeypatch, capsys):
    """Runs the command; returns (exit code, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["relume", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.t7"
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 2))
    rl.save({"net": net, "epoch": 3}, path)
    return path


def test_convert_writes_a_report(relume, model, tmp_path):
    report = tmp_path / "report.html"
    code, out, _ = relume("convert", model, tmp_path / "m.safetensors", "--report", report)
    assert code == 0 and "both sides compute the same" in out
    assert str(model) in report.read_text()


def test_convert_json(relume, model, tmp_path):
    code, out, _ = relume("convert", model, tmp_path / "m.npz", "--gradients", "--json")
    answer = json.loads(out)
    assert code == 0 and answer["agrees"] and answer["source"] == str(model)
    assert len(answer["proofs"][0]["gradients"]) == 5


def test_convert_takes_the_input_that_is_given(relume, model, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((6, 3), np.float32))
    arguments = (model, tmp_path / "m.h5", "--input", tmp_path / "x.npy", "--json")
    code, out, _ = relume("convert", *arguments)
    assert code == 0 and json.loads(out)["proofs"][0]["inputs"] == "6x3"


def test_options_reach_the_conversion(relume, model, tmp_path):
    arguments = ("--dtype", "float16", "--layout", "keras", "--select", "net", "--no-verify")
    code, out, _ = relume("convert", model, tmp_path / "m.npz", *arguments)
    assert code == 0 and "not verified" in out
    with np.load(tmp_path / "m.npz") as archive:
        assert archive["modules.1.kernel"].dtype == np.float16


def test_what_cannot_be_converted_is_listed(relume, tmp_path):
    rl.save({"a": 1}, tmp_path / "nothing.t7")
    code, _, err = relume("convert", tmp_path / "nothing.t7", tmp_path / "x.npz")
    assert code == 1 and "table (1): there are no weights in it" in err
    code, out, _ = relume("convert", tmp_path / "nothing.t7", tmp_path / "x.npz", "--json")
    assert code == 1 and json.loads(out)["refusals"][0]["class_name"] == "table"


@pytest.mark.parametrize("report", ["r.doc", "nowhere/r.html"])
def test_a_report_that_cannot_be_written_is_told_first(relume, model, tmp_path, report):
    code, _, err = relume("convert", model, tmp_path / "x.npz", "--report", tmp_path / report)
    assert code == 2 and "r." in err and not (tmp_path / "x.npz").exists()


def test_bad_usage(relume, model, tmp_path):
    code, _, err = relume("convert", model, tmp_path / "x.doc")
    assert code == 2 and "should end in" in err
    code, _, err = relume("convert", model, tmp_path / "x.npz", "--set", "nonsense")
    assert code == 2 and "NAME=VALUE" in err


def test_a_folder(relume, model, tmp_path):
    source = tmp_path / "models"
    (source / "inner").mkdir(parents=True)
    os.rename(model, source / "inner" / "a.t7")
    rl.save(nn.Sequential().add(nn.Linear(2, 2)), source / "b.t7")
    rl.save(nn.Sequential().add(nn.Linear(2, 2)), source / "b.ascii", format="ascii")
    (source / "readme.txt").write_text("no model")
    code, out, _ = relume("convert", source, tmp_path / "out", "--to", "safetensors")
    assert code == 0 and "3 converted, 1 skipped" in out
    written = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.*")}
    assert written == {"inner/a.safetensors", "b.t7.safetensors", "b.ascii.safetensors"}
    rl.save({"a": 1}, source / "nothing.t7")
    code, out, _ = relume("convert", source, tmp_path / "out", "--to", "npz", "--json")
    results = {row["file"]: row["result"] for row in json.loads(out)}
    assert code == 1 and results["nothing.t7"] == "refused" and results["b.t7"] == "converted"


def test_options_for_all_files_of_a_folder(relume, tmp_path):
    source, reports = tmp_path / "models", tmp_path / "reports"
    source.mkdir()
    for name in ("a", "b"):
        net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.BatchNormalization(4))
        rl.save({"net": net, "other": nn.Linear(2, 2)}, source / f"{name}.t7")
    rl.save({"epoch": 1}, source / "c.t7")
    np.save(tmp_path / "x.npy", np.ones((7, 3), np.float32))
    options = ("--select", "net", "--input", tmp_path / "x.npy", "--fold-bn", "--dtype", "float32")
    code, out, _ = relume(
        "convert", source, tmp_path / "out", "--to", "onnx", *options, "--report", reports
    )
    assert code == 1 and "2 converted, 1 refused" in out
    for name in ("a", "b"):
        assert "7x3" in (reports / f"{name}.onnx.html").read_text()
        assert b"BatchNormalization" not in (tmp_path / "out" / f"{name}.onnx").read_bytes()
    code, _, err = relume(
        "convert", source, tmp_path / "out", "--to", "onnx", "--report", tmp_path / "all.html"
    )
    assert code == 2 and "give --report a folder" in err


def test_compare(relume, model, tmp_path):
    relume("convert", model, tmp_path / "m.h5")
    code, out, _ = relume("compare", model, tmp_path / "m.h5", "--gradients")
    assert code == 0 and "outputs and gradients agree" in out
    checkpoint = rl.load(model)
    checkpoint.net.get(1).bias[0] += 1
    rl.save(checkpoint, tmp_path / "other.t7")
    code, out, _ = relume("compare", model, tmp_path / "other.t7")
    assert code == 1 and "the first layer that differs: modules.1" in out
    code, out, _ = relume("compare", model, tmp_path / "other.t7", "--json")
    assert code == 1 and json.loads(out)["proofs"][0]["first_difference"] == "modules.1"


def test_diff(relume, model, tmp_path):
    assert relume("diff", model, model)[:2] == (0, "no difference\n")
    checkpoint = rl.load(model)
    checkpoint.epoch = 4
    checkpoint.net.get(1).bias[0] += 1
    rl.save(checkpoint, tmp_path / "other.t7")
    code, out, _ = relume("diff", model, tmp_path / "other.t7")
    assert code == 1 and "2 changed" in out
    code, out, _ = relume("diff", model, tmp_path / "other.t7", "--json")
    found = {entry["path"]: entry for entry in json.loads(out)}
    assert found["net.modules.1.bias"]["norm"] == pytest.approx(1)
    assert (found["epoch"]["before"], found["epoch"]["after"]) == ("3", "4")
