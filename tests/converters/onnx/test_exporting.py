"""What ONNX models of networks look like, their options, and what is refused."""

import numpy as np
import onnx
import pytest
from onnx_running import check_agreement, check_valid, free_sizes, run_model

import relume as rl
from relume import legacy_nn as nn
from relume.converters.formats import CannotConvert, Options, format_of
from relume.converters.onnx import export


def kinds(model):
    return [node.op_type for node in model.graph.node]


def small_convnet():
    net = nn.Sequential()
    net.add(nn.SpatialConvolution(2, 4, 3, 3, 1, 1, 1, 1)).add(nn.SpatialBatchNormalization(4))
    net.add(nn.ReLU(True)).add(nn.SpatialMaxPooling(2, 2, 2, 2))
    net.add(nn.View(4 * 4 * 4).setNumInputDims(3)).add(nn.Linear(64, 3)).add(nn.LogSoftMax())
    normalization = net.get(2)
    normalization.running_mean.uniform_(-1, 1)
    normalization.running_var.uniform_(0.5, 2)
    return net.float()


def written(net, inputs, path, **options):
    arrays = [t.numpy() for t in inputs] if isinstance(inputs, list) else inputs.numpy()
    dtype = options.pop("dtype", "")
    format_of(path).write(net, path, Options(arrays, dtype=dtype, more=options))
    return arrays


def test_nodes_and_names():
    net, x = small_convnet(), rl.randn(2, 2, 8, 8)
    model = export(net, x)
    check_valid(model)
    expected = "Conv BatchNormalization Relu MaxPool Reshape Gemm LogSoftmax"
    assert kinds(model) == expected.split()
    assert [given.name for given in model.graph.input] == ["input"]
    assert [given.name for given in model.graph.output] == ["output"]
    names = {tensor.name for tensor in model.graph.initializer}
    assert {"modules.1.weight", "modules.2.running_var", "modules.6.bias"} <= names
    assert model.graph.node[0].name == "modules.1/Conv"
    check_agreement(net, model, x)


def test_any_batch():
    net, x = small_convnet(), rl.randn(2, 2, 8, 8)
    model = export(net, x)
    assert free_sizes(model) == {"batch"}
    for batch in (1, 5):
        check_agreement(net, model, rl.randn(batch, 2, 8, 8))


def test_any_size_of_images():
    net = nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3, 2, 2)).add(nn.Tanh()).float()
    model = export(net, rl.randn(1, 1, 9, 9))
    assert free_sizes(model) == {"batch", "height", "width"}
    check_agreement(net, model, rl.randn(3, 1, 12, 7))


def test_fixed_sizes():
    model = export(small_convnet(), rl.randn(2, 2, 8, 8), dynamic=False)
    assert free_sizes(model) == set()


@pytest.mark.parametrize("opset", [20, onnx.defs.onnx_opset_version()])
def test_other_opsets(opset):
    net, x = small_convnet(), rl.randn(2, 2, 8, 8)
    net.insert(nn.SpatialUpSamplingBilinear(2), 4).insert(nn.SpatialAveragePooling(2, 2, 2, 2), 5)
    model = export(net, x, opset=opset)
    check_valid(model)
    assert model.opset_import[0].version == opset
    check_agreement(net, model, x)
    with pytest.raises(ValueError, match="from 20 to"):
        export(net, x, opset=9)


def test_double_networks_become_float():
    net, x = nn.Linear(3, 2), rl.randn(4, 3, dtype=rl.float64)
    assert export(net, x).graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    model = export(net, x, dtype="float64")
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    check_agreement(net, model, x, tolerance=1e-12)


def test_float16():
    net, x = small_convnet(), rl.randn(2, 2, 8, 8)
    model = export(net, x, dtype="float16")
    types = {tensor.data_type for tensor in model.graph.initializer}
    assert types <= {onnx.TensorProto.FLOAT16, onnx.TensorProto.INT64}
    check_agreement(net, model, x, tolerance=2e-2)


def test_shared_weights_are_there_once():
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.share(first, "weight")
    net = nn.Sequential().add(first).add(nn.Tanh()).add(second)
    model = export(net, rl.randn(2, 3, dtype=rl.float64))
    names = [tensor.name for tensor in model.graph.initializer]
    assert names == ["modules.1.weight", "modules.1.bias", "modules.3.bias"]


