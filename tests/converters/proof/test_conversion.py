"""A conversion proves that it computes the same, or writes nothing."""

import json
import os

import numpy as np
import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.converters import conversion, formats
from relume.converters.formats import CannotConvert, Format, Options, Refusal
from relume.converters.proof.report import ProofFailed
from relume.converters.proof.running import run


def network():
    return nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 2))


def write_wrong(net, path, options: Options):
    """A writer with a fault in the second linear layer."""
    wrong = net.clone()
    wrong.get(3).bias.fill_(1000)
    path.write_bytes(rl.dumps(wrong))
    path.with_suffix(".extra").write_text("beside it")


FAULTY = Format(
    "faulty",
    (".faulty",),
    check=lambda net: [Refusal("nn.Abs", 1, "no")] if net.find_modules("nn.Abs") else [],
    write=write_wrong,
    run=lambda path, inputs: run(rl.load(path, classes={}), inputs),
    layers=lambda path, inputs: conversion.side_of_network(rl.converters.t7.load(path)).layers(
        inputs
    ),
)


@pytest.fixture(autouse=True)
def faulty(monkeypatch):
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, FAULTY))


def test_what_does_not_compute_the_same_is_not_written(tmp_path):
    path = tmp_path / "n.faulty"
    path.write_text("before")
    with pytest.raises(ProofFailed) as failed:
        rl.convert(network(), path)
    report = failed.value.report
    assert not report.agrees and not report.verified
    assert report.proofs[0].first_difference == "modules.3"
    assert "the first layer that differs: modules.3" in str(failed.value)
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["n.faulty"]


def test_without_proof_it_is_written_with_what_belongs_to_it(tmp_path):
    report = rl.convert(network(), tmp_path / "n.faulty", verify=False)
    assert not report.verified and "not verified" in str(report)
    assert sorted(os.listdir(tmp_path)) == ["n.extra", "n.faulty"]


def test_refusals_come_before_anything_is_written(tmp_path):
    with pytest.raises(CannotConvert, match=r"nn.Abs \(1\): no") as refused:
        rl.convert(network().add(nn.Abs()), tmp_path / "n.faulty")
    assert refused.value.refusals == [Refusal("nn.Abs", 1, "no")]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", ["onnx", "py"])
def test_what_is_no_network_is_refused_with_its_class(tmp_path, ending):
    path = tmp_path / f"n.{ending}"
    with pytest.raises(CannotConvert, match=r"nn.MSECriterion \(1\): a criterion"):
        rl.convert(nn.MSECriterion(), path)
    with pytest.raises(CannotConvert, match=r"table \(1\): there is no network"):
        rl.convert({"epoch": 3}, path)
    with pytest.raises(ValueError, match="there are 2 modules"):
        rl.convert({"a": network(), "b": network()}, path)


def test_a_criterion_as_a_network_becomes_source(tmp_path):
    pytest.importorskip("torch")
    report = rl.convert(nn.CriterionTable(nn.ClassNLLCriterion()), tmp_path / "loss.py")
    assert report.verified and report.proofs[0].agrees


def test_several_networks_of_a_checkpoint_are_run(tmp_path):
    checkpoint = {"encoder": network(), "decoder": network(), "criterion": nn.MSECriterion()}
    report = rl.convert(checkpoint, tmp_path / "c.safetensors", gradients=True)
    assert [proof.path for proof in report.proofs] == ["encoder", "decoder"]
    assert {d.name for d in report.proofs[0].gradients} == {
        "gradient of input",
        *(f"gradient of modules.{i}.{name}" for i in (1, 3) for name in ("weight", "bias")),
    }


def test_the_input_that_is_given_is_used(tmp_path):
    report = rl.convert(network(), tmp_path / "n.npz", input=np.ones((7, 3)))
    assert report.proofs[0].inputs == "7x3"


def test_a_network_that_no_input_is_found_for_is_told(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.SpatialConvolution(5, 2, 3, 3))
    report = rl.convert(net, tmp_path / "n.npz")
    assert report.read_back and report.verified
    assert "was not run: no input was found" in report.warnings[0]


def test_layers_of_different_types_get_one(tmp_path):
    mixed = nn.Sequential().add(nn.Linear(3, 2).float()).add(nn.Linear(2, 2))
    report = rl.convert(mixed, tmp_path / "mixed.onnx")
    assert report.verified and "all of it became float64" in report.warnings[0]
    assert mixed.get(1).weight.dtype == rl.float32
    report = rl.convert(mixed, tmp_path / "mixed.npz")
    assert "its layers have different types" in report.warnings[0]


def test_layers_that_convert_between_types_stay(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 2).float())
    net.add(nn.Copy("torch.FloatTensor", "torch.DoubleTensor")).add(nn.Linear(2, 2))
    report = rl.convert(net, tmp_path / "net.npz")
    assert report.proofs and not report.warnings


def test_select_takes_a_part(tmp_path):
    rl.convert({"a": network(), "b": 3}, tmp_path / "n.t7", select="a")
    assert isinstance(rl.load(tmp_path / "n.t7"), nn.Sequential)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"dtype": "int8"}, "dtype is float16"),
        ({"layout": "caffe"}, "layout is"),
        ({"to": "tflite"}, "there is no format 'tflite'"),
    ],
)
def test_options_that_do_not_exist(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        rl.convert(network(), tmp_path / "n.npz", **options)


def test_options_of_other_formats(tmp_path):
    with pytest.raises(TypeError, match="no option 'class_name' for npz"):
        rl.convert(network(), tmp_path / "n.npz", class_name="Net")


def test_the_report_as_json(tmp_path):
    report = rl.convert(network(), tmp_path / "n.npz", layers=True)
    described = json.loads(report.to_json())
    assert described["agrees"] and described["verified"]
    assert described["proofs"][0]["relative"] == 0
    assert [layer["name"] for layer in described["proofs"][0]["layers"]] == [
        "modules.1", "modules.2", "modules.3", "",
    ]  # fmt: skip
    assert described["layers"][1]["tensors"] == {"weight": [4, 3], "bias": [4]}


@pytest.mark.parametrize("ending", [".html", ".json", ".txt"])
def test_reports_are_saved_as_their_names_end(tmp_path, ending):
    report = rl.convert(network(), tmp_path / "n.npz")
    report.save(tmp_path / f"report{ending}")
    assert (tmp_path / f"report{ending}").read_text()
    with pytest.raises(ValueError, match="name ends in"):
        report.save(tmp_path / "report.pdf")


def test_half_precision_has_the_tolerance_of_half_precision(tmp_path):
    report = rl.convert(network(), tmp_path / "n.t7", dtype="float16")
    assert report.verified and 0 < report.proofs[0].relative < 2e-2
    assert rl.load(tmp_path / "n.t7").get(1).weight.dtype == rl.float16


@pytest.mark.parametrize("ending", ["t7", "safetensors", "npz", "h5"])
def test_networks_without_weights(tmp_path, ending):
    report = rl.convert(nn.Sequential().add(nn.Tanh()), tmp_path / f"n.{ending}")
    assert report.verified and report.proofs[0].agrees
    assert rl.load(tmp_path / f"n.{ending}").get(1).torch_typename == "nn.Tanh"


class Doubling(nn.Module):
    """A class that is not registered: files do not know it."""

    def updateOutput(self, input):
        self.output = input * 2
        return self.output


def test_layers_of_classes_that_only_this_program_knows(tmp_path):
    report = rl.convert(network().add(Doubling()), tmp_path / "n.safetensors")
    assert report.read_back and "was not run: cannot run nn.Doubling" in report.warnings[0]
