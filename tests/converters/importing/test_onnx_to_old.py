"""ONNX graphs become old networks that compute the same, also after a file and in Lua."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import relume as rl
from relume.converters.formats import CannotConvert
from relume.converters.importing.onnx_graph import network_of
from relume.converters.proof.running import run

random = np.random.default_rng(3)
node = helper.make_node


def weights(*shape):
    return random.standard_normal(shape).astype(np.float32)


def whole(*numbers):
    return np.array(numbers, np.int64)


def model(inputs, nodes, constants, outputs=("y",)):
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


# Rows: name, inputs, nodes, constants.
CASES = [
    (
        "perceptron",
        {"x": ["N", 4]},
        [
            node("Gemm", ["x", "w", "b"], ["a"], transB=1),
            node("Relu", ["a"], ["r"]),
            node("MatMul", ["r", "w2"], ["m"]),
            node("Add", ["m", "b2"], ["s"]),
            node("Softmax", ["s"], ["y"], axis=1),
        ],
        {"w": weights(5, 4), "b": weights(5), "w2": weights(5, 3), "b2": weights(3)},
    ),
    (
        "convolutions",
        {"x": ["N", 3, 8, 9]},
        [
            node("Conv", ["x", "w", "b"], ["c"], pads=[1, 2, 1, 2], strides=[2, 1]),
            node("BatchNormalization", ["c", "g", "h", "m", "v"], ["n"]),
            node("Relu", ["n"], ["r"]),
            node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            node("Flatten", ["p"], ["f"]),
            node("Gemm", ["f", "w2", "b2"], ["y"], transB=1),
        ],
        {
            "w": weights(6, 3, 3, 5),
            "b": weights(6),
            "g": weights(6),
            "h": weights(6),
            "m": weights(6),
            "v": np.abs(weights(6)),
            "w2": weights(4, 48),
            "b2": weights(4),
        },
    ),
    (
        "groups and padding of one side",
        {"x": [2, 4, 8, 8]},
        [
            node("Conv", ["x", "w"], ["c"], pads=[0, 1, 2, 0], group=2),
            node("AveragePool", ["c"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
        ],
        {"w": weights(6, 2, 3, 3)},
    ),
    (
        "residual",
        {"x": [2, 3, 6, 6]},
        [
            node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
            node("Add", ["c", "x"], ["s"]),
            node("GlobalAveragePool", ["s"], ["p"]),
            node("Reshape", ["p", "shape"], ["q"]),
            node("Mul", ["q", "two"], ["y"]),
        ],
        {"w": weights(3, 3, 3, 3), "b": weights(3), "shape": whole(0, -1), "two": np.float32(2)},
    ),
    (
        "a value taken twice",
        {"a": [2, 3], "b": [2, 3]},
        [node("Sub", ["a", "b"], ["s"]), node("Mul", ["s", "s"], ["y"])],
        {},
    ),
    (
        "LSTM",
        {"x": [5, 2, 3]},
        [
            node("LSTM", ["x", "w", "r", "b"], ["all", "last"], hidden_size=4),
            node("Squeeze", ["all", "one"], ["y"]),
        ],
        {"w": weights(1, 16, 3), "r": weights(1, 16, 4), "b": weights(1, 32), "one": whole(1)},
    ),
    (
        "LSTM in both directions",
        {"x": [5, 2, 3]},
        [
            node("LSTM", ["x", "w", "r", "b"], ["s"], hidden_size=4, direction="bidirectional"),
            node("Transpose", ["s"], ["t"], perm=[0, 2, 1, 3]),
            node("Reshape", ["t", "shape"], ["y"]),
        ],
        {
            "w": weights(2, 16, 3),
            "r": weights(2, 16, 4),
            "b": weights(2, 32),
            "shape": whole(0, 0, -1),
        },
    ),
    (
        "last state of a GRU",
        {"x": [5, 2, 3]},
        [
            node("GRU", ["x", "w", "r", "b"], ["all", "last"], hidden_size=4),
            node("Squeeze", ["last", "zero"], ["y"]),
        ],
        {"w": weights(1, 12, 3), "r": weights(1, 12, 4), "b": weights(1, 24), "zero": whole(0)},
    ),
    (
        "over a sequence",
        {"x": [2, 3, 12]},
        [
            node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1], strides=[2]),
            node("MaxPool", ["c"], ["y"], kernel_shape=[2], strides=[2]),
        ],
        {"w": weights(4, 3, 3), "b": weights(4)},
    ),
    (
        "over volumes",
        {"x": [2, 3, 5, 6, 7]},
        [node("Conv", ["x", "w", "b"], ["y"], pads=[1, 0, 1, 1, 0, 1], strides=[1, 2, 1])],
        {"w": weights(4, 3, 3, 2, 3), "b": weights(4)},
    ),
    (
        "transposed",
        {"x": [2, 3, 5, 6]},
        [
            node(
                "ConvTranspose",
                ["x", "w", "b"],
                ["y"],
                strides=[2, 2],
                pads=[1] * 4,
                output_padding=[1, 1],
            )
        ],
        {"w": weights(3, 4, 3, 3), "b": weights(4)},
    ),
    (
        "shapes",
        {"x": [2, 3, 4, 5]},
        [
            node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1]),
            node("ReduceMean", ["t"], ["m"], axes=[1, 2], keepdims=0),
            node("Unsqueeze", ["m", "one"], ["u"]),
            node("Slice", ["u", "one", "three", "two"], ["y"]),
        ],
        {"one": whole(1), "two": whole(2), "three": whole(3)},
    ),
    (
        "sizes that are computed",
        {"x": [2, 3, 4]},
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["n"]),
            node("Concat", ["n", "rest"], ["shape"], axis=0),
            node("Reshape", ["x", "shape"], ["y"]),
        ],
        {"zero": whole(0), "rest": whole(-1)},
    ),
    (
        "element by element",
        {"x": [2, 3]},
        [
            node("Clip", ["x", "low", "high"], ["a"]),
            node("Sub", ["one", "a"], ["b"]),
            node("Div", ["b", "two"], ["c"]),
            node("LeakyRelu", ["c"], ["d"], alpha=0.2),
            node("PRelu", ["d", "slopes"], ["e"]),
            node("Pow", ["e", "two"], ["y"]),
        ],
        {
            "low": np.float32(-0.5),
            "high": np.float32(0.5),
            "one": np.float32(1),
            "two": np.float32(2),
            "slopes": weights(3),
        },
    ),
    (
        "parts",
        {"x": [2, 6]},
        [
            node("Split", ["x", "sizes"], ["a", "b"], axis=1),
            node("Tanh", ["a"], ["c"]),
            node("Concat", ["c", "b", "a"], ["y"], axis=1),
        ],
        {"sizes": whole(2, 4)},
    ),
]


@pytest.mark.parametrize(
    ("inputs", "nodes", "constants"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_computes_the_same(inputs, nodes, constants, tmp_path):
    made = model(inputs, nodes, constants)
    feeds = {name: weights(*(n if n != "N" else 2 for n in size)) for name, size in inputs.items()}
    expected = ReferenceEvaluator(made).run(None, feeds)
    rl.save(network_of(made), tmp_path / "net.t7")
    given = list(feeds.values())
    outputs = run(rl.load(tmp_path / "net.t7"), given if len(given) > 1 else given[0])
    for output, value in zip(outputs, expected, strict=True):
        assert output.shape == value.shape
        assert np.abs(output - value).max() < 1e-5


def test_lua_goes_on_with_it(tmp_path):
    _, inputs, nodes, constants = CASES[1]
    made = model(inputs, nodes, constants)
    onnx.save(made, tmp_path / "net.onnx")
    report = rl.convert(tmp_path / "net.onnx", tmp_path / "net.t7")
    assert report.verified
    x = weights(2, 3, 8, 9)
    with rl.bridge.Lua() as lua:
        output = lua.execute(
            """
            require 'nn'
            local path, x = ...
            local net = torch.load(path)
            net:evaluate()
            return net:forward(x)
            """,
            str(tmp_path / "net.t7"),
            rl.from_numpy(x),
        )
        expected = ReferenceEvaluator(made).run(None, {"x": x})[0]
        assert np.abs(output.numpy() - expected).max() < 1e-5


def test_what_has_no_counterpart_is_listed():
    nodes = [node("Erf", ["x"], ["a"]), node("Erf", ["a"], ["b"]), node("Det", ["b"], ["y"])]
    with pytest.raises(CannotConvert) as caught:
        network_of(model({"x": [2, 2]}, nodes, {}))
    counts = {refusal.class_name: refusal.count for refusal in caught.value.refusals}
    assert counts == {"ONNX Erf": 2, "ONNX Det": 1}