def test_tables_are_several_inputs_and_outputs():
    net = nn.ConcatTable().add(nn.CAddTable()).add(nn.SelectTable(2))
    inputs = [rl.randn(2, 3), rl.randn(2, 3)]
    model = export(net, inputs)
    assert [given.name for given in model.graph.input] == ["input.1", "input.2"]
    assert [given.name for given in model.graph.output] == ["output.1", "output.2"]
    check_agreement(net, model, inputs)


def test_an_input_may_be_the_output():
    net = nn.ConcatTable().add(nn.Identity()).add(nn.Identity())
    model = export(net, rl.randn(2, 3))
    check_valid(model)
    check_agreement(net, model, rl.randn(2, 3))


# ---- recurrent layers ----

SEQUENCES = {
    "nn.SeqLSTM": (lambda: nn.SeqLSTM(3, 4), "LSTM"),
    "nn.SeqGRU": (lambda: nn.SeqGRU(3, 4), "GRU"),
    "cudnn.LSTM": (lambda: nn.cudnn.LSTM(3, 4, 2), "LSTM"),
    "cudnn.BLSTM": (lambda: nn.cudnn.BLSTM(3, 4, 2), "LSTM"),
    "cudnn.GRU": (lambda: nn.cudnn.GRU(3, 4, 1), "GRU"),
    "cudnn.BGRU": (lambda: nn.cudnn.BGRU(3, 4, 1), "GRU"),
    "cudnn.RNNTanh": (lambda: nn.cudnn.RNNTanh(3, 4, 1), "RNN"),
    "cudnn.RNNReLU": (lambda: nn.cudnn.RNNReLU(3, 4, 1), "RNN"),
}


@pytest.mark.parametrize("name", list(SEQUENCES))
def test_layers_on_sequences_are_nodes(name):
    make, kind = SEQUENCES[name]
    net = make().float()
    model = export(net, rl.randn(5, 2, 3))
    check_valid(model)
    assert kind in kinds(model)
    assert len(free_sizes(model)) == 2  # length and batch
    check_agreement(net, model, rl.randn(5, 2, 3))
    check_agreement(net, model, rl.randn(7, 3, 3))


def test_layers_that_step_are_unrolled():
    net = nn.Sequencer(nn.FastLSTM(3, 4)).float()
    inputs = [rl.randn(2, 3) for _ in range(4)]
    model = export(net, inputs)
    check_agreement(net, model, inputs)
    check_agreement(net, model, [rl.randn(5, 3) for _ in range(4)])


def test_cells_of_graphs():
    x, h = nn.Identity()(), nn.Identity()()
    both = nn.CAddTable()([nn.Linear(3, 4)(x), nn.Linear(4, 4)(h)])
    net = nn.gModule([x, h], [nn.Tanh()(both), nn.Sigmoid()(both)]).float()
    inputs = [rl.randn(2, 3), rl.randn(2, 4)]
    model = export(net, inputs)
    check_agreement(net, model, inputs)
    check_agreement(net, model, [rl.randn(3, 3), rl.randn(3, 4)])


# ---- pooling of regions, which only few runtimes have ----


def test_regions_of_images():
    net = nn.inn.ROIPooling(2, 3).setSpatialScale(0.5).float()
    images = rl.randn(2, 3, 8, 9)
    corners = [[1, 1, 1, 12, 14], [2, 3, 5, 8, 9], [1, 16, 14, 18, 16], [2, 5, 5, 5, 5]]
    regions = rl.tensor(corners, dtype=rl.float32)
    model = export(net, [images, regions])
    check_valid(model)
    check_agreement(net, model, [images, regions])
    check_agreement(net, model, [images, regions[:1]])


# ---- files ----


def test_a_file_is_run(tmp_path):
    net, x = small_convnet(), rl.randn(2, 2, 8, 8)
    arrays = written(net, x, tmp_path / "net.onnx")
    output = format_of("net.onnx").run(tmp_path / "net.onnx", arrays)
    expected = net.evaluate().forward(x).numpy()
    np.testing.assert_allclose(output[0], expected, rtol=1e-4, atol=1e-5)


def test_what_each_layer_gives_is_known(tmp_path):
    net, x = small_convnet(), rl.randn(2, 2, 8, 8)
    arrays = written(net, x, tmp_path / "net.onnx")
    found = format_of("net.onnx").layers(tmp_path / "net.onnx", arrays)
    expected = net.evaluate().forward(x, trace=True)
    assert list(found) == [*(f"modules.{i}" for i in range(1, 8)), ""]
    for number in (3, 4, 6, 7):  # the second one's output is what the third one has written
        (output,) = expected[f"root.modules[{number}]"].outputs.values()
        np.testing.assert_allclose(
            found[f"modules.{number}"][0], output.numpy(), rtol=1e-4, atol=1e-5
        )


def test_weights_beside_the_file(tmp_path):
    net, x = nn.Linear(40, 30).float(), rl.randn(2, 40)
    arrays = written(net, x, tmp_path / "net.onnx", external_data=True)
    assert (tmp_path / "net.data").stat().st_size >= 40 * 30 * 4
    assert (tmp_path / "net.onnx").stat().st_size < 2000
    output = format_of("net.onnx").run(tmp_path / "net.onnx", arrays)
    expected = net.forward(x).numpy()
    np.testing.assert_allclose(output[0], expected, rtol=1e-4, atol=1e-5)
    weights = onnx.load_model(tmp_path / "net.onnx").graph.initializer
    assert {tensor.name for tensor in weights} == {"weight", "bias"}


def test_conversion_with_proof(tmp_path):
    path = tmp_path / "net.onnx"
    report = rl.convert(small_convnet(), path, input=rl.randn(2, 2, 8, 8))
    assert report.verified and path.exists()
    report = rl.convert(small_convnet(), path, input=rl.randn(2, 2, 8, 8), fold_bn=True)
    assert report.verified and "BatchNormalization" not in kinds(onnx.load_model(path))


def test_onnx_itself_runs_the_models_where_there_is_no_runtime(tmp_path, monkeypatch):
    import sys

    net, x = nn.Sequential().add(nn.Linear(3, 2)).add(nn.SoftMax()).float(), rl.randn(2, 3)
    arrays = written(net, x, tmp_path / "net.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    output = format_of("net.onnx").run(tmp_path / "net.onnx", arrays)
    np.testing.assert_allclose(output[0], net.forward(x).numpy(), rtol=1e-5)


def test_numbers_that_the_runtime_has_no_kernels_for(tmp_path):
    net, x = small_convnet().double(), rl.randn(2, 2, 8, 8, dtype=rl.float64)
    report = rl.convert(net, tmp_path / "net.onnx", input=x, dtype="float64", layers=True)
    assert report.verified and report.proofs[0].relative < 1e-12


# ---- refusals ----


def test_everything_that_is_in_the_way_is_said_at_once():
    net = nn.Sequential().add(nn.SpatialFractionalMaxPooling(2, 2, 4, 4)).add(nn.NoiseFill(1))
    net.add(nn.SpatialFractionalMaxPooling(2, 2, 2, 2))
    with pytest.raises(CannotConvert) as caught:
        export(net.float(), rl.rand(1, 1, 9, 9))
    counts = {refusal.class_name: refusal.count for refusal in caught.value.refusals}
    assert counts == {"nn.SpatialFractionalMaxPooling": 2, "nn.NoiseFill": 1}


def test_what_shows_only_in_a_run_is_refused_before_anything_is_written(tmp_path):
    net = nn.Dropout(0.5, False, False, True)  # draws when it evaluates, too
    with pytest.raises(CannotConvert, match=r"nn.Dropout \(1\): .* draws random numbers"):
        written(net.float(), rl.rand(2, 3), tmp_path / "net.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (nn.MSECriterion(), "a criterion"),
        (rl.Table({"weight": rl.ones(2)}), "no network"),
        (nn.Sequential().add(rl.TorchObject("my.Layer", {})), "not known"),
    ],
)
def test_what_is_no_network_for_inference_is_refused(thing, reason):
    refusals = format_of("net.onnx").check(thing)
    assert len(refusals) == 1 and reason in refusals[0].reason


def test_an_input_is_needed(tmp_path):
    with pytest.raises(ValueError, match="example of the network's input"):
        format_of("x.onnx").write(nn.Tanh(), tmp_path / "x.onnx", Options())
    assert run_model(export(nn.Tanh(), rl.zeros(1)), rl.zeros(1))[0].tolist() == [0]


def test_limited_norms_of_embeddings():
    net = nn.LookupTable(6, 3, 0, 0.5).float()
    inputs = rl.tensor([[1, 2, 2], [3, 1, 5]])
    model = export(net, inputs)
    check_agreement(net, model, inputs)
    check_agreement(net, model, rl.tensor([[6, 4, 1]]))
